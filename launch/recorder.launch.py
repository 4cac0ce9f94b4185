"""Starts the recorder: ros2 launch tapedeck recorder.launch.py topics:="/imu /points" output:=drive snapshot:=true"""

import os
import shlex

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, EmitEvent, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnProcessExit
from launch.events import Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

# What is empty is as the parameter file says.
ARGUMENTS = [
    ('topics', '', 'topics to record, separated by blanks; without a parameter file, all of them'),
    ('output', '', 'name of the recording; by default tapedeck_ and the time'),
    ('storage', '', 'record (Apollo record files) or mcap (a ROS 2 bag folder)'),
    ('snapshot', '', 'true: keep the latest messages for /snapshot beside the recording'),
    ('snapshot_duration', '', 'how far a snapshot reaches back: 30s, or a number of seconds'),
    ('params_file', '', 'parameter file to use instead of the installed config/recorder.yaml'),
    ('extra_args', '', "more of the recorder's own flags, as on a command line"),
    ('name', 'recorder', 'name of the node'),
    ('namespace', '', 'namespace of the node'),
    ('use_sim_time', 'false', 'stamp messages with /clock'),
]


def start(context):
    value = {name: LaunchConfiguration(name).perform(context) for name, _, _ in ARGUMENTS}
    arguments = value['topics'].split()
    if not arguments and not value['params_file']:
        arguments = ['--all']
    for name in ('storage', 'snapshot_duration'):
        if value[name]:
            arguments += ['--' + name.replace('_', '-'), value[name]]
    if value['output']:
        arguments += ['--output', os.path.expanduser(value['output'])]
    if value['snapshot'].lower() in ('true', '1', 'yes'):
        arguments.append('--snapshot')
    arguments += shlex.split(value['extra_args'])
    parameters = [value['params_file']] if value['params_file'] else []
    parameters.append({'use_sim_time': value['use_sim_time'].lower() in ('true', '1', 'yes')})
    node = Node(
        package='tapedeck', executable='recorder', name=value['name'], namespace=value['namespace'],
        arguments=arguments, parameters=parameters, output='screen', emulate_tty=True)
    ended = RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[
        LogInfo(msg='the recorder has ended'), EmitEvent(event=Shutdown(reason='the recorder has ended'))]))
    return [node, ended]


def generate_launch_description():
    declared = [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS]
    return LaunchDescription(declared + [OpaqueFunction(function=start)])
