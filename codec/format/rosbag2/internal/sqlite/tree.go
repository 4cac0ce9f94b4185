package sqlite

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sort"

	"tapedeck/codec/store"
)

var (
	errTree = errors.New("the tree of a table or an index is damaged")
	errHead = errors.New("the first page of the database is not one of SQLite")
)

const (
	maxDepth = 20   // depth of a tree with the smallest pages in the largest file
	maxPages = 4096 // pages of one depth that are read together, before the pages below them
)

// FirstEntry is before all other entries, LastEntry behind them.
var (
	FirstEntry = Entry{math.MinInt64, math.MinInt64}
	LastEntry  = Entry{math.MaxInt64, math.MaxInt64}
)

// Compare orders entries as an index does.
func (e Entry) Compare(o Entry) int {
	return cmp.Or(cmp.Compare(e.Value, o.Value), cmp.Compare(e.ID, o.ID))
}

// Range is a range of an index: entries at or behind From and before To.
type Range struct {
	From, To Entry
	MaxPages int  // maximum of pages with entries to read; 0: no limit. A longer range is cut at the end.
	Back     bool // a longer range is cut at the beginning instead
}

// node is a page of a tree, with the limits of the page's keys: after < key ≤ last. Keys of a table are ids.
type node struct {
	off         int64 // position of the page in the file
	after, last Entry
	entry       bool // last is an entry of the index
}

// descent is a traversal of a tree that reads all pages of one depth at once.
type descent struct {
	keep  func([]node) []node // returns the pages of a depth to read; nil: all
	row   func(*Row)          // called with rows; nil in an index
	entry func(Entry)         // called with entries in pages without children; nil in a table

	pagesLeft int64 // pages that the tree may still have: the file's pages without the visited pages
	rowBuf    Row
}

// Table calls found with each row of a table. root is the number of the table's root page. Table does not read overflow
// pages of large values. The row is valid until found returns.
func (d *Database) Table(root int64, found func(*Row)) error {
	return d.descend(root, &descent{row: found})
}

// Rows calls found with the rows of a table that have one of the ids, which are sorted. It may also call found with
// other rows.
func (d *Database) Rows(root int64, ids []int64, found func(*Row)) error {
	return d.descend(root, &descent{row: found, keep: func(level []node) []node {
		return slices.DeleteFunc(level, func(n node) bool {
			i, _ := slices.BinarySearch(ids, n.after.ID)
			if i < len(ids) && ids[i] == n.after.ID {
				i++
			}
			return i == len(ids) || ids[i] > n.last.ID
		})
	}})
}

// Entries returns the entries in a range of an index over a column of integers, in order. It also returns the range
// that the entries cover: r, unless r was too long.
func (d *Database) Entries(root int64, r Range) ([]Entry, Range, error) {
	var entries []Entry
	found := func(e Entry) { entries = append(entries, e) }
	err := d.descend(root, &descent{entry: found, keep: func(level []node) []node {
		level = slices.DeleteFunc(level, func(n node) bool {
			return n.last.Compare(r.From) < 0 || n.after.Compare(r.To) >= 0
		})
		if cut := len(level) - r.MaxPages; r.MaxPages > 0 && cut > 0 {
			if r.Back {
				r.From = behind(level[cut-1].last)
				level = level[cut:]
			} else {
				level = level[:r.MaxPages]
				r.To = behind(level[r.MaxPages-1].last)
			}
		}
		for _, n := range level {
			if n.entry {
				found(n.last)
			}
		}
		return level
	}})
	entries = slices.DeleteFunc(entries, func(e Entry) bool { return e.Compare(r.From) < 0 || e.Compare(r.To) >= 0 })
	slices.SortFunc(entries, Entry.Compare)
	return entries, r, err
}

// behind returns the first possible entry behind e.
func behind(e Entry) Entry {
	if e.ID == math.MaxInt64 {
		return e // e is LastEntry
	}
	return Entry{e.Value, e.ID + 1}
}

// Ends returns the first and the last id of a table, or 0, 0 if the table has no rows.
func (d *Database) Ends(root int64) (first, last int64, err error) {
	found := false
	err = d.descend(root, &descent{row: func(r *Row) {
		if !found {
			first, found = r.ID, true
		}
		last = r.ID
	}, keep: func(level []node) []node {
		if len(level) > 2 {
			level = []node{level[0], level[len(level)-1]}
		}
		return level
	}})
	return first, last, err
}

