package sqlite

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"tapedeck/codec/store"
)

// errTree says that a tree is damaged.
var errTree = errors.New("the tree of a table or an index is damaged")

// FirstEntry and LastEntry are before and behind all other ones.
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
	Most     int  // pages with entries that are read: a longer range is cut; 0: all
	Back     bool // it is cut at its beginning
}

// node is a page of a tree. Its keys are behind after and not behind last; those of a table are ids.
type node struct {
	off         int64
	after, last Entry
	entry       bool // last is an entry of the index
}

// descent is a way down a tree that reads all pages of the same depth at once.
type descent struct {
	keep  func([]node) []node // returns which pages of a depth are read; nil: all
	row   func(*Row)          // is called for rows; nil in an index
	entry func(Entry)         // is called for the entries in pages without children; nil in a table
}

// Table yields the rows of the table whose tree begins at the page root. It does not read the pages in which large
// values go on. The row is valid until found returns.
func (d *Database) Table(root int64, found func(*Row)) error {
	return d.descend(root, &descent{row: found})
}

// Rows yields the rows of a table with these ids, which are sorted, and may yield others.
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

// Entries returns the entries in a range of an index over a column of integers, in order, and which range that is if
// it was cut.
func (d *Database) Entries(root int64, r Range) ([]Entry, Range, error) {
	var entries []Entry
	found := func(e Entry) { entries = append(entries, e) }
	err := d.descend(root, &descent{entry: found, keep: func(level []node) []node {
		level = slices.DeleteFunc(level, func(n node) bool {
			return n.last.Compare(r.From) < 0 || n.after.Compare(r.To) >= 0
		})
		if cut := len(level) - r.Most; r.Most > 0 && cut > 0 {
			if r.Back {
				r.From = behind(level[cut-1].last)
				level = level[cut:]
			} else {
				level = level[:r.Most]
				r.To = behind(level[r.Most-1].last)
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

// behind returns the first entry that there may be behind e.
func behind(e Entry) Entry {
	if e.ID == math.MaxInt64 {
		return e // it is LastEntry
	}
	return Entry{e.Value, e.ID + 1}
}

func (d *Database) descend(root int64, w *descent) error {
	left := d.size / d.pageSize // pages that the tree may have
	level := []node{{off: (root - 1) * d.pageSize, after: FirstEntry, last: LastEntry}}
	for {
		if w.keep != nil {
			level = w.keep(level)
		}
		if left -= int64(len(level)); left < 0 {
			return errTree
		}
		if len(level) == 0 {
			return nil
		}
		offs := make([]int64, len(level))
		for i, n := range level {
			offs[i] = n.off
		}
		var below []node
		next := 0
		err := store.ReadPages(d.file, offs, d.pageSize, func(_ int64, page []byte) (err error) {
			below, err = d.visit(w, level[next], page[:d.usable], below)
			next++
			return err
		})
		if err != nil {
			return err
		}
		level = below
	}
}

// visit yields what is on a page, and appends the pages below it.
func (d *Database) visit(w *descent, n node, page []byte, below []node) ([]node, error) {
	begin := 0
	if n.off == 0 {
		begin = fileHead
	}
	kind, cells := page[begin], get16(page[begin+3:])
	row := &Row{}
	if kind == tableLeaf && w.row != nil {
		d.rows(page, n.off, row, func(r *Row) {
			cells--
			w.row(r)
		})
		if cells != 0 {
			return nil, errTree
		}
		return below, nil
	}
	pointers := begin + interiorHead
	if kind == indexLeaf {
		pointers = begin + leafHead
	}
	known := kind == tableInterior && w.row != nil || (kind == indexInterior || kind == indexLeaf) && w.entry != nil
	if !known || pointers+2*cells > len(page) {
		return nil, errTree
	}
	after := n.after
	child := func(at int, last Entry, entry bool) bool {
		if at+pointer > len(page) {
			return false
		}
		number := int64(binary.BigEndian.Uint32(page[at:]))
		below = append(below, node{(number - 1) * d.pageSize, after, last, entry})
		return number > 0 && number*d.pageSize <= d.size
	}
	for i := range cells {
		at := get16(page[pointers+2*i:])
		content := page[min(at+pointer, len(page)):]
		if kind == indexLeaf {
			content = page[min(at, len(page)):]
		}
		key, ok := row.key(content, kind)
		if !ok || kind != indexLeaf && !child(at, key, kind == indexInterior) {
			return nil, errTree
		}
		if kind == indexLeaf {
			w.entry(key)
		}
		after = key
	}
	if kind != indexLeaf && !child(begin+leafHead, n.last, false) {
		return nil, errTree
	}
	return below, nil
}

// key returns what a cell of a page above rows, or of an index, begins with. It uses r.
func (r *Row) key(cell []byte, kind byte) (Entry, bool) {
	v, n := varint(cell)
	if kind == tableInterior {
		return Entry{ID: int64(v)}, n > 0
	}
	if n == 0 || v > uint64(len(cell)-n) || !r.parse(cell[n:n+int(v)], int64(v)) || len(r.Columns) != 2 {
		return Entry{}, false
	}
	value, id := r.Columns[0], r.Columns[1]
	return Entry{value.Int, id.Int}, value.Kind == Integer && id.Kind == Integer
}
