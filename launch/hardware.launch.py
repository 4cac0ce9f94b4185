"""Starts the publishers of a robot's hardware, and the recorder.

ros2 launch tapedeck hardware.launch.py config:=hardware.yaml output:=take starts each of camera_publisher,
arm_publisher, mavlink_publisher and recorder that has a section in the parameter file.
"""

import os
import re
import shlex

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
import yaml

PUBLISHERS = ('camera_publisher', 'arm_publisher', 'mavlink_publisher')

# Parameters of the recorder that select topics, and that define the cameras and arms of a session.
SELECTIONS = (
    'topics', 'all', 'regex', 'node', 'topic_types', 'all_services', 'services', 'all_actions', 'actions',
    'static_topics_path')
MAPPINGS = ('hardware', 'robot_mapping', 'robot.cameras', 'robot.arms')

# Empty arguments keep the value of the parameter file; config is required.
ARGUMENTS = [
    ('config', None, 'parameter file with a section for each node to start; '
     'the installed config/hardware.yaml is an example'),
    ('record', '', 'true or false: whether to start the recorder; by default if it has a section'),
    ('output', '', 'name of the recording; by default tapedeck_ and the time'),
    ('storage', '', 'record (Apollo record files), mcap (a ROS 2 bag folder) or session (episodes of a robot)'),
    ('extra_args', '', "more of the recorder's own flags, as on a command line"),
    ('namespace', '', 'namespace of the nodes'),
    ('middleware', '', 'rcl or dds; by default as tapedeck was built'),
    ('respawn', 'false', 'whether a publisher that ends is started again'),
    ('required', 'true', 'whether everything that was launched ends with the recorder'),
]


def executable(name):
    """Return the path of an executable: as installed or, when tapedeck is not, as make build left it."""
    try:
        return os.path.join(get_package_prefix('tapedeck'), 'lib', 'tapedeck', name)
    except PackageNotFoundError:
        return os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'bin', name)


def yes(text):
    return text.lower() in ('true', '1', 'yes', 'on')


def sections(tree, tokens=()):
    """Yield the sections of a parameter file: the tokens of the node name, and the contents."""
    for key, value in tree.items() if isinstance(tree, dict) else ():
        if key == 'ros__parameters':
            yield tokens, value
        else:
            yield from sections(value, tokens + tuple(token for token in str(key).split('/') if token))


def fits(tokens, node):
    """Say whether a section is for the node of that full name."""
    pattern = ''.join({'*': '/[^/]+', '**': '(/[^/]+)*'}.get(token, '/' + re.escape(token)) for token in tokens)
    return re.fullmatch(pattern, node) is not None


def flatten(tree, prefix=''):
    """Return parameters by name, with dots in it."""
    flat = {}
    for key, value in tree.items() if isinstance(tree, dict) else ():
        flat.update(flatten(value, prefix + str(key) + '.') if isinstance(value, dict) else {prefix + str(key): value})
    return flat


def recorder_arguments(value, parameters):
    """Return the recorder's own arguments, besides the parameters that it has from the file."""
    arguments = shlex.split(value['extra_args'])
    for name in ('output', 'storage'):
        if value[name]:
            arguments.append('--' + name + '=' + value[name])
    if (value['storage'] or parameters.get('storage')) == 'session':
        if not any(name.startswith(MAPPINGS) for name in parameters):
            arguments.append('--hardware=' + value['config'])
    elif not any(parameters.get(name) for name in SELECTIONS):
        arguments.append('--all')
    return arguments


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    for name in ('config', 'output'):
        value[name] = os.path.expanduser(value[name])
    with open(value['config']) as file:
        found = list(sections(yaml.safe_load(file)))
    namespace = '/'.join([''] + [token for token in value['namespace'].split('/') if token])

    def named(name):
        return any(tokens and tokens[-1] == name and fits(tokens, namespace + '/' + name) for tokens, _ in found)

    def node(name, arguments, **options):
        if value['middleware']:
            arguments = arguments + ['--middleware=' + value['middleware']]
        return Node(
            executable=executable(name), name=name, namespace=value['namespace'], arguments=arguments,
            parameters=[value['config']], output='screen', emulate_tty=True, **options)

    nodes = [node(name, [], respawn=yes(value['respawn']), respawn_delay=1.0) for name in PUBLISHERS if named(name)]
    others = ['/'.join(['', *tokens]) for tokens, _ in found
              if tokens and tokens[-1] in (*PUBLISHERS, 'recorder') and not fits(tokens, namespace + '/' + tokens[-1])]
    hint = ''
    if others:
        example = '/**/' + others[0].split('/')[-1]
        hint = f'not for the namespace {namespace or "/"}: {", ".join(others)}; one called {example} is for any'
    if not nodes:
        raise RuntimeError(
            f'{value["config"]}: no section with ros__parameters is for {", ".join(PUBLISHERS)}'
            + (hint and '; ' + hint))
    if yes(value['record']) if value['record'] else named('recorder'):
        parameters = {}
        for tokens, section in found:
            if fits(tokens, namespace + '/recorder'):
                parameters.update(flatten(section))
        nodes.append(node(
            'recorder', recorder_arguments(value, parameters),
            on_exit=[Shutdown(reason='the recorder has ended')] if yes(value['required']) else None))
    if hint:
        nodes.insert(0, LogInfo(msg=f'{value["config"]}: sections {hint}'))
    return nodes


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
