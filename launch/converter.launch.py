"""Runs the converter: ros2 launch tapedeck converter.launch.py inputs:=drive.record.00000 output:=drive_bag"""

import os
import shlex

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration

ARGUMENTS = [
    ('inputs', None, 'recordings to convert, separated by blanks; several are merged in time'),
    ('output', None, 'what to write; its name says the format unless format does'),
    ('format', '', 'record, mcap or rosbag2'),
    ('extra_args', '', "more of the converter's own flags, as on a command line"),
]


def executable(name):
    """Return the path of an executable: as installed or, when tapedeck is not, as make build left it."""
    try:
        return os.path.join(get_package_prefix('tapedeck'), 'lib', 'tapedeck', name)
    except PackageNotFoundError:
        return os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'bin', name)


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    command = [executable('converter')]
    command += [os.path.expanduser(path) for path in value['inputs'].split() + [value['output']]]
    if value['format']:
        command += ['--to', value['format']]
    return [ExecuteProcess(cmd=command + shlex.split(value['extra_args']), output='screen', emulate_tty=True)]


def generate_launch_description():
    declared = [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
