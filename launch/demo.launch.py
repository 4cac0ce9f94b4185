"""Records two publishers for a few seconds, prints what was recorded and ends: ros2 launch tapedeck demo.launch.py

Copy this file for another stack, to start its publishers and the recorder together.
"""

import os

from launch import LaunchDescription
from launch.actions import (
    DeclareLaunchArgument, ExecuteProcess, GroupAction, IncludeLaunchDescription, RegisterEventHandler, Shutdown)
from launch.event_handlers import OnProcessExit
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, ThisLaunchFileDir

ARGUMENTS = [
    ('output', 'tapedeck_demo', 'folder of the recording, replaced if it is there'),
    ('duration', '10s', 'how long to record'),
    ('middleware', '', 'rcl or dds; by default as tapedeck was built'),
]


def publisher(topic, kind, message):
    return ExecuteProcess(cmd=['ros2', 'topic', 'pub', '--rate', '10', '--print', '0', topic, kind, message])


def generate_launch_description():
    # Launch arguments of the recorder are not visible outside of the group.
    recorder = GroupAction([IncludeLaunchDescription(
        PythonLaunchDescriptionSource([ThisLaunchFileDir(), '/recorder.launch.py']),
        launch_arguments={
            'topics': '/chatter /count', 'storage': 'mcap', 'output': LaunchConfiguration('output'),
            'extra_args': ['--overwrite --max-duration ', LaunchConfiguration('duration')],
            'middleware': LaunchConfiguration('middleware'), 'required': 'false',
        }.items())])

    def on_exit(event, _):
        if not event.process_name.startswith('recorder'):
            return []
        converter = os.path.join(os.path.dirname(event.cmd[0]), 'converter')
        return [ExecuteProcess(
            cmd=[converter, 'info', LaunchConfiguration('output')], output='screen',
            on_exit=[Shutdown(reason='the demo is over')])]

    return LaunchDescription(
        [DeclareLaunchArgument(name, default_value=default, description=text) for name, default, text in ARGUMENTS] + [
            publisher('/chatter', 'std_msgs/msg/String', '{data: hello}'),
            publisher('/count', 'std_msgs/msg/UInt32', '{data: 42}'),
            recorder,
            RegisterEventHandler(OnProcessExit(on_exit=on_exit)),
        ])
