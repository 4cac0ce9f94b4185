package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"tapedeck/codec"
)

// schema is the database schema of rosbag2 in Humble.
const schema = `
PRAGMA journal_mode=off;
PRAGMA synchronous=off;
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
	serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
	data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
INSERT INTO schema VALUES (3, 'humble');
BEGIN;
`

// database writes a recording as rosbag2 does with SQLite. It runs the program sqlite3 (Debian: sqlite3).
type database struct {
	codec.NoSplits
	program    *exec.Cmd
	input      io.WriteCloser         // of program
	statements *bufio.Writer          // to input
	topics     map[*codec.Channel]int // ids
}

func createDatabase(path string) (codec.Writer, error) {
	d := &database{program: exec.Command("sqlite3", "-batch", "-bail", path), topics: map[*codec.Channel]int{}}
	d.program.Stderr = os.Stderr
	var err error
	d.input, err = d.program.StdinPipe()
	if err != nil {
		return nil, err
	}
	d.statements = bufio.NewWriterSize(d.input, 1<<20)
	if err := d.program.Start(); err != nil {
		return nil, err
	}
	_, err = d.statements.WriteString(schema)
	return d, err
}

func (d *database) Declare(c *codec.Channel) error {
	if d.topics[c] != 0 {
		return nil
	}
	d.topics[c] = len(d.topics) + 1
	_, err := fmt.Fprintf(d.statements, "INSERT INTO topics VALUES (%d, '%s', '%s', '%s', '%s');\n", d.topics[c],
		c.Topic, c.Type, c.Encoding, codec.FormatQoSProfiles(c.QoS))
	return err
}

func (d *database) Write(m *codec.Message) error {
	if err := d.Declare(m.Channel); err != nil {
		return err
	}
	_, err := fmt.Fprintf(d.statements, "INSERT INTO messages (topic_id, timestamp, data) VALUES (%d, %d, x'",
		d.topics[m.Channel], m.LogTime)
	if err == nil {
		_, err = hex.NewEncoder(d.statements).Write(m.Data)
	}
	if err == nil {
		_, err = d.statements.WriteString("');\n")
	}
	return err
}

func (d *database) Sync() error { return nil }

func (d *database) Losses() []codec.Loss { return nil }

func (d *database) Close() error {
	_, err := d.statements.WriteString("COMMIT;\n")
	return errors.Join(err, d.statements.Flush(), d.input.Close(), d.program.Wait())
}
