"""Helpers of the launch tests: a new ROS domain, processes and recordings."""

import json
import os
import signal
import subprocess
import tempfile

from ament_index_python.packages import get_package_prefix
from launch.actions import ExecuteProcess, GroupAction, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

# A process that a shell started in the background ignores SIGINT, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Other tests may run on this machine. Tests of Go packages have the domains from 20 on. Releases after Humble warn of
# ROS_LOCALHOST_ONLY, or ignore it.
os.environ['ROS_DOMAIN_ID'] = str(1 + os.getpid() % 19)
if os.environ.get('ROS_DISTRO') == 'humble':
    os.environ['ROS_LOCALHOST_ONLY'] = '1'
else:
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'

PATIENT = 60.0  # seconds; on an idle machine nothing takes that long
CHECKOUT = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', '..')


_folder = tempfile.TemporaryDirectory()  # removed at the end of the test


def path(name):
    """Return the path of a file in a temporary folder."""
    return os.path.join(_folder.name, name)


def executable(name):
    return os.path.join(get_package_prefix('tapedeck'), 'lib', 'tapedeck', name)


def launch(file, **arguments):
    """Return the installed launch file as an action."""
    path = os.path.join(get_package_prefix('tapedeck'), 'share', 'tapedeck', 'launch', file)
    source = PythonLaunchDescriptionSource(path)
    return GroupAction([IncludeLaunchDescription(source, launch_arguments=arguments.items())])


def publisher(topic, kind, message):
    """Return the action of publishing a message ten times a second."""
    return ExecuteProcess(cmd=['ros2', 'topic', 'pub', '--rate', '10', topic, kind, message])


def run(*command, **options):
    """Run a command, require the exit code 0 and return the output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENT, **options)
    assert done.returncode == 0, f'{command} ended with {done.returncode}: {done.stdout}'
    return done.stdout


def record(recording, topic, count):
    """Publish a topic and record that many messages of it."""
    command = ['ros2', 'topic', 'pub', '--rate', '10', topic, 'std_msgs/msg/String', '{data: hello}']
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as publisher:
        try:
            run(executable('recorder'), topic, '--output', recording, '--limit', str(count))
        finally:
            publisher.send_signal(signal.SIGINT)


def info(recording):
    """Return the info of a recording, as converter info --json prints it."""
    return json.loads(run(executable('converter'), 'info', '--json', recording))


def topics(recording):
    """Return the names of the topics in a recording's info, without the topic of the recorder's events."""
    return [topic['name'] for topic in recording['topics'] if topic['name'] != '/tapedeck/events']


def count(recording, topic):
    """Return the number of messages of a topic in a recording."""
    return sum(t['message_count'] for t in info(recording)['topics'] if t['name'] == topic)


def ended_well(proc_info, name):
    """Check that at least one process has this name, and that all such processes ended with 0."""
    codes = [p.returncode for p in proc_info if p.process_name.startswith(name)]
    assert codes and not any(codes), f'{name} ended with {codes}'


# Without rcl, nodes are only sure to understand Cyclone DDS.
if ', dds (' in run(executable('recorder'), '--version'):
    os.environ['RMW_IMPLEMENTATION'] = 'rmw_cyclonedds_cpp'
