package rosbag2

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/store"
)

func (d *database) Read(q codec.Query) (codec.Iterator, error) {
	if d.broken {
		return d.salvage.read(q)
	}
	if q.Last != nil {
		return d.readLast(q)
	}
	for _, text := range d.invalidRows {
		_ = q.Damage(d.wrap(&invalidRowsError{text})) // ends no iterator; Info reports it, too
	}
	it := d.iterator(q, nil)
	it.salvages = true
	if d.messages.index != 0 {
		it.next = d.messages.inOrder(window(q))
		return it, nil
	}
	rows, err := d.messages.all(func(id int64) bool { return it.channels[id] != nil })
	it.next = iterate(rows)
	if err != nil {
		it.fail(nil, err)
	}
	if it.err != nil {
		return nil, it.err
	}
	return it, nil
}

// maxRare is the maximum number of messages of a topic whose places are remembered.
const maxRare = 1 << 16

// readLast serves a Query with Last. There is no index by topic. To find topics with few messages, readLast reads the
// whole table once. For other topics it reads the table backwards from the end of the time range. It searches a file in
// a store from both ends of the time range, because latched messages are mostly the first messages of a recording.
func (d *database) readLast(q codec.Query) (codec.Iterator, error) {
	if _, err := d.Info(); err != nil {
		return nil, err
	}
	if d.broken {
		return d.salvage.read(q)
	}
	t := d.messages
	depths := map[int64]int{}
	var few, others []int64 // topics to search, with few messages and others
	for id, c := range d.channels {
		if d.counts[id] == 0 {
			continue
		}
		depths[id] = q.Depth(c)
		if depths[id] == 0 {
			continue
		}
		switch {
		case d.rare[id] != nil:
		case t.index == 0 || !t.remote && d.counts[id] <= maxRare:
			few = append(few, id)
		default:
			others = append(others, id)
		}
	}
	if err := d.findRare(few); err != nil {
		return nil, d.wrap(err)
	}
	var ahead sync.WaitGroup
	defer ahead.Wait()
	if t.remote && t.index != 0 && q.End != 0 {
		ahead.Go(func() { t.prefetch(q.End) }) // reading continues here
	}
	found, err := t.search(window(q), depths, d.counts, others)
	if err != nil {
		return nil, d.wrap(err)
	}
	var rows []row
	for id, n := range depths {
		list := d.rare[id]
		if list == nil {
			list = found[id]
		}
		byTime := func(r row, t int64) int { return cmp.Compare(r.time, t) }
		from, _ := slices.BinarySearchFunc(list, q.From(), byTime)
		to := len(list)
		if q.End != 0 {
			to, _ = slices.BinarySearchFunc(list, q.End, byTime)
		}
		if from < to {
			rows = append(rows, list[max(from, to-n):to]...)
		}
	}
	slices.SortFunc(rows, compareRows)
	for _, r := range rows {
		store.Prefetch(d.file, r.place.Off, r.place.Size)
	}
	return d.iterator(q, iterate(rows)), nil
}

// findRare finds all messages of topics.
func (d *database) findRare(topics []int64) error {
	if len(topics) == 0 {
		return nil
	}
	rows, err := d.messages.all(func(id int64) bool { return slices.Contains(topics, id) })
	if err != nil {
		return err
	}
	for _, r := range rows {
		d.rare[r.topic] = append(d.rare[r.topic], r)
	}
	return nil
}

// iterate returns a function that returns the next row, and nil after the last one.
func iterate(rows []row) func() (*row, error) {
	return func() (*row, error) {
		if len(rows) == 0 {
			return nil, nil
		}
		r := &rows[0]
		rows = rows[1:]
		return r, nil
	}
}

// rowIterator yields the messages of rows.
type rowIterator struct {
	database *database
	query    codec.Query
	channels map[int64]*codec.Channel // wanted channels by topic id
	next     func() (*row, error)     // returns nil after the last row
	column   int                      // index of the payload's column; -1: the last column
	salvages bool                     // a salvage continues behind damage
	end      error                    // error after the last message

	row     row        // row of the last message
	record  []byte     // record of row
	columns sqlite.Row // columns of record
	msg     codec.Message
	err     error
}

// iterator returns an iterator over the messages of next that q selects.
func (d *database) iterator(q codec.Query, next func() (*row, error)) *rowIterator {
	it := &rowIterator{database: d, query: q, channels: map[int64]*codec.Channel{}, next: next, column: -1, end: io.EOF}
	if d.messages != nil {
		it.column = d.messages.data
	}
	for _, id := range d.ids() {
		if c := d.channels[id]; q.Wants(c) {
			it.channels[id] = c
		}
	}
	return it
}

func (it *rowIterator) Next() (*codec.Message, error) {
	for it.err == nil {
		r, err := it.next()
		if err != nil {
			it.fail(nil, err)
			continue
		}
		if r == nil {
			it.err = it.end
			break
		}
		c := it.channels[r.topic]
		if c == nil || !it.query.Covers(r.time) {
			it.err = it.query.Err()
			continue
		}
		data, err := it.payload(r)
		if err != nil {
			it.fail(r, err)
			continue
		}
		it.row = *r
		it.msg = codec.Message{Channel: c, LogTime: r.time, Data: data}
		return &it.msg, nil
	}
	return nil, it.err
}

// payload returns the payload of a message.
func (it *rowIterator) payload(r *row) (data []byte, err error) {
	it.record, err = it.database.sqlite.Record(r.place, it.record[:0])
	if err != nil {
		return nil, err
	}
	if !it.columns.Parse(it.record) || it.column >= len(it.columns.Columns) {
		return nil, errOddRow
	}
	columns := it.columns.Columns
	if it.column < 0 {
		return columns[len(columns)-1].Value(it.record), nil
	}
	return columns[it.column].Value(it.record), nil
}

// fail handles damage of the row r, or of the pages that lead to the next row. Behind damage a table or an index is
// unknown, so a salvage continues there.
func (it *rowIterator) fail(r *row, cause error) {
	d := it.database
	if !it.salvages {
		it.err = it.query.Damage(d.wrap(fmt.Errorf("message %d: %w", r.id, cause)))
		return
	}
	it.err = d.wrap(fmt.Errorf("behind message %d: %w", it.row.id, cause))
	if it.query.Damage(it.err) != nil {
		return
	}
	if d.salvage == nil {
		d.salvage, it.err = newSalvage(d, cause)
		if it.err != nil {
			it.err = d.wrap(it.err)
			return
		}
	}
	last := &it.row
	if last.id == 0 {
		last = nil // no message was read yet
	}
	*it = *d.salvage.from(it.query, last)
}

func (it *rowIterator) Close() error {
	it.next, it.err = nil, io.EOF
	return nil
}
