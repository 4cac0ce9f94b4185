package sqlite

import "encoding/binary"

// Table is a table to which rows are added, in the order of their ids.
type Table struct {
	leaves []child[int64]
	pages  *Pages // pages with the open leaf; nil if no leaf is open
	off    int    // offset of the open leaf in pages.Bytes
	begin  int    // offset of the leaf's head in the leaf
	cells  int    // number of the leaf's cells
	free   int    // offset of the leaf's first cell in the leaf: cells fill a leaf from the end
	head   []byte // buffer of Add
}

// child is a page below another page.
type child[K any] struct {
	page uint32 // number
	key  K      // the last id of the page and below; in an index the entry between the page and the next page
}

// Leaves returns the number of pages with rows.
func (t *Table) Leaves() int { return len(t.leaves) }

// Truncate removes all but the first n pages with rows, and closes the open leaf.
func (t *Table) Truncate(n int) {
	t.leaves, t.pages = t.leaves[:n], nil
}

// Seal closes the open leaf: further rows are added to new pages.
func (t *Table) Seal() { t.pages = nil }

// Add adds a row. The row's record is the concatenation of record. The first slice begins with the types of the
// columns.
func (t *Table) Add(p *Pages, id int64, record ...[]byte) {
	var size int64
	for _, b := range record {
		size += int64(len(b))
	}
	inLeaf := local(size, PageSize)
	t.head = appendVarint(appendVarint(t.head[:0], uint64(size)), uint64(id))
	need := len(t.head) + int(inLeaf)
	if inLeaf < size {
		need += pointer
	}
	if t.pages != p || t.free-need < t.begin+leafHead+2*(t.cells+1) {
		t.newLeaf(p)
	}
	t.free -= need
	t.leaves[len(t.leaves)-1].key = id
	page := p.Bytes[t.off : t.off+PageSize]
	put16(page[t.begin+leafHead+2*t.cells:], t.free)
	t.cells++
	put16(page[t.begin+3:], t.cells)
	put16(page[t.begin+5:], t.free)
	at, room := t.off+t.free+copy(page[t.free:], t.head), int(inLeaf)
	link := at + room // offset for the number of the next page
	for _, b := range record {
		for len(b) > 0 {
			if room == 0 {
				number, off := p.add()
				binary.BigEndian.PutUint32(p.Bytes[link:], number)
				link, at, room = off, off+pointer, PageSize-pointer
			}
			n := copy(p.Bytes[at:at+room], b)
			b, at, room = b[n:], at+n, room-n
		}
	}
}

// newLeaf begins a page for rows.
func (t *Table) newLeaf(p *Pages) {
	number, off := p.add()
	t.leaves = append(t.leaves, child[int64]{page: number})
	t.pages, t.off, t.begin, t.cells, t.free = p, off, 0, 0, PageSize
	if number == 1 {
		t.begin = fileHead
	}
	p.Bytes[off+t.begin] = tableLeaf
	put16(p.Bytes[off+t.begin+5:], t.free)
}

// Finish adds the pages above the leaves and returns the number of the root page. It calls spill when p may have many
// pages; spill writes and removes the pages.
func (t *Table) Finish(p *Pages, spill func() error) (root uint32, err error) {
	t.Seal()
	if len(t.leaves) == 0 {
		t.newLeaf(p)
	}
	appendID := func(id int64, b []byte) []byte { return appendVarint(b, uint64(id)) }
	return addInterior(p, tableInterior, t.leaves, pointer+9, appendID, spill)
}

// addInterior adds all pages above a level and returns the number of the root page. A cell, which is a page number and
// a key, has at most cellSize bytes.
func addInterior[K any](p *Pages, kind byte, level []child[K], cellSize int, appendKey func(K, []byte) []byte,
	spill func() error) (root uint32, err error) {
	cell := make([]byte, 0, cellSize)
	for len(level) > 1 {
		var above []child[K]
		for _, children := range divide(level, 1+(PageSize-interiorHead)/(2+cellSize)) {
			number, off := p.add()
			page := p.Bytes[off : off+PageSize]
			free := PageSize
			last := len(children) - 1
			for i, c := range children[:last] {
				cell = appendKey(c.key, binary.BigEndian.AppendUint32(cell[:0], c.page))
				free -= copy(page[free-len(cell):], cell)
				put16(page[interiorHead+2*i:], free)
			}
			page[0] = kind
			put16(page[3:], last)
			put16(page[5:], free)
			binary.BigEndian.PutUint32(page[8:], children[last].page)
			above = append(above, child[K]{number, children[last].key})
			if err := spill(); err != nil {
				return 0, err
			}
		}
		level = above
	}
	return level[0].page, nil
}

// divide divides a list into groups of about equal length. A group has at most maxLen elements.
func divide[T any](list []T, maxLen int) [][]T {
	var groups [][]T
	for n := (len(list) + maxLen - 1) / maxLen; n > 0; n-- {
		k := len(list) / n
		groups, list = append(groups, list[:k]), list[k:]
	}
	return groups
}
