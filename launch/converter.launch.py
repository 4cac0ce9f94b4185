"""Runs the converter: ros2 launch tapedeck converter.launch.py inputs:=drive.record.00000 output:=drive_bag

Without inputs it starts a node with the service /convert.
"""

import os
import shlex

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

# Empty arguments keep the value of the parameter file.
ARGUMENTS = [
    ('inputs', '', 'recordings to convert, separated by blanks; several are merged by time; '
     'without any, start a node with the service /convert'),
    ('output', '', 'recording to write; its name decides the format unless format is set'),
    ('format', '', 'record, mcap, rosbag2, bag, carla, session, hdf5, lerobot, parquet, csv, jsonl, images, mp4, pcd, '
     'ply, gpx, geojson, kml or tum'),
    ('encoding', '', 'encoding of messages in the output: auto, keep, cdr, ros1 or protobuf'),
    ('strict', '', 'true: write nothing if something would be lost'),
    ('extra_args', '', "further flags of the converter, as on a command line"),
    ('params_file', '', 'parameter file to use instead of the installed config/converter.yaml'),
    ('service', '', 'of the node: name of the service; by default /convert'),
    ('service_root', '', 'of the node: folder that calls read and write, / for any; by default the current one'),
    ('middleware', '', 'of the node: rcl or dds; by default as tapedeck was built'),
    ('name', 'converter', 'name of the node'),
    ('namespace', '', 'namespace of the node'),
]


def executable(name):
    """Return the path of an executable: as installed or, when tapedeck is not, as make build left it."""
    try:
        return os.path.join(get_package_prefix('tapedeck'), 'lib', 'tapedeck', name)
    except PackageNotFoundError:
        return os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'bin', name)


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    arguments = []
    for name, flag in (('format', 'to'), ('encoding', 'encoding'), ('strict', 'strict')):
        if value[name]:
            arguments.append('--' + flag + '=' + value[name])
    arguments += shlex.split(value['extra_args'])
    inputs = [os.path.expanduser(path) for path in value['inputs'].split()]
    if inputs:
        if value['params_file']:
            arguments += ['--config', value['params_file']]
        paths = inputs + ([os.path.expanduser(value['output'])] if value['output'] else [])
        return [ExecuteProcess(cmd=[executable('converter')] + paths + arguments, output='screen', emulate_tty=True)]
    for name in ('service', 'service_root', 'middleware'):
        if value[name]:
            arguments.append('--' + name.replace('_', '-') + '=' + value[name])
    return [Node(
        executable=executable('converter_node'), name=value['name'], namespace=value['namespace'],
        arguments=arguments,
        parameters=[value['params_file']] if value['params_file'] else [], output='screen', emulate_tty=True)]


def generate_launch_description():
    declared = [
        DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
