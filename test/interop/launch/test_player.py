"""player.launch.py plays a recording, which a recorder records."""

import os
import sys
import unittest

from launch import LaunchDescription
import launch_testing
from launch_testing.actions import ReadyToTest

sys.path.append(os.path.dirname(os.path.realpath(__file__)))
import stack  # noqa: E402

DRIVE = stack.path('drive.record.00000')
REPLAY = stack.path('replay.record.00000')


def generate_test_description():
    stack.record(DRIVE, '/chatter', 50)
    return LaunchDescription([
        stack.launch('recorder.launch.py', topics='/again /clock', output=REPLAY),
        stack.launch(
            'player.launch.py', files=DRIVE, clock='20', rate='2.0', namespace='robot',
            extra_args='--remap /chatter:=/again --wait-for-subscribers', required='false'),
        ReadyToTest(),
    ])


class TestPlayer(unittest.TestCase):

    def test_end_of_player(self, proc_output):
        proc_output.assertWaitFor('played ', timeout=stack.PATIENT, stream='stdout')


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):

    def test_recording(self, proc_info):
        stack.ended_well(proc_info, 'player')
        stack.ended_well(proc_info, 'recorder')
        self.assertGreater(stack.count(DRIVE, '/chatter'), 0)
        self.assertEqual(stack.count(DRIVE, '/chatter'), stack.count(REPLAY, '/again'))
        self.assertGreater(stack.count(REPLAY, '/clock'), 0)
