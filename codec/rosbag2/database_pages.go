package rosbag2

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/rosbag2/internal/sqlite"
	"tapedeck/codec/store"
)

const (
	firstSearch   = 64  // messages at each end of a window that are looked at first
	entriesOfPage = 100 // or more, of the index
)

// pages reads the table of messages page by page, many at once, which SQLite reads one after the other.
type pages struct {
	*sqlite.Database
	file              codec.File
	root              int64 // page of the table
	index             int64 // page of its index by time; 0: there is none
	topic, time, data int   // columns
}

var errOddRow = errors.New("a row cannot be a message")

// remote reports whether the file is in a store, and SQLite reads it as it is there.
func (d *database) remote() bool {
	_, packed := d.file.(*file)
	return store.IsURL(d.path) && d.file != nil && !packed
}

// openPages returns the pages of a file in a store.
func (d *database) openPages() (*pages, error) {
	if d.pages != nil {
		return d.pages, nil
	}
	columns, err := d.columns("messages")
	if err != nil {
		return nil, err
	}
	p := &pages{file: d.file, topic: slices.Index(columns, "topic_id"), time: slices.Index(columns, "timestamp"),
		data: slices.Index(columns, "data")}
	if min(p.topic, p.time, p.data) < 0 {
		return nil, errNoBag
	}
	rows, err := d.db.Query("SELECT type, rootpage, coalesce(sql, '') FROM sqlite_master WHERE tbl_name = 'messages'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var kind, text string
		var root int64
		if err := scan(rows, &kind, &root, &text); err != nil {
			return nil, err
		}
		text = strings.ToLower(strings.ReplaceAll(text, " ", ""))
		switch {
		case kind == "table":
			p.root = root
		case strings.HasSuffix(text, "(timestamp)") || strings.HasSuffix(text, "(timestampasc)"):
			p.index = root
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if p.Database, err = sqlite.NewDatabase(d.file, d.size); err != nil {
		return nil, err
	}
	d.pages = p
	return p, nil
}

// message returns the place of the message that a row is.
func (p *pages) message(r *sqlite.Row) (row, bool) {
	c := r.Columns
	if len(c) <= max(p.topic, p.time, p.data) || c[p.topic].Kind != sqlite.Integer ||
		c[p.time].Kind != sqlite.Integer || c[p.data].Kind != sqlite.Blob {
		return row{}, false
	}
	return row{r.ID, c[p.topic].Int, c[p.time].Int, r.Place}, true
}

// tallyPages counts the messages. It remembers the places that a Query with Last looks for.
func (d *database) tallyPages(tallies map[int64]tally) error {
	p, err := d.openPages()
	if err != nil {
		return err
	}
	odd := false
	latched := map[int64][]row{}
	for id, c := range d.channels {
		if codec.LatchedDepth(c) > 0 {
			latched[id] = []row{}
		}
	}
	err = p.Table(p.root, func(r *sqlite.Row) {
		m, ok := p.message(r)
		if !ok {
			odd = true
			return
		}
		t, known := tallies[m.topic]
		if t.count++; !known {
			t.first, t.last = m.time, m.time
		}
		t.first, t.last = min(t.first, m.time), max(t.last, m.time)
		tallies[m.topic] = t
		if places := latched[m.topic]; places != nil && len(places) <= maxRare {
			latched[m.topic] = append(places, m)
		}
	})
	if odd {
		err = cmp.Or(err, errOddRow)
	}
	for id, places := range latched {
		if err == nil && len(places) <= maxRare {
			slices.SortFunc(places, compareRows)
			d.rare[id] = places
		}
	}
	return err
}

// search returns the messages of topics in the window of q, at least the last ones, as many as depths says. It returns
// nil if there is no index.
func (d *database) search(q codec.Query, depths map[int64]int, topics []int64) (map[int64][]row, error) {
	p, err := d.openPages()
	if err != nil || p.index == 0 {
		return nil, err
	}
	found := map[int64][]row{}
	for _, id := range topics {
		found[id] = []row{}
	}
	counts := map[int64]int{} // of those at the end of the window
	left := sqlite.Range{From: sqlite.Entry{Value: q.From(), ID: math.MinInt64}, To: sqlite.LastEntry}
	if q.End != 0 {
		left.To = sqlite.Entry{Value: q.End, ID: math.MinInt64}
	}
	var ahead sync.WaitGroup
	defer ahead.Wait()
	if q.End != 0 {
		ahead.Go(func() { p.prefetch(q.End) }) // where reading goes on
	}
	lacking := func(id int64) bool {
		return counts[id] < depths[id] && uint64(len(found[id])) < d.counts[id]
	}
	for n := firstSearch; slices.ContainsFunc(topics, lacking) && left.From.Compare(left.To) < 0; n *= 8 {
		ends := [2]end{{Range: left}, {Range: left}}
		ends[1].Back = true
		var group sync.WaitGroup
		for i := range ends {
			group.Go(func() { ends[i].err = p.find(&ends[i], n) })
		}
		group.Wait()
		first, last := &ends[0], &ends[1]
		if err := cmp.Or(first.err, last.err); err != nil {
			return nil, err
		}
		for i, e := range ends {
			for _, m := range e.rows {
				if found[m.topic] == nil || i == 0 && m.entry().Compare(last.From) >= 0 {
					continue
				}
				if found[m.topic] = append(found[m.topic], m); i == 1 {
					counts[m.topic]++
				}
			}
		}
		left.From, left.To = first.To, last.From
	}
	for _, places := range found {
		slices.SortFunc(places, compareRows)
	}
	return found, nil
}

// end is an end of a window, and the messages that were found there.
type end struct {
	sqlite.Range
	rows []row
	err  error
}

// find finds about n messages and sets e.Range to where they are.
func (p *pages) find(e *end, n int) error {
	e.Most = n/entriesOfPage + 1
	entries, covered, err := p.Entries(p.index, e.Range)
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
	e.rows, err = p.rows(entries)
	return err
}

// rows returns the messages of entries.
func (p *pages) rows(entries []sqlite.Entry) ([]row, error) {
	ids := make([]int64, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	slices.Sort(ids)
	var rows []row
	odd := false
	err := p.Rows(p.root, ids, func(r *sqlite.Row) {
		if _, wanted := slices.BinarySearch(ids, r.ID); wanted {
			m, ok := p.message(r)
			rows, odd = append(rows, m), odd || !ok
		}
	})
	if odd || len(rows) < len(ids) {
		err = cmp.Or(err, errOddRow)
	}
	return rows, err
}

// first calls do with the topic and the payload of the first message of each topic among those with the first n ids.
func (p *pages) first(n int, do func(topic int64, payload []byte)) error {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	type first struct {
		place sqlite.Place
		data  sqlite.Column
	}
	found := map[int64]first{}
	err := p.Rows(p.root, ids, func(r *sqlite.Row) {
		m, ok := p.message(r)
		if _, known := found[m.topic]; ok && !known {
			found[m.topic] = first{m.place, r.Columns[p.data]}
			store.Prefetch(p.file, m.place.Off, m.place.Size)
		}
	})
	for topic, m := range found {
		if err != nil {
			return err
		}
		var record []byte
		if record, err = p.Record(m.place, nil); err == nil {
			do(topic, m.data.Value(record))
		}
	}
	return err
}

// prefetch begins to fetch the first message at or behind a time, with the pages by which SQLite finds it.
func (p *pages) prefetch(from int64) {
	if p.index == 0 {
		return
	}
	entries, _, err := p.Entries(p.index, sqlite.Range{From: sqlite.Entry{Value: from, ID: math.MinInt64},
		To: sqlite.LastEntry, Most: 1})
	if err != nil || len(entries) == 0 {
		return // SQLite says what there is
	}
	if rows, err := p.rows(entries[:1]); err == nil {
		store.Prefetch(p.file, rows[0].place.Off, rows[0].place.Size)
	}
}
