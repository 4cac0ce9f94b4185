"""Reads bags with ROS 1's library and databases with SQLite: peer.py RECORDING...

Prints the number of messages of each topic of each recording as JSON. Messages of bags are decoded with the definitions
in the bag, except for very long definitions, for which the library takes a minute."""

import collections
import json
import sqlite3
import sys


def bag(path):
    import rosbag

    counts = collections.Counter()
    with rosbag.Bag(path) as b:
        connections = list(b._get_connections())
        long = {c.topic for c in connections if len(c.msg_def) > 8000}
        for topic in long:
            counts[topic] = b.get_message_count(topic)
        short = [c.topic for c in connections if c.topic not in long]
        for topic, (kind, data, md5sum, _, cls), _ in b.read_messages(short, raw=True):
            assert cls._md5sum == md5sum, f"{kind} has the sum {cls._md5sum}, not {md5sum}"
            cls().deserialize(data)
            counts[topic] += 1
        assert b.get_message_count() == sum(counts.values())
    return {topic: count for topic, count in counts.items() if count}


def database(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        query = ("SELECT topics.name, COUNT(*) FROM messages JOIN topics ON topics.id = messages.topic_id"
                 " GROUP BY topics.name")
        return dict(db.execute(query).fetchall())


print(json.dumps({p: bag(p) if p.endswith(".bag") else database(p) for p in sys.argv[1:]}))
