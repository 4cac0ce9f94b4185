"""Writes a file as EasyTeleop does with h5py: easyteleop.py PATH JPEG.

The devices are those of the reference session."""

import json
import sys

import h5py
import numpy as np

path, jpeg = sys.argv[1], np.frombuffer(bytes.fromhex(sys.argv[2]), np.uint8)
rows = 30
devices = {f"camera_{i}": {"type": "RealSenseCamera", "serial": serial, "fps": 30}
           for i, serial in enumerate(["153122070447", "427622270438", "427622270277"])}
devices |= {f"arm_{i}": {"type": "RealMan", "ip": f"192.168.0.{18 + i}", "port": 8080, "joints": 6} for i in range(2)}
with h5py.File(path, "w") as f:
    f.create_group("info").attrs.update(num_arms=2, num_cameras=3, total_episodes=1, total_frames=rows, version="1.0")
    f.create_group("metadata").attrs.update(devices=json.dumps(devices), end_time=1764000001.1)
    for i in range(3):
        pictures = f.create_dataset(f"observations/images/cam_{i}", (rows,), h5py.vlen_dtype(np.uint8))
        for k in range(rows):
            pictures[k] = jpeg
    for i, grippers in enumerate([3, 1]):
        for name, columns in {"pose": 6, "joint": 6, "end_effector": grippers}.items():
            values = np.arange(rows * columns, dtype=np.float64).reshape(rows, columns) / 256
            f[f"observations/state/arm_{i}/{name}"] = f[f"actions/arm_{i}/{name}"] = values
    f["actions/timestamps"] = np.round(1764000000 + np.arange(rows) / 30, 3)
