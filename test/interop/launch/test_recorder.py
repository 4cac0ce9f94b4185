"""recorder.launch.py records topics and takes snapshots. Its recording is complete."""

import glob
import os
import sys
import unittest

from launch import LaunchDescription
import launch_testing
from launch_testing.actions import ReadyToTest

sys.path.append(os.path.dirname(os.path.realpath(__file__)))
import stack  # noqa: E402

DRIVE = stack.path('drive')


def generate_test_description():
    return LaunchDescription([
        stack.publisher('/chatter', 'std_msgs/msg/String', '{data: hello}'),
        stack.publisher('/count', 'std_msgs/msg/UInt32', '{data: 42}'),
        stack.launch('recorder.launch.py', topics='/chatter', output=DRIVE, snapshot='true', snapshot_duration='30s'),
        ReadyToTest(),
    ])


class TestRecorder(unittest.TestCase):

    def test_snapshot(self, proc_output):
        proc_output.assertWaitFor('recording /chatter', timeout=stack.PATIENT)
        answer = stack.run('ros2', 'service', 'call', '/snapshot', 'std_srvs/srv/Trigger')
        self.assertIn('success=True', answer)
        snapshots = glob.glob(os.path.join(os.path.dirname(DRIVE), 'snapshot_drive_*'))
        self.assertEqual(1, len(snapshots), answer)
        self.assertTrue(stack.info(snapshots[0])['complete'])

    def test_take_snapshot(self, proc_output):
        proc_output.assertWaitFor('recording /chatter', timeout=stack.PATIENT)
        answer = stack.run(
            'ros2', 'service', 'call', '/recorder/take_snapshot', 'tapedeck/srv/TakeSnapshot',
            '{before: 10.0, path: crash, cause: emergency stop}')
        self.assertIn('success=True', answer)
        self.assertTrue(stack.info(stack.path('crash.record.00000'))['complete'])


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):

    def test_recording(self, proc_info):
        stack.ended_well(proc_info, 'recorder')
        recording = stack.info(DRIVE + '.record.00000')
        self.assertTrue(recording['complete'])
        self.assertEqual(['/chatter'], stack.topics(recording))
        self.assertGreater(recording['message_count'], 0)
