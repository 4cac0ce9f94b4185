"""hardware.launch.py starts the nodes that have a section, in a namespace, and records their topics to a session."""

import glob
import json
import os
import socketserver
import struct
import sys
import threading
import time
import unittest
import zlib

from launch import LaunchDescription
import launch_testing
from launch_testing.actions import ReadyToTest

sys.path.append(os.path.dirname(os.path.realpath(__file__)))
import stack  # noqa: E402

TAKE = stack.path('take')
PARAMETERS = stack.path('robot.yaml')
PICTURES = stack.path('pictures')


def png(grey):
    """Return a picture of one colour, 4 pixels wide and 2 high."""
    def chunk(kind, data):
        return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
    rows = (b'\0' + bytes([grey] * 4)) * 2
    header = struct.pack('>2I5B', 4, 2, 8, 0, 0, 0, 0)
    chunks = chunk(b'IHDR', header) + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b'')
    return b'\x89PNG\r\n\x1a\n' + chunks


class Arm(socketserver.StreamRequestHandler):
    """An arm that stands still."""

    ANSWERS = {
        'get_current_arm_state': {'state': 'current_arm_state', 'arm_state': {
            'joint': [90000, 0, 0, 0, 0, 0], 'pose': [100000, 200000, 30000, 0, 0, 0], 'arm_err': 0, 'sys_err': 0}},
        'get_gripper_state': {
            'command': 'get_gripper_state', 'enable': 1, 'status': 1, 'error': 0, 'mode': 1, 'actpos': 150},
    }

    def handle(self):
        for line in self.rfile:
            answer = self.ANSWERS.get(json.loads(line)['command'])
            if answer:
                self.wfile.write(json.dumps(answer).encode() + b'\r\n')


def generate_test_description():
    os.mkdir(PICTURES)
    for i in range(10):
        with open(os.path.join(PICTURES, f'{i}.png'), 'wb') as file:
            file.write(png(10 * i))
    arm = socketserver.ThreadingTCPServer(('127.0.0.1', 0), Arm)
    arm.daemon_threads = True
    threading.Thread(target=arm.serve_forever, daemon=True).start()
    with open(PARAMETERS, 'w') as file:
        file.write(f"""
/**:
  camera_publisher:
    ros__parameters: {{rate: 10.0, loop: true, cameras: {{camera_0: {{device: {PICTURES}}}}}}}
  arm_publisher:
    ros__parameters: {{arms: {{arm_0: {{host: 127.0.0.1, port: {arm.server_address[1]}, push: none}}}}}}
/lab/recorder:
  ros__parameters: {{storage: session, robot.task: stand still}}
/other/mavlink_publisher:
  ros__parameters: {{source: 'udp://:14550'}}
""")
    return LaunchDescription([
        stack.launch('hardware.launch.py', config=PARAMETERS, output=TAKE, namespace='lab'),
        ReadyToTest(),
    ])


class TestHardware(unittest.TestCase):

    def test_nodes(self, proc_info, proc_output):
        for topic in ('camera_0/image_raw', 'arm_0/joint_states', 'arm_0/tool_pose', 'arm_0/gripper'):
            proc_output.assertWaitFor('recording /lab/' + topic, timeout=stack.PATIENT)
        names = ('frames/camera_0/*.png', 'arm_0/joints.csv', 'arm_0/poses.csv', 'arm_0/grippers.csv')
        expected = [os.path.join(TAKE, name) for name in names]
        begin = time.monotonic()
        while not all(glob.glob(pattern) for pattern in expected):
            self.assertLess(time.monotonic() - begin, stack.PATIENT, os.listdir(TAKE))
            time.sleep(0.1)
        self.assertEqual(3, len(proc_info.process_names()), proc_info.process_names())


@launch_testing.post_shutdown_test()
class TestEnd(unittest.TestCase):

    def test_session(self, proc_info):
        for name in ('camera_publisher', 'arm_publisher', 'recorder'):
            stack.ended_well(proc_info, name)
        take = stack.info(TAKE)
        self.assertTrue(take['complete'])
        self.assertGreater(take['message_count'], 0)
        with open(os.path.join(TAKE, 'metadata.json')) as file:
            metadata = json.load(file)
        self.assertEqual('stand still', metadata['task'])
        self.assertEqual(PICTURES, metadata['devices']['cameras']['camera_0']['device'])
        self.assertEqual('127.0.0.1', metadata['devices']['robots']['arm_0']['ip'])
