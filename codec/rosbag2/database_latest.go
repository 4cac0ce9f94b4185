package rosbag2

import (
	"cmp"
	"database/sql"
	"fmt"
	"io"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/rosbag2/internal/sqlite"
	"tapedeck/codec/store"
)

// maxRare bounds the messages of a topic whose places are remembered.
const maxRare = 1 << 16

// row is the place of a message.
type row struct {
	id, topic, time int64
	place           sqlite.Place // in a file in a store
}

func (r row) entry() sqlite.Entry { return sqlite.Entry{Value: r.time, ID: r.id} }
func compareRows(a, b row) int    { return a.entry().Compare(b.entry()) }

// readLast serves a Query with Last. There is no index by topic: the database is read once for the topics with few
// messages, and from the end of the window back for the others. A file in a store is searched from both ends of the
// window, as latched messages are mostly the first ones of a recording.
func (d *database) readLast(q codec.Query) (codec.Iterator, error) {
	if _, err := d.Info(); err != nil {
		return nil, err
	}
	if d.broken {
		return d.salvage.Read(q)
	}
	depths := map[int64]int{}
	var rare, unknown []int64 // to be looked for: all of their messages; where they are
	for _, id := range d.ids() {
		if d.counts[id] == 0 {
			continue
		}
		if n := q.Depth(d.channels[id]); n > 0 {
			depths[id] = n
			if d.rare[id] != nil {
				continue
			}
			unknown = append(unknown, id)
			if d.counts[id] <= maxRare {
				rare = append(rare, id)
			}
		}
	}
	var found map[int64][]row
	var err error
	if d.remote() {
		found, err = d.search(q, depths, unknown)
	}
	if found == nil || err != nil {
		if err := d.findRare(rare); err != nil {
			return nil, d.wrap(err)
		}
	}
	it := &placeIterator{database: d}
	for id, n := range depths {
		places, known := found[id]
		if !known {
			places = d.rare[id]
		}
		if places == nil && !known {
			where, args := window(q)
			last := fmt.Sprintf("topic_id = %d AND %s ORDER BY timestamp DESC, id DESC LIMIT %d", id, where, n)
			if places, err = d.places(last, args...); err != nil {
				return nil, d.wrap(err)
			}
			slices.Reverse(places)
		}
		byTime := func(r row, t int64) int { return cmp.Compare(r.time, t) }
		from, _ := slices.BinarySearchFunc(places, q.From(), byTime)
		to := len(places)
		if q.End != 0 {
			to, _ = slices.BinarySearchFunc(places, q.End, byTime)
		}
		if from < to {
			it.rows = append(it.rows, places[max(from, to-n):to]...)
		}
	}
	slices.SortFunc(it.rows, compareRows)
	for _, r := range it.rows {
		store.Prefetch(d.file, r.place.Off, r.place.Size)
	}
	return it, nil
}

// list returns numbers as SQL has them.
func list(ids []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ", "), "[]")
}

// findRare finds all messages of topics.
func (d *database) findRare(topics []int64) error {
	if len(topics) == 0 {
		return nil
	}
	places, err := d.places("topic_id IN (" + list(topics) + ")")
	if err != nil {
		return err
	}
	slices.SortFunc(places, compareRows)
	for _, r := range places {
		d.rare[r.topic] = append(d.rare[r.topic], r)
	}
	return nil
}

// places returns where the messages of a condition are.
func (d *database) places(where string, args ...any) ([]row, error) {
	rows, err := d.db.Query("SELECT id, topic_id, timestamp FROM messages WHERE data IS NOT NULL AND "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var places []row
	for rows.Next() {
		var r row
		if err := scan(rows, &r.id, &r.topic, &r.time); err != nil {
			return nil, err
		}
		places = append(places, r)
	}
	return places, rows.Err()
}

// placeIterator yields messages whose places are known.
type placeIterator struct {
	database *database
	rows     []row
	query    *sql.Stmt // nil before the first message
	msg      codec.Message
	err      error
}

func (it *placeIterator) Next() (*codec.Message, error) {
	if it.err == nil {
		it.err = it.step()
	}
	if it.err != nil {
		return nil, it.err
	}
	return &it.msg, nil
}

func (it *placeIterator) step() error {
	if len(it.rows) == 0 {
		return io.EOF
	}
	r := it.rows[0]
	it.rows = it.rows[1:]
	if it.query == nil {
		var err error
		if it.query, err = it.database.db.Prepare("SELECT data FROM messages WHERE id = ?"); err != nil {
			return it.database.wrap(err)
		}
	}
	var data []byte
	if err := scan(it.query.QueryRow(r.id), &data); err != nil {
		return it.database.wrap(fmt.Errorf("message %d: %w", r.id, err))
	}
	it.msg = codec.Message{Channel: it.database.channels[r.topic], LogTime: r.time, Data: data}
	return nil
}

func (it *placeIterator) Close() error {
	it.rows, it.err = nil, io.EOF
	if it.query == nil {
		return nil
	}
	return it.query.Close()
}
