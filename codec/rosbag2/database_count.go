package rosbag2

import (
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// countFromMetadata takes the counts from the metadata, which avoids reading all messages, if it describes
// this file alone, no row was ever removed, and the ids and times of the first and the last message match.
func (d *database) countFromMetadata() error {
	m := d.whole
	if m == nil {
		var err error
		if m, err = d.ownMetadata(); err != nil || m == nil {
			return err
		}
	}
	if len(m.Paths) != 1 || m.Messages == 0 {
		return nil
	}
	ids := map[topicKey]int64{}
	for id, c := range d.channels {
		ids[topicKey{c.Topic, c.Type, c.Encoding}] = id
	}
	info := &codec.Info{
		Format: Name, Path: d.path, Complete: true, Indexed: true, MessageCount: m.Messages,
		StartTime: m.Start.Nanoseconds, EndTime: m.Start.Nanoseconds + m.Duration.Nanoseconds,
	}
	counts := map[int64]uint64{}
	for _, t := range m.Topics {
		id, ok := ids[topicKey{t.Topic.Name, t.Topic.Type, t.Topic.Encoding}]
		if !ok && t.Messages > 0 {
			return nil
		}
		counts[id] += t.Messages
	}
	var sum uint64
	for _, id := range d.ids() {
		sum += counts[id]
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: d.channels[id], MessageCount: counts[id]})
	}
	if sum != m.Messages || len(ids) != len(d.channels) {
		return nil
	}
	sound, err := d.matches(info)
	if err != nil || !sound {
		return err
	}
	d.info, d.counts = info, counts
	return nil
}

// tally is what there is of messages of a topic.
type tally struct {
	count, odd  uint64 // rows; those that cannot be messages
	first, last int64  // times
}

// tally goes through the rows of all messages, and also returns how many have no topic, time or payload. In a store it
// reads the pages that they are on alone, without those that large payloads go on in.
func (d *database) tally() (tallies map[int64]tally, unset uint64, err error) {
	tallies = map[int64]tally{}
	if d.remote() {
		if d.tallyPages(tallies) == nil {
			return tallies, 0, nil
		}
		clear(tallies) // SQLite may get on with it
	}
	rows, err := d.db.Query("SELECT CASE WHEN timestamp NOTNULL AND data NOTNULL THEN topic_id END AS topic, " +
		"count(*), coalesce(min(timestamp), 0), coalesce(max(timestamp), 0), " +
		"sum(typeof(timestamp) NOT IN ('integer', 'null') OR typeof(data) NOT IN ('blob', 'null')) " +
		"FROM messages GROUP BY topic")
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id sql.NullInt64
		var t tally
		if err := scan(rows, &id, &t.count, &t.first, &t.last, &t.odd); err != nil {
			return nil, 0, err
		}
		if id.Valid || t.odd > 0 {
			tallies[id.Int64] = t
		} else {
			unset = t.count
		}
	}
	return tallies, unset, rows.Err()
}

// matches reports whether the first and the last message of the file and their number can be those of info.
func (d *database) matches(info *codec.Info) (bool, error) {
	var free, indexes int64
	err := d.db.QueryRow("SELECT freelist_count, (SELECT count(*) FROM sqlite_master "+
		"WHERE type = 'index' AND tbl_name = 'messages') FROM pragma_freelist_count").Scan(&free, &indexes)
	if err != nil || free > 0 || indexes == 0 {
		return false, err
	}
	var firstID, lastID, start, end sql.NullInt64
	err = d.db.QueryRow("SELECT (SELECT min(id) FROM messages), (SELECT max(id) FROM messages), "+
		"(SELECT min(timestamp) FROM messages), (SELECT max(timestamp) FROM messages)").Scan(&firstID, &lastID, &start,
		&end)
	return err == nil && lastID.Valid && uint64(lastID.Int64-firstID.Int64) == info.MessageCount-1 &&
		start.Int64 == info.StartTime && end.Int64 == info.EndTime, err
}

// ownMetadata returns what the file says of itself, as it does from schema version 3 on; nil when it says nothing.
func (d *database) ownMetadata() (*metadata, error) {
	if columns, err := d.columns("metadata"); err != nil || len(columns) == 0 {
		return nil, err
	}
	var text string
	err := d.db.QueryRow("SELECT coalesce(metadata, '') FROM metadata ORDER BY id DESC LIMIT 1").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, _ := parseEmbedded([]byte(text)) // what cannot be read is not trusted
	return m, nil
}

// readEvents adds the events that a recorder stored among the messages.
func (d *database) readEvents() error {
	kept := func(t codec.TopicInfo) bool { return t.MessageCount > 0 && codec.IsEvents(t.Channel) }
	if !slices.ContainsFunc(d.info.Topics, kept) {
		return nil
	}
	q := codec.Query{Start: math.MinInt64, Topics: codec.IsEvents}
	if d.remote() { // where reading all takes a request for many messages of other topics
		q.Last = func(*codec.Channel) int { return codec.All }
	}
	it, err := d.Read(q)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	events, err := chunked.Events(it)
	d.info.Events = append(d.info.Events, events...)
	return err
}
