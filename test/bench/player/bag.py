"""Writes bags for the benchmark of players: check | write PATH BEGIN {TOPIC RATE COUNT} for an IMU and images, IMAGE_SIZE"""
import io
import struct
import sys

import rosbag
import rospy
from sensor_msgs.msg import Image, Imu


def write(path, begin, *rest):
    """The stamp in the header of each message is the time of recording."""
    begin, size = int(begin), int(rest[6])
    image = Image(height=1, width=size, step=size, encoding="mono8", data=bytes(size))
    todo = []
    for message, topic, rate, count in zip((Imu(), image), rest[0:6:3], rest[1:6:3], rest[2:6:3]):
        message.header.frame_id = "imu_link"
        body = io.BytesIO()
        message.serialize(body)
        kind = type(message)
        raw = (kind._type, body.getvalue()[12:], kind._md5sum, None, kind)
        todo += [(n * 1_000_000_000 // int(rate), n, topic, raw) for n in range(int(count))]
    todo.sort(key=lambda entry: entry[0])
    with rosbag.Bag(path, "w", chunk_threshold=4 << 20) as bag:
        for at, n, topic, raw in todo:
            stamp = (begin + at // 1_000_000_000, at % 1_000_000_000)
            data = struct.pack("<III", n, *stamp) + raw[1]
            bag.write(topic, (raw[0], data) + raw[2:], rospy.Time(*stamp), raw=True)


if sys.argv[1] != "check":
    write(*sys.argv[2:])
