package main

import (
	"database/sql"
	"errors"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"tapedeck/codec"
)

// schema is that of rosbag2 in Humble.
const schema = `
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
	serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
	data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
INSERT INTO schema VALUES (3, 'humble');
BEGIN;`

// database writes a recording as rosbag2 does with SQLite.
type database struct {
	db     *sql.DB
	insert *sql.Stmt
	topics map[*codec.Channel]int
}

func createDatabase(path string) (codec.Writer, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(off)&_pragma=journal_mode(off)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // the transaction is the connection's
	d := &database{db: db, topics: map[*codec.Channel]int{}}
	if _, err := db.Exec(schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if d.insert, err = db.Prepare("INSERT INTO messages (topic_id, timestamp, data) VALUES (?, ?, ?)"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return d, nil
}

func (d *database) Declare(c *codec.Channel) error {
	if d.topics[c] != 0 {
		return nil
	}
	d.topics[c] = len(d.topics) + 1
	_, err := d.db.Exec("INSERT INTO topics VALUES (?, ?, ?, ?, ?)", d.topics[c], c.Topic, c.Type, c.Encoding,
		codec.FormatQoSProfiles(c.QoS))
	return err
}

func (d *database) Write(m *codec.Message) error {
	if err := d.Declare(m.Channel); err != nil {
		return err
	}
	_, err := d.insert.Exec(d.topics[m.Channel], m.LogTime, m.Data)
	return err
}

func (d *database) Sync() error { return nil }

func (d *database) Close() error {
	_, err := d.db.Exec("COMMIT")
	return errors.Join(err, d.insert.Close(), d.db.Close())
}
