package rosbag2

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/store"
)

const (
	firstSearch   = 64  // messages at each end of a range that are searched first
	entriesOfPage = 100 // lower bound of the entries on a page of the index
	maxIndexPages = 16  // pages of the index that are read at once
)

// messageTable is the table of messages in a database.
type messageTable struct {
	*sqlite.Database
	file              codec.File
	remote            bool  // the file is in a store: many pages are read at once
	root              int64 // root page of the table
	index             int64 // root page of the index by time; 0 if there is none
	topic, time, data int   // numbers of the columns
}

// row is the place of a message.
type row struct {
	id, topic, time int64
	place           sqlite.Place
}

func (r row) entry() sqlite.Entry { return sqlite.Entry{Value: r.time, ID: r.id} }
func compareRows(a, b row) int    { return a.entry().Compare(b.entry()) }

var (
	errOddRow  = errors.New("a row cannot be a message")
	errUnset   = errors.New("a row has no topic, time or payload")
	errNoRow   = errors.New("the index does not match the table")
	errNoTable = errors.New("there is no table of messages")
)

// openMessages returns the table of messages.
func openMessages(d *database) (*messageTable, error) {
	table := d.table("messages")
	if table == nil {
		return nil, errNoTable
	}
	columns := table.Columns()
	t := &messageTable{Database: d.sqlite, file: d.file, root: int64(table.Root),
		topic: slices.Index(columns, "topic_id"), time: slices.Index(columns, "timestamp"),
		data: slices.Index(columns, "data")}
	if min(t.topic, t.time, t.data) < 0 {
		return nil, errNoTable
	}
	_, pooled := d.file.(*file)
	t.remote = store.IsURL(d.path) && !pooled
	for i := range d.objects {
		o := &d.objects[i]
		text := strings.ToLower(strings.NewReplacer(" ", "", `"`, "", "`", "").Replace(o.SQL))
		ascending := strings.HasSuffix(text, "(timestamp)") || strings.HasSuffix(text, "(timestampasc)")
		if o.Type == "index" && strings.EqualFold(o.Table, "messages") && ascending {
			t.index = int64(o.Root)
		}
	}
	return t, nil
}

// message returns the message in a row.
func (t *messageTable) message(r *sqlite.Row) (row, error) {
	c := r.Columns
	if len(c) <= max(t.topic, t.time, t.data) {
		return row{}, errUnset
	}
	topic, time, data := &c[t.topic], &c[t.time], &c[t.data]
	is := func(c *sqlite.Column, kind sqlite.Kind) bool { return c.Kind == kind || c.Kind == sqlite.Null }
	switch {
	case !is(topic, sqlite.Integer) || !is(time, sqlite.Integer) || !is(data, sqlite.Blob):
		return row{}, errOddRow
	case topic.Kind == sqlite.Null || time.Kind == sqlite.Null || data.Kind == sqlite.Null:
		return row{}, errUnset
	}
	return row{r.ID, topic.Int, time.Int, r.Place}, nil
}

// each calls do with all messages, in the order of their ids. It also counts rows that are not messages: unset rows
// lack a topic, time or payload, odd rows are others.
func (t *messageTable) each(do func(row)) (unset, odd uint64, err error) {
	err = t.Table(t.root, func(r *sqlite.Row) {
		m, err := t.message(r)
		switch {
		case err == nil:
			do(m)
		case errors.Is(err, errUnset):
			unset++
		default:
			odd++
		}
	})
	return unset, odd, err
}

// all returns the messages of the selected topics in the order of time.
func (t *messageTable) all(topics func(id int64) bool) ([]row, error) {
	var rows []row
	_, odd, err := t.each(func(r row) {
		if topics(r.topic) {
			rows = append(rows, r)
		}
	})
	if odd > 0 {
		err = cmp.Or(err, errOddRow)
	}
	slices.SortFunc(rows, compareRows)
	return rows, err
}

// window returns the range of the index that q selects.
func window(q codec.Query) sqlite.Range {
	r := sqlite.Range{From: sqlite.Entry{Value: q.From(), ID: math.MinInt64}, To: sqlite.LastEntry}
	if q.End != 0 {
		r.To = sqlite.Entry{Value: q.End, ID: math.MinInt64}
	}
	return r
}

