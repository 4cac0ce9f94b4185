"""Starts the recorder: ros2 launch tapedeck recorder.launch.py topics:="/imu /points" output:=drive snapshot:=true"""

import os
import shlex

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

# Empty arguments keep the value of the parameter file.
ARGUMENTS = [
    ('topics', '', 'topics to record, separated by blanks; without a parameter file, all of them'),
    ('output', '', 'name of the recording; by default tapedeck_ and the time'),
    ('storage', '', 'record (Apollo record files), mcap (a ROS 2 bag folder), carla (a log that CARLA replays) '
     'or session (episodes of a robot)'),
    ('snapshot', '', 'true: keep the latest messages for /snapshot beside the recording'),
    ('snapshot_duration', '', 'how far a snapshot reaches back: 30s, or a number of seconds'),
    ('params_file', '', 'parameter file to use instead of the installed config/recorder.yaml'),
    ('extra_args', '', "more of the recorder's own flags, as on a command line"),
    ('middleware', '', 'rcl or dds; by default as tapedeck was built'),
    ('name', 'recorder', 'name of the node'),
    ('namespace', '', 'namespace of the node'),
    ('use_sim_time', '', 'true: stamp messages with /clock'),
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


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    value['output'] = os.path.expanduser(value['output'])
    topics = value['topics'].split()
    arguments = ['--topics'] + topics if topics else []
    if not topics and not value['params_file']:
        arguments = ['--all']
    for name in ('output', 'storage', 'snapshot', 'snapshot_duration', 'middleware'):
        if value[name]:
            arguments.append('--' + name.replace('_', '-') + '=' + value[name])
    arguments += shlex.split(value['extra_args'])
    parameters = [value['params_file']] if value['params_file'] else []
    if value['use_sim_time']:
        parameters.append({'use_sim_time': yes(value['use_sim_time'])})
    return [Node(
        executable=executable('recorder'), name=value['name'], namespace=value['namespace'],
        arguments=arguments, parameters=parameters, output='screen', emulate_tty=True,
        on_exit=[Shutdown(reason='the recorder has ended')] if yes(value['required']) else None)]


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
