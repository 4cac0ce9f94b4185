package sqlite

import (
	"encoding/binary"
	"math"
)

// Entry is an entry of an index over a column of integers.
type Entry struct{ Value, ID int64 }

const entrySize = 1 + 3 + 8 + 8 // bytes of a cell without children

// appendTo appends the cell of an entry.
func (e Entry) appendTo(b []byte) []byte {
	b = append(b, entrySize-1, 3, typeInt64, typeInt64)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, uint64(e.Value)), uint64(e.ID))
}

// Index adds an index of n entries to p, and returns the number of the root page. next returns the entries in ascending
// order. Index calls spill when p may have many pages; spill writes and removes the pages.
func Index(p *Pages, n int64, next func() Entry, spill func() error) (root uint32, err error) {
	const most = (PageSize - leafHead) / (2 + entrySize) // entries of a page without children
	leaves := (n + 1 + most) / (most + 1)
	level := make([]child[Entry], 0, leaves)
	cell := make([]byte, 0, pointer+entrySize)
	for ; leaves > 0; leaves-- {
		count := int((n - (leaves - 1)) / leaves) // one more entry lies between this page and the next
		number, off := p.add()
		page := p.Bytes[off : off+PageSize]
		free := PageSize
		for i := range count {
			cell = next().appendTo(cell[:0])
			free -= copy(page[free-len(cell):], cell)
			put16(page[leafHead+2*i:], free)
		}
		page[0] = indexLeaf
		put16(page[3:], count)
		put16(page[5:], free)
		n -= int64(count)
		b := child[Entry]{page: number}
		if leaves > 1 {
			b.key = next()
			n--
		}
		level = append(level, b)
		if err := spill(); err != nil {
			return 0, err
		}
	}
	return addInterior(p, indexInterior, level, pointer+entrySize, Entry.appendTo, spill)
}

// IndexSize returns an upper bound of the bytes of an index of n entries, and of the pages above leaves of a table.
func IndexSize(n int64, leaves int) int64 {
	return min(n, math.MaxInt64/64)*(entrySize+4) + int64(leaves)*(pointer+16) + 8*PageSize
}
