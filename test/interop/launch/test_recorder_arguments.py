"""Arguments of recorder.launch.py: namespace, parameter file and simulated time. The launch ends with the recorder."""

import os
import sys
import unittest

from launch import LaunchDescription
import launch_testing
from launch_testing.actions import ReadyToTest

sys.path.append(os.path.dirname(os.path.realpath(__file__)))
import stack  # noqa: E402

BAG = stack.path('bag')
PARAMETERS = stack.path('parameters.yaml')


def generate_test_description():
    with open(PARAMETERS, 'w') as file:
        file.write(f'/**:\n  ros__parameters: {{topics: [chatter], storage: mcap, output: {BAG}}}\n')
    return LaunchDescription([
        stack.publisher('/clock', 'rosgraph_msgs/msg/Clock', '{clock: {sec: 1234}}'),
        stack.publisher('/robot/chatter', 'std_msgs/msg/String', '{data: hello}'),
        stack.launch(
            'recorder.launch.py', params_file=PARAMETERS, name='deck', namespace='robot', use_sim_time='true',
            extra_args="--limit 80 --exclude-regex 'a b'", required='false'),
        ReadyToTest(),
    ])


class TestArguments(unittest.TestCase):

    def test_node(self, proc_output):
        proc_output.assertWaitFor('[robot.deck]: recording /robot/chatter', timeout=stack.PATIENT)

    def test_end_of_recorder(self, proc_info, proc_output):
        proc_output.assertWaitFor('recorded ' + BAG, timeout=stack.PATIENT, stream='stdout')
        self.assertTrue([name for name in proc_info.process_names() if name.startswith('recorder')])
        with self.assertRaises(AssertionError, msg='required:=false keeps the publishers'):
            proc_info.assertWaitForShutdown(process='ros2-1', timeout=3)


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):

    def test_recording(self, proc_info):
        stack.ended_well(proc_info, 'recorder')
        recording = stack.info(BAG)
        self.assertTrue(recording['complete'])
        self.assertEqual(['/robot/chatter'], stack.topics(recording))
        self.assertGreater(recording['message_count'], 0)
        self.assertEqual(1234 * 10**9, recording['start_time'])
