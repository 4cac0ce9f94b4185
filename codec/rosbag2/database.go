package rosbag2

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	_ "modernc.org/sqlite" // the driver "sqlite"
	"modernc.org/sqlite/vfs"

	"tapedeck/codec"
	"tapedeck/msgs"
)

// database reads one file of the storage sqlite3, of any schema that rosbag2_storage_sqlite3 has written: a table of
// topics, one of messages and, since Iron, one of definitions.
type database struct {
	path     string
	packed   io.Closer // the file in memory; nil for one of the system's
	vfs      *vfs.FS   // likewise
	db       *sql.DB
	channels map[int64]*codec.Channel // by topic id
	info     *codec.Info
	counts   map[int64]uint64 // messages by topic id; known with info
	rare     map[int64][]row  // of topics with few messages all, as far as they were looked for
}

// openDatabase opens the database at path.
func openDatabase(path string) (codec.Reader, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &database{path: path}
	return d.open(url.URL{Scheme: "file", Path: full, RawQuery: "mode=ro"})
}

// openPackedDatabase opens a database of size bytes that is in memory.
func openPackedDatabase(path string, f *file, size int64) (codec.Reader, error) {
	name, system, err := vfs.New(sqliteFS{f, size})
	if err != nil {
		return nil, err
	}
	d := &database{path: path, packed: f, vfs: system}
	return d.open(url.URL{Scheme: "file", Opaque: databaseName, RawQuery: "mode=ro&immutable=1&vfs=" + name})
}

func (d *database) open(source url.URL) (codec.Reader, error) {
	d.channels, d.rare = map[int64]*codec.Channel{}, map[int64][]row{}
	var err error
	d.db, err = sql.Open("sqlite", source.String())
	if err == nil {
		d.db.SetMaxIdleConns(1)
		err = d.readTopics()
	}
	if err != nil {
		return nil, errors.Join(d.wrap(err), d.Close())
	}
	return d, nil
}

func (d *database) wrap(err error) error {
	return fmt.Errorf("read %s: %w; 'sqlite3 %s .recover' saves what can be saved", d.path, err, filepath.Base(d.path))
}

// readTopics reads the channels. The definition of a type that the file does not hold is taken from those at hand.
func (d *database) readTopics() error {
	columns, err := d.columns("topics")
	if err != nil {
		return err
	}
	for _, name := range []string{"id", "name", "type", "serialization_format"} {
		if !slices.Contains(columns, name) {
			return errors.New("it is not a bag: there is no table of topics")
		}
	}
	optional := func(column string) string {
		if slices.Contains(columns, column) {
			return column
		}
		return "''"
	}
	rows, err := d.db.Query("SELECT id, name, type, serialization_format, " + optional("offered_qos_profiles") + ", " +
		optional("type_description_hash") + " FROM topics ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	library := msgs.Library()
	for rows.Next() {
		var id int64
		var profiles string
		c := new(codec.Channel)
		if err := rows.Scan(&id, &c.Topic, &c.Type, &c.Encoding, &profiles, &c.TypeHash); err != nil {
			return err
		}
		if c.QoS, err = codec.ParseQoSProfiles(profiles); err != nil {
			return fmt.Errorf("topic %s: offered_qos_profiles: %w", c.Topic, err)
		}
		if text, err := library.Concatenated(c.Type); err == nil {
			c.Schema = codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}
		}
		d.channels[id] = c
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return d.readDefinitions()
}

// readDefinitions reads the definitions, where the schema has them.
func (d *database) readDefinitions() error {
	if columns, err := d.columns("message_definitions"); err != nil || len(columns) == 0 {
		return err
	}
	rows, err := d.db.Query("SELECT topic_type, encoding, encoded_message_definition FROM message_definitions")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var typeName, encoding, text string
		if err := rows.Scan(&typeName, &encoding, &text); err != nil {
			return err
		}
		for _, c := range d.channels {
			if c.Type == typeName && text != "" {
				c.Schema = codec.Schema{Encoding: encoding, Data: []byte(text)}
			}
		}
	}
	return rows.Err()
}