// inOrder returns a function that returns the next message in a range of the index, and nil after the last one.
func (t *messageTable) inOrder(rest sqlite.Range) func() (*row, error) {
	var entries []sqlite.Entry
	var message row
	return func() (*row, error) {
		for {
			for len(entries) == 0 {
				if rest.From.Compare(rest.To) >= 0 {
					return nil, nil
				}
				rest.MaxPages = min(rest.MaxPages+1, maxIndexPages)
				found, read, err := t.Entries(t.index, rest)
				if err != nil {
					return nil, err
				}
				entries, rest.From = found, read.To
			}
			e := entries[0]
			entries = entries[1:]
			r, err := t.Find(t.root, e.ID)
			if err == nil && r == nil {
				err = errNoRow
			}
			if err != nil {
				return nil, err
			}
			message, err = t.message(r)
			if err == nil && message.time != e.Value {
				err = errNoRow
			}
			if !errors.Is(err, errUnset) {
				return &message, err
			}
		}
	}
}

// search returns messages of topics in a range of the index: at least the last ones, as many as depths gives for a
// topic. counts is the number of messages of each topic.
func (t *messageTable) search(rest sqlite.Range, depths map[int64]int, counts map[int64]uint64,
	topics []int64) (map[int64][]row, error) {
	found := map[int64][]row{}
	for _, id := range topics {
		found[id] = []row{}
	}
	last := map[int64]int{} // number of messages in found that are at the end of the range
	lacking := func(id int64) bool { return last[id] < depths[id] && uint64(len(found[id])) < counts[id] }
	for n := firstSearch; slices.ContainsFunc(topics, lacking) && rest.From.Compare(rest.To) < 0; n *= 8 {
		ends := [2]end{{Range: rest}, {Range: rest}}
		ends[1].Back = true
		var group sync.WaitGroup
		for i := range ends {
			find := func() { ends[i].err = t.find(&ends[i], n) }
			if t.remote {
				group.Go(find)
			} else {
				find()
			}
		}
		group.Wait()
		front, back := &ends[0], &ends[1]
		if err := cmp.Or(front.err, back.err); err != nil {
			return nil, err
		}
		for i, e := range ends {
			for _, m := range e.rows {
				if found[m.topic] == nil || i == 0 && m.entry().Compare(back.From) >= 0 {
					continue
				}
				found[m.topic] = append(found[m.topic], m)
				if i == 1 {
					last[m.topic]++
				}
			}
		}
		rest.From, rest.To = front.To, back.From
	}
	for _, rows := range found {
		slices.SortFunc(rows, compareRows)
	}
	return found, nil
}

// end is the front or the back of a range of the index, and the messages that were found there.
type end struct {
	sqlite.Range
	rows []row
	err  error
}

// find finds about n messages and sets e.Range to the range that has them.
func (t *messageTable) find(e *end, n int) error {
	e.MaxPages = n/entriesOfPage + 1
	entries, covered, err := t.Entries(t.index, e.Range)
	if err != nil {
		return err
	}
	e.Range = covered
	if more := len(entries) - n; more > 0 {
		if e.Back {
			entries = entries[more:]
			e.From = entries[0]
		} else {
			e.To = entries[n]
			entries = entries[:n]
		}
	}
	e.rows, err = t.rows(entries)
	return err
}

// rows returns the messages of entries of the index, in the order of their ids.
func (t *messageTable) rows(entries []sqlite.Entry) ([]row, error) {
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	slices.Sort(ids)
	var rows []row
	missing := len(ids)
	var odd error
	err := t.Rows(t.root, ids, func(r *sqlite.Row) {
		if _, wanted := slices.BinarySearch(ids, r.ID); !wanted {
			return
		}
		missing--
		m, err := t.message(r)
		switch {
		case err == nil:
			rows = append(rows, m)
		case !errors.Is(err, errUnset):
			odd = err
		}
	})
	if missing > 0 {
		odd = cmp.Or(odd, errNoRow)
	}
	return rows, cmp.Or(err, odd)
}

// first returns the first message of each topic among the n lowest ids, and starts to fetch these messages.
func (t *messageTable) first(n int) ([]row, error) {
	id, _, err := t.Ends(t.root)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = id + int64(i)
	}
	var rows []row
	err = t.Rows(t.root, ids, func(r *sqlite.Row) {
		m, err := t.message(r)
		if err == nil && !slices.ContainsFunc(rows, func(o row) bool { return o.topic == m.topic }) {
			rows = append(rows, m)
			store.Prefetch(t.file, m.place.Off, m.place.Size)
		}
	})
	return rows, err
}

// prefetch starts to fetch the first message at or after a time, and reads the pages that lead to it.
func (t *messageTable) prefetch(from int64) {
	entries, _, err := t.Entries(t.index, sqlite.Range{From: sqlite.Entry{Value: from, ID: math.MinInt64},
		To: sqlite.LastEntry, MaxPages: 1})
	if err != nil || len(entries) == 0 {
		return // reading reports the damage
	}
	if rows, err := t.rows(entries[:1]); err == nil && len(rows) > 0 {
		store.Prefetch(t.file, rows[0].place.Off, rows[0].place.Size)
	}
}
