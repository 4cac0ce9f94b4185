"""Starts the player: ros2 launch tapedeck player.launch.py files:=drive.record.00000 clock:=100 rate:=0.5"""

import os
import shlex

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

# Empty arguments keep the value of the parameter file.
ARGUMENTS = [
    ('files', '', 'recordings to play, separated by blanks'),
    ('rate', '', 'recorded seconds to play in a second'),
    ('clock', '', 'how many times a second /clock is published; 0 is never'),
    ('start_offset', '', 'how much of the recording to skip: 1m30s, or a number of seconds'),
    ('playback_duration', '', 'how much of the recording to play'),
    ('topics', '', 'topics to play, separated by blanks; by default all'),
    ('remap', '', 'other names for topics, /from:=/to, separated by blanks'),
    ('loop', '', 'true: begin again at the end'),
    ('immediate', '', 'true: play as fast as subscribers accept messages'),
    ('start_paused', '', 'true: begin paused, to be resumed by the service ~/resume'),
    ('keep_alive', '', 'true: keep running at the end'),
    ('wait_for_subscribers', '', 'true: wait until every topic has a subscriber, and requested services exist'),
    ('params_file', '', 'parameter file to use instead of the installed config/player.yaml'),
    ('extra_args', '', "more of the player's own flags, as on a command line"),
    ('middleware', '', 'rcl or dds; by default as tapedeck was built'),
    ('name', 'player', 'name of the node'),
    ('namespace', '', 'namespace of the node'),
    ('required', 'true', 'whether everything that was launched ends with the player'),
]


def executable(name):
    """Return the path of an executable: as installed or, when tapedeck is not, as make build left it."""
    try:
        return os.path.join(get_package_prefix('tapedeck'), 'lib', 'tapedeck', name)
    except PackageNotFoundError:
        return os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'bin', name)


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    arguments = [os.path.expanduser(path) for path in value['files'].split()]
    arguments.append('--disable-keyboard-controls')
    for name in ('rate', 'clock', 'start_offset', 'playback_duration', 'loop', 'immediate', 'start_paused',
                 'keep_alive', 'wait_for_subscribers', 'middleware'):
        if value[name]:
            arguments.append('--' + name.replace('_', '-') + '=' + value[name])
    for name in ('topics', 'remap'):
        for one in value[name].split():
            arguments.append('--' + name + '=' + one)
    arguments += shlex.split(value['extra_args'])
    parameters = [value['params_file']] if value['params_file'] else []
    required = value['required'].lower() in ('true', '1', 'yes', 'on')
    return [Node(
        executable=executable('player'), name=value['name'], namespace=value['namespace'],
        arguments=arguments, parameters=parameters, output='screen', emulate_tty=True,
        on_exit=[Shutdown(reason='the player has ended')] if required else None)]


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
