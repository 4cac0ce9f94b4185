"""Runs ROS 1's library for bags.

peer.py read BAG...   prints the contents of bags as JSON
peer.py write FOLDER  writes one bag for each compression
peer.py types         prints the installed types as JSON
"""

import hashlib
import importlib
import json
import os
import pkgutil
import sys

import genpy
import rosbag
from geometry_msgs.msg import PoseStamped, TransformStamped
from sensor_msgs.msg import CameraInfo, Imu, PointCloud2, PointField, Range
from std_msgs.msg import Empty, String, UInt8MultiArray


def read(path):
    with rosbag.Bag(path) as bag:
        connections = [
            {**{k: v.decode() if isinstance(v, bytes) else v for k, v in c.header.items()}, "topic": c.topic}
            for c in bag._get_connections()
        ]
        messages, values = [], []
        for topic, (kind, data, md5sum, _, cls), t in bag.read_messages(raw=True):
            messages.append(f"{topic} {kind} {t.to_nsec()} {hashlib.sha256(data).hexdigest()}")
            values.append(str(cls().deserialize(data)) if cls._md5sum == md5sum else "another sum")
        info = {
            "count": bag.get_message_count(),
            "chunks": len(bag._chunks),
            "compression": str(bag.get_compression_info().compression),
            "start": bag.get_start_time() if messages else 0,
            "end": bag.get_end_time() if messages else 0,
        }
    return {"connections": connections, "messages": messages, "values": values, "info": info}


def write(folder, compression):
    with rosbag.Bag(f"{folder}/{compression}.bag", "w", compression=compression, chunk_threshold=20000) as bag:
        for i in range(60):
            t = genpy.Time(1700000000 + i // 10, i * 1000)
            for topic, message in messages(i, t):
                bag.write(topic, message, t + genpy.Duration(0, -3000 if i % 7 == 6 else 0))


def messages(i, t):
    yield "/text", String("é" * i)
    yield "/empty", Empty()
    imu = Imu()
    imu.header.seq, imu.header.stamp, imu.header.frame_id = i, t, "imu_link"
    imu.orientation.w, imu.linear_acceleration.z = 1, -9.81 * i
    imu.angular_velocity_covariance = [float(i)] * 9
    yield "/imu", imu
    cloud = PointCloud2(height=1, width=i, point_step=16, row_step=16 * i, data=bytes(range(16)) * i,
                        is_dense=i % 2 == 0)
    cloud.fields = [PointField(n, 4 * k, PointField.FLOAT32, 1) for k, n in enumerate("xyz")]
    yield "/cloud", cloud
    yield "/camera_info", CameraInfo(height=4, width=i, distortion_model="plumb_bob", D=[0.1] * (i % 6), K=[1.0] * 9)
    yield "/range", Range(range=i / 4)
    pose = PoseStamped()
    pose.header.stamp, pose.pose.position.x = t, i
    yield "/pose", pose
    transform = TransformStamped()
    transform.child_frame_id = "base" * (i % 5)
    transform.transform.rotation.w = 1
    yield "/transform", transform
    yield "/bytes", UInt8MultiArray(data=bytes(range(i)))


def types():
    """Prints the MD5 sum and the definition of each installed type."""
    found = {}
    for package in pkgutil.iter_modules([os.path.dirname(genpy.__path__[0])]):
        if not package.name.endswith("_msgs"):
            continue
        try:
            module = importlib.import_module(package.name + ".msg")
        except ImportError:
            continue
        for cls in vars(module).values():
            if hasattr(cls, "_md5sum"):
                found[cls._type] = {"md5sum": cls._md5sum, "definition": cls._full_text}
    print(json.dumps(found))


if sys.argv[1] == "types":
    types()
elif sys.argv[1] == "write":
    for compression in ["none", "bz2", "lz4"]:
        write(sys.argv[2], compression)
else:
    print(json.dumps([read(path) for path in sys.argv[2:]]))