// columns returns the names of a table's columns; none when there is no such table.
func (d *database) columns(table string) (names []string, err error) {
	rows, err := d.db.Query("SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// Info implements codec.Reader.
func (d *database) Info() (*codec.Info, error) {
	if d.info != nil {
		return d.info, nil
	}
	rows, err := d.db.Query("SELECT topic_id, count(*), min(timestamp), max(timestamp) FROM messages GROUP BY topic_id")
	if err != nil {
		return nil, d.wrap(err)
	}
	defer rows.Close()
	info := &codec.Info{Format: Name, Path: d.path, Complete: true}
	counts := map[int64]uint64{}
	d.counts = map[int64]uint64{}
	for rows.Next() {
		var id, first, last int64
		var count uint64
		if err := rows.Scan(&id, &count, &first, &last); err != nil {
			return nil, d.wrap(err)
		}
		if info.MessageCount == 0 || first < info.StartTime {
			info.StartTime = first
		}
		if info.MessageCount == 0 || last > info.EndTime {
			info.EndTime = last
		}
		counts[id], d.counts[id] = count, count
		info.MessageCount += count
	}
	if err := rows.Err(); err != nil {
		return nil, d.wrap(err)
	}
	for _, id := range d.ids() {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: d.channels[id], MessageCount: counts[id]})
		delete(counts, id)
	}
	for id, count := range counts {
		info.Events = append(info.Events, codec.Event{
			Kind: codec.EventDamage, Count: count, Text: fmt.Sprintf("%d messages of topic id %d, which is not among the topics", count, id),
		})
		info.MessageCount -= count
	}
	d.info = info
	return info, nil
}

// ids returns the topic ids in ascending order.
func (d *database) ids() []int64 {
	ids := make([]int64, 0, len(d.channels))
	for id := range d.channels {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Read implements codec.Reader.
func (d *database) Read(q codec.Query) (codec.Iterator, error) {
	where, args := window(q)
	wanted := []string{}
	for _, id := range d.ids() {
		if q.Wants(d.channels[id]) {
			wanted = append(wanted, fmt.Sprint(id))
		}
	}
	rows, err := d.db.Query("SELECT id, topic_id, timestamp, data FROM messages WHERE "+where+
		" AND topic_id IN ("+strings.Join(wanted, ", ")+") ORDER BY timestamp, id", args...)
	if err != nil {
		return nil, d.wrap(err)
	}
	return &rowIterator{database: d, rows: rows, damaged: q.Damaged}, nil
}

// window returns the condition that q makes for the time.
func window(q codec.Query) (where string, args []any) {
	if q.End == 0 {
		return "timestamp >= ?", []any{q.Start}
	}
	return "timestamp >= ? AND timestamp < ?", []any{q.Start, q.End}
}

// Close implements codec.Reader.
func (d *database) Close() error {
	var err error
	if d.db != nil {
		err = d.db.Close()
	}
	if d.vfs != nil {
		err = errors.Join(err, d.vfs.Close(), d.packed.Close())
	}
	return err
}

// rowIterator yields the messages of a database.
type rowIterator struct {
	database *database
	rows     *sql.Rows
	damaged  func(error)
	last     int64 // id of the last row
	data     sql.RawBytes
	msg      codec.Message
	err      error
}

// Next implements codec.Iterator.
func (it *rowIterator) Next() (*codec.Message, error) {
	if it.err != nil {
		return nil, it.err
	}
	if !it.rows.Next() {
		it.end(it.rows.Err())
		return nil, it.err
	}
	var topic int64
	if err := it.rows.Scan(&it.last, &topic, &it.msg.LogTime, &it.data); err != nil {
		it.end(err)
		return nil, it.err
	}
	it.msg.Channel, it.msg.Data = it.database.channels[topic], it.data
	return &it.msg, nil
}

// end ends the iteration. SQLite cannot go on behind a damaged page.
func (it *rowIterator) end(err error) {
	it.err = io.EOF
	if err == nil {
		return
	}
	err = it.database.wrap(fmt.Errorf("behind message %d: %w", it.last, err))
	if it.damaged == nil {
		it.err = err
		return
	}
	it.damaged(err)
}

// Close implements codec.Iterator.
func (it *rowIterator) Close() error {
	it.err = io.EOF
	return it.rows.Close()
}