// Find returns the row of a table with the given id, or nil if there is none. The row is valid until the next call.
func (d *Database) Find(root, id int64) (*Row, error) {
	for range maxDepth {
		if root < 1 || root*d.pageSize > d.size {
			return nil, errTree
		}
		off := (root - 1) * d.pageSize
		data, err := d.read(off)
		if err != nil {
			return nil, err
		}
		p, ok := d.parsePage(data, off)
		if !ok || p.kind != tableInterior && p.kind != tableLeaf {
			return nil, errTree
		}
		i := sort.Search(p.cells, func(i int) bool { return p.id(i) >= id })
		switch {
		case p.kind == tableInterior:
			root = p.child(i)
		case i == p.cells || p.id(i) != id:
			return nil, nil
		case !d.parseRow(p, i, &d.row):
			return nil, errTree
		default:
			return &d.row, nil
		}
	}
	return nil, errTree
}

// id returns the id in cell i of a table.
func (p *page) id(i int) int64 {
	at := p.cell(i)
	if p.kind == tableInterior {
		at += pointer
	} else {
		_, n := varint(p.bytes[at:])
		at += n
	}
	id, _ := varint(p.bytes[min(at, len(p.bytes)):])
	return int64(id)
}

// child returns the number of the page below cell i, or of the last page below p if i is the number of cells. It
// returns 0 if p is damaged.
func (p *page) child(i int) int64 {
	at := p.begin + leafHead
	if i < p.cells {
		at = p.cell(i)
		if at == 0 || at+pointer > len(p.bytes) {
			return 0
		}
	}
	return int64(binary.BigEndian.Uint32(p.bytes[at:]))
}

// descend traverses the tree with the root page root.
func (d *Database) descend(root int64, w *descent) error {
	w.pagesLeft = d.size / d.pageSize
	return d.visit([]node{{off: (root - 1) * d.pageSize, after: FirstEntry, last: LastEntry}}, w, maxDepth)
}

// visit reads the pages of one level and the pages on at most depth levels below.
func (d *Database) visit(level []node, w *descent, depth int) error {
	atOnce := maxPages
	if w.keep != nil {
		level = w.keep(level)
		atOnce = len(level)
	}
	w.pagesLeft -= int64(len(level))
	if w.pagesLeft < 0 || depth == 0 && len(level) > 0 {
		return errTree
	}
	for len(level) > 0 {
		n := min(len(level), atOnce)
		var below []node
		offsets := make([]int64, n)
		for i := range offsets {
			offsets[i] = level[i].off
		}
		err := store.ReadPages(d.file, offsets, d.pageSize, func(_ int64, data []byte) (err error) {
			below, err = d.readPage(data, level[0], w, below)
			level = level[1:]
			return err
		})
		if err == nil {
			err = d.visit(below, w, depth-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readPage passes the rows or entries of a page to w, and appends the pages below the page to below. data are the bytes
// of the page.
func (d *Database) readPage(data []byte, n node, w *descent, below []node) ([]node, error) {
	p, ok := d.parsePage(data, n.off)
	table := p.kind == tableLeaf || p.kind == tableInterior
	if !ok || table != (w.row != nil) {
		return nil, errTree
	}
	row := &w.rowBuf
	if p.kind == tableLeaf {
		rows := 0
		d.rows(p, row, func(r *Row) {
			rows++
			w.row(r)
		})
		if rows != p.cells {
			return nil, errTree
		}
		return below, nil
	}
	after := n.after
	for i := range p.cells + 1 {
		key := n.last
		if i < p.cells {
			key, ok = p.key(i, row)
			if !ok {
				return nil, errTree
			}
		}
		if p.kind == indexLeaf {
			if i < p.cells {
				w.entry(key)
			}
			continue
		}
		number := p.child(i)
		if number < 1 || number*d.pageSize > d.size || int64(len(below)) > w.pagesLeft {
			return nil, errTree
		}
		below = append(below, node{(number - 1) * d.pageSize, after, key, !table && i < p.cells})
		after = key
	}
	return below, nil
}

// key returns the key in cell i of an interior page or an index. row is a buffer.
func (p *page) key(i int, row *Row) (Entry, bool) {
	at := p.cell(i)
	if at == 0 {
		return Entry{}, false
	}
	if p.kind == tableInterior {
		return Entry{ID: p.id(i)}, true
	}
	if p.kind == indexInterior {
		at += pointer
	}
	cell := p.bytes[min(at, len(p.bytes)):]
	size, n := varint(cell)
	if n == 0 || size > uint64(len(cell)-n) || !row.Parse(cell[n:n+int(size)]) || len(row.Columns) != 2 {
		return Entry{}, false
	}
	value, id := row.Columns[0], row.Columns[1]
	if value.Kind == Null {
		value = Column{Kind: Integer, Int: math.MinInt64} // Null is before all other values
	}
	return Entry{value.Int, id.Int}, value.Kind == Integer && id.Kind == Integer
}
