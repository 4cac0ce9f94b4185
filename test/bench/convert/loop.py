"""Writes the messages of a topic of a ROS 1 bag as CSV, as scripts do: loop.py BAG TOPIC CSV."""
import csv
import sys

import rosbag


def columns(message, prefix, row):
    """Appends name and value of all fields to row."""
    for name in message.__slots__:
        value = getattr(message, name)
        if hasattr(value, "to_nsec"):
            row.append((prefix + name, value.to_nsec()))
        elif hasattr(value, "__slots__"):
            columns(value, prefix + name + ".", row)
        else:
            row.append((prefix + name, value))
    return row


with open(sys.argv[3], "w", newline="") as file, rosbag.Bag(sys.argv[1]) as bag:
    writer = csv.writer(file)
    for i, (topic, message, time) in enumerate(bag.read_messages([sys.argv[2]])):
        row = columns(message, "", [])
        if i == 0:
            writer.writerow(["log_time"] + [name for name, value in row])
        writer.writerow([time.to_nsec()] + [value for name, value in row])
