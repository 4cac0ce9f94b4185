"""Writes a bag with ROS 1's library: bags.py PATH none|lz4|unfinished.

An unfinished bag is copied while its writer is open."""

import shutil
import sys

import genpy
import rosbag
from std_msgs.msg import Header, String

path, kind = sys.argv[1:]
with rosbag.Bag(path, "w", compression="lz4" if kind == "lz4" else "none", chunk_threshold=4096) as bag:
    for i in range(400):
        t = genpy.Time(1700000000 + i // 10, i % 10 * 100000000)
        bag.write("/chatter", String(f"hello {i} " + "x" * 100), t)
        if i % 5 == 0 and kind != "unfinished":
            bag.write("/hdr", Header(seq=i, stamp=t, frame_id="base"), t)
    if kind == "unfinished":
        bag._file.flush()
        shutil.copy(path, path + ".copy")
if kind == "unfinished":
    shutil.move(path + ".copy", path)
