"""Runs the converter: ros2 launch tapedeck converter.launch.py inputs:=drive.record.00000 output:=drive_bag"""

import os
import shlex

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.substitutions import ExecutableInPackage

ARGUMENTS = [
    ('inputs', None, 'recordings to convert, separated by blanks; several are merged in time'),
    ('output', None, 'what to write; its name says the format unless format does'),
    ('format', '', 'record, mcap or rosbag2'),
    ('extra_args', '', "more of the converter's own flags, as on a command line"),
]


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    command = [ExecutableInPackage('converter', 'tapedeck')]
    command += [os.path.expanduser(path) for path in value['inputs'].split() + [value['output']]]
    if value['format']:
        command += ['--to', value['format']]
    return [ExecuteProcess(cmd=command + shlex.split(value['extra_args']), output='screen', emulate_tty=True)]


def generate_launch_description():
    declared = [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
