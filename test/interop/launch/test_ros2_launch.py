"""Launch files as ros2 launch starts them, by package and by path."""

import os
import signal
import subprocess
import sys
import unittest

from launch import LaunchDescription
from launch.actions import ExecuteProcess
from launch_testing.actions import ReadyToTest

sys.path.append(os.path.dirname(os.path.realpath(__file__)))
import stack  # noqa: E402

DRIVE = stack.path('drive.record.00000')


def generate_test_description():
    stack.record(DRIVE, '/chatter', 30)
    return LaunchDescription([ExecuteProcess(cmd=['sleep', 'infinity']), ReadyToTest()])


class TestRos2Launch(unittest.TestCase):

    def test_demo(self):
        bag = stack.path('demo')
        said = stack.run('ros2', 'launch', 'tapedeck', 'demo.launch.py', 'output:=' + bag, 'duration:=5s')
        self.assertIn('Complete:   index is complete', said)
        self.assertGreater(stack.count(bag, '/chatter'), 0)
        self.assertGreater(stack.count(bag, '/count'), 0)

    def test_by_package(self):
        self.convert('tapedeck', 'converter.launch.py')

    def test_by_path(self):
        self.convert(os.path.join(stack.CHECKOUT, 'launch', 'converter.launch.py'))

    def test_by_path_without_installation(self):
        if not os.path.exists(os.path.join(stack.CHECKOUT, 'bin', 'converter')):
            self.skipTest('make build was not run')
        prefixes = [p for p in os.environ['AMENT_PREFIX_PATH'].split(':') if not os.path.exists(p + '/share/tapedeck')]
        self.convert(
            os.path.join(stack.CHECKOUT, 'launch', 'converter.launch.py'),
            env={**os.environ, 'AMENT_PREFIX_PATH': ':'.join(prefixes)})

    def test_as_a_node(self):
        output = stack.path('called.mcap')
        command = ['ros2', 'launch', 'tapedeck', 'converter.launch.py', 'service:=/archive', 'service_root:=/',
                   'encoding:=keep']
        with subprocess.Popen(command) as node:
            try:
                said = stack.run(
                    'ros2', 'service', 'call', '/archive', 'tapedeck/srv/Convert',
                    f"{{inputs: [{DRIVE}], output: {output}, options: ['remap=/chatter:=/said']}}")
            finally:
                node.send_signal(signal.SIGINT)
        self.assertIn('success=True', said)
        self.assertEqual(stack.count(DRIVE, '/chatter'), stack.count(output, '/said'))

    def test_middleware(self):
        if '--middleware dds' not in stack.run(stack.executable('recorder'), '--version'):
            self.skipTest('tapedeck was built with one middleware')
        output = stack.path('dds')
        with subprocess.Popen(
            [stack.executable('recorder'), '--all', '--output', output, '--middleware', 'dds'],
            stderr=subprocess.PIPE, text=True,
        ) as recorder:
            said = ''
            while 'recording /' not in said:
                line = recorder.stderr.readline()
                self.assertTrue(line, said)
                said += line
            program = os.readlink(f'/proc/{recorder.pid}/exe')
            recorder.send_signal(signal.SIGINT)
            recorder.communicate()
        self.assertTrue(program.endswith('/recorder_dds'), 'the executable with rcl did not give way')
        self.assertEqual(0, recorder.returncode)
        self.assertTrue(stack.info(output + '.record.00000')['complete'])

    def test_sections_of_another_namespace(self):
        config = stack.path('robot.yaml')
        with open(config, 'w') as file:
            file.write("""
/**/mavlink_publisher: {ros__parameters: {source: none.tlog}}
recorder: {ros__parameters: {storage: session}}
""")
        said = stack.run('ros2', 'launch', 'tapedeck', 'hardware.launch.py', 'config:=' + config, 'namespace:=lab')
        self.assertIn('not for the namespace /lab: /recorder;', said)
        self.assertIn('mavlink_publisher: open none.tlog', said)

    def convert(self, *launch_file, env=None):
        bag = stack.path(self.id())
        said = stack.run('ros2', 'launch', *launch_file, 'inputs:=' + DRIVE, 'output:=' + bag, 'format:=rosbag2',
                         env=env)
        self.assertIn('process has finished cleanly', said)
        self.assertEqual(stack.count(DRIVE, '/chatter'), stack.count(bag, '/chatter'))
