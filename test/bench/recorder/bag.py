"""Writes and counts bags for the benchmark of recorders:
check | write PATH PREFIX TOPICS RATE SIZE COUNT | count PATH"""
import struct
import sys

import rosbag
import rospy
from std_msgs.msg import UInt8MultiArray


def write(path, prefix, topics, rate, size, count):
    """Message n has its number in front of size bytes of data, and is on topic n modulo topics."""
    topics, rate, size, count = int(topics), int(rate), int(size), int(count)
    names = [f"{prefix}{i:03d}" for i in range(topics)]
    begin = 1_700_000_000
    head, rest = struct.pack("<III", 0, 0, size), bytes(size - 8)
    kind = (UInt8MultiArray._type, None, UInt8MultiArray._md5sum, None, UInt8MultiArray)
    with rosbag.Bag(path, "w", chunk_threshold=4 << 20) as bag:
        for n in range(count):
            stamp = rospy.Time(begin + n // rate, n % rate * 1_000_000_000 // rate)
            message = (kind[0], head + struct.pack("<Q", n) + rest) + kind[2:]
            bag.write(names[n % topics], message, stamp, raw=True)


def count(path):
    """Prints how many messages were recorded in how many seconds."""
    with rosbag.Bag(path) as bag:
        n = bag.get_message_count()
        print(n, bag.get_end_time() - bag.get_start_time() if n else 0)


if sys.argv[1] != "check":
    {"write": write, "count": count}[sys.argv[1]](*sys.argv[2:])
