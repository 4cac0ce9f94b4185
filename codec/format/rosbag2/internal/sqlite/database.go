package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
)

// Database reads a database. It is not for concurrent use, except for Table, Rows and Entries.
type Database struct {
	file     io.ReaderAt
	head     []byte // the first bytes of the file
	size     int64  // bytes of the file
	pageSize int64
	usable   int64 // bytes of a page that trees use

	cache [cachedPages]cachedPage
	next  int // index in cache of the next page to replace
	row   Row // result of Find
}

// cachedPages is the number of pages in the cache: several paths through a tree.
const cachedPages = 16

// cachedPage is a page that was read.
type cachedPage struct {
	off  int64 // in the file
	data []byte
}

// errCut is returned if the pages of a row do not hold the whole row.
var errCut = errors.New("the row is cut off: one of its pages is damaged")

// NewDatabase returns the database in a file of size bytes. If the first page is damaged, pages are assumed to have
// PageSize.
func NewDatabase(file io.ReaderAt, size int64) (*Database, error) {
	d := &Database{file: file, size: size, pageSize: PageSize, usable: PageSize}
	head := make([]byte, fileHead)
	if _, err := file.ReadAt(head, 0); err != nil {
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		return nil, err
	}
	pageSize := int64(get16(head[16:]))
	if pageSize == 1 {
		pageSize = 1 << 16
	}
	if string(head[:len(Magic)]) == Magic && pageSize >= 512 && bits.OnesCount64(uint64(pageSize)) == 1 &&
		pageSize-int64(head[20]) >= 480 {
		d.head, d.pageSize, d.usable = head, pageSize, pageSize-int64(head[20])
	}
	return d, nil
}

// Cut returns an error if the file is shorter than its first page says.
func (d *Database) Cut() error {
	if d.head == nil {
		return nil
	}
	pages := int64(binary.BigEndian.Uint32(d.head[28:]))
	if bytes.Equal(d.head[24:28], d.head[92:96]) && pages*d.pageSize > d.size {
		return fmt.Errorf("cut off: %d of %d bytes", d.size, pages*d.pageSize)
	}
	return nil
}

// Unused reports whether the file has unused pages, as after rows were deleted.
func (d *Database) Unused() bool { return d.head != nil && binary.BigEndian.Uint32(d.head[36:]) > 0 }

// Kind is the kind of a value.
type Kind byte

// The kinds.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
	Elsewhere // an Integer in a part of the record on another page
)

// Column is a value of a row.
type Column struct {
	Kind      Kind
	Int       int64 // of an Integer
	off, size int64 // in the record
}

// Row is a row of a table.
type Row struct {
	ID      int64
	Columns []Column
	Place   Place
}

// Place is the position of a record.
type Place struct {
	Off  int64 // in the file
	Size int64
}

// maxColumns is the maximum number of columns; bags have up to six.
const maxColumns = 16

// Scan calls found with the rows of all pages that may be leaves of tables, in the order of the file, even if other
// pages are damaged. The row is valid until found returns.
func (d *Database) Scan(found func(*Row)) error {
	const atOnce = 1 << 20
	buf := make([]byte, max(atOnce, d.pageSize))
	row := &Row{}
	for off := int64(0); off < d.size; off += int64(len(buf)) {
		n, err := d.file.ReadAt(buf[:min(int64(len(buf)), d.size-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read at 0x%x: %w", off, err)
		}
		for at := int64(0); at+d.pageSize <= int64(n); at += d.pageSize {
			if p, ok := d.parsePage(buf[at:at+d.pageSize], off+at); ok && p.kind == tableLeaf {
				d.rows(p, row, found)
			}
		}
	}
	return nil
}

// page is a page of a tree.
type page struct {
	off   int64  // in the file
	bytes []byte // the bytes that trees use
	begin int    // offset of the head in bytes
	kind  byte   // tableLeaf, …
	cells int    // number of cells
}

// parsePage returns the page at off, if it may belong to a tree.
func (d *Database) parsePage(b []byte, off int64) (page, bool) {
	p := page{off: off, bytes: b[:d.usable]}
	if off == 0 && bytes.HasPrefix(b, []byte(Magic)) {
		p.begin = fileHead
	}
	p.kind, p.cells = b[p.begin], get16(b[p.begin+3:])
	known := p.kind == tableLeaf || p.kind == tableInterior || p.kind == indexLeaf || p.kind == indexInterior
	return p, known && p.front() <= len(p.bytes)
}

// leaf reports whether p has no pages below it.
func (p *page) leaf() bool { return p.kind == tableLeaf || p.kind == indexLeaf }

// pointers returns the position of the first cell's offset.
func (p *page) pointers() int {
	if p.leaf() {
		return p.begin + leafHead
	}
	return p.begin + interiorHead
}

// front returns the position behind the last cell's offset.
func (p *page) front() int { return p.pointers() + 2*p.cells }

// cell returns the offset of a cell, or 0 if the offset is invalid.
func (p *page) cell(i int) int {
	at := get16(p.bytes[p.pointers()+2*i:])
	if at < p.front() || at >= len(p.bytes) {
		return 0
	}
	return at
}

// rows calls found with the rows of a leaf of a table.
func (d *Database) rows(p page, row *Row, found func(*Row)) {
	for i := range p.cells {
		if d.parseRow(p, i, row) {
			found(row)
		}
	}
}

// parseRow parses the row of cell i.
func (d *Database) parseRow(p page, i int, row *Row) bool {
	cell := p.cell(i)
	size, n := varint(p.bytes[cell:])
	id, m := varint(p.bytes[cell+n:])
	if cell == 0 || n == 0 || m == 0 || size > uint64(d.size) {
		return false
	}
	at := cell + n + m
	inLeaf := local(int64(size), d.usable)
	end := at + int(inLeaf)
	if inLeaf < int64(size) {
		end += pointer
	}
	if end > len(p.bytes) || !row.parse(p.bytes[at:at+int(inLeaf)], int64(size)) {
		return false
	}
	row.ID, row.Place = int64(id), Place{p.off + int64(at), int64(size)}
	return true
}

// parse parses the columns of a record of size bytes. b is the beginning of the record.
func (r *Row) parse(b []byte, size int64) bool {
	head, n := varint(b)
	if n == 0 || head > uint64(len(b)) || head < uint64(n) {
		return false
	}
	r.Columns = r.Columns[:0]
	off := int64(head)
	for types := b[n:head]; len(types) > 0; {
		kind, n := varint(types)
		if n == 0 || len(r.Columns) == maxColumns || kind == 10 || kind == 11 {
			return false
		}
		types = types[n:]
		c := Column{off: off}
		switch {
		case kind == typeNull:
		case kind == 7:
			c.Kind, c.size = Real, 8
		case kind == 8 || kind == 9:
			c.Kind, c.Int = Integer, int64(kind-8)
		case kind < 7:
			c.Kind, c.size = Elsewhere, []int64{0, 1, 2, 3, 4, 6, 8}[kind]
			if off+c.size <= int64(len(b)) {
				c.Kind, c.Int = Integer, integer(b[off:off+c.size])
			}
		case kind%2 == 0:
			c.Kind, c.size = Blob, int64((kind-12)/2)
		default:
			c.Kind, c.size = Text, int64((kind-13)/2)
		}
		off += c.size
		if off < 0 || off > size {
			return false
		}
		r.Columns = append(r.Columns, c)
	}
	return off == size
}

// integer returns the number in b, the highest byte first.
func integer(b []byte) int64 {
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}

// read returns the page at off. The page is valid until other pages are read.
func (d *Database) read(off int64) ([]byte, error) {
	for i := range d.cache {
		if c := &d.cache[i]; c.off == off && len(c.data) > 0 {
			return c.data, nil
		}
	}
	c := &d.cache[d.next]
	d.next = (d.next + 1) % cachedPages
	data := slices.Grow(c.data[:0], int(d.pageSize))[:d.pageSize]
	c.data = data[:0] // the buffer is invalid after an error
	if _, err := d.file.ReadAt(data, off); err != nil {
		return nil, fmt.Errorf("read at 0x%x: %w", off, err)
	}
	c.off, c.data = off, data
	return data, nil
}

// maxRun is the maximum number of pages of a record that are read at once.
const maxRun = 64

// Record appends a record to b. A large record continues on other pages, which are mostly consecutive.
func (d *Database) Record(p Place, b []byte) ([]byte, error) {
	off := p.Off - p.Off%d.pageSize
	first, err := d.read(off)
	if err != nil {
		return b, err
	}
	inLeaf := local(p.Size, d.usable)
	rest := p.Size - inLeaf
	first = first[p.Off-off:]
	b = append(b, first[:inLeaf]...)
	if rest == 0 {
		return b, nil
	}
	number := int64(binary.BigEndian.Uint32(first[inLeaf:]))
	content := d.usable - pointer
	for run := int64(1); rest > 0; run = min(2*run+1, maxRun) {
		n := min(run, (rest+content-1)/content, d.size/d.pageSize-number+1)
		if number < 2 || n < 1 {
			return b, errCut
		}
		b = slices.Grow(b, int(n*d.pageSize))
		pages := b[len(b):][:n*d.pageSize]
		off := (number - 1) * d.pageSize
		if _, err := d.file.ReadAt(pages, off); err != nil {
			return b, fmt.Errorf("read at 0x%x: %w", off, err)
		}
		for ; len(pages) > 0; pages = pages[d.pageSize:] {
			next := int64(binary.BigEndian.Uint32(pages))
			n := min(rest, content)
			b = append(b, pages[pointer:pointer+n]...) // overwrites only bytes before the next page
			rest -= n
			number++
			if next != number {
				number, run = next, 0
				break
			}
		}
	}
	if number != 0 {
		return b, errCut
	}
	return b, nil
}

// Value returns the bytes of a Text or a Blob of the record.
func (c *Column) Value(record []byte) []byte { return record[c.off : c.off+c.size] }

// Parse parses the columns of a record.
func (r *Row) Parse(record []byte) bool { return r.parse(record, int64(len(record))) }

// Text returns a value of the record as text.
func (d *Database) Text(c *Column, record []byte) string {
	value := c.Value(record)
	switch c.Kind {
	case Null:
		return ""
	case Integer:
		return strconv.FormatInt(c.Int, 10)
	case Real:
		return strconv.FormatFloat(math.Float64frombits(binary.BigEndian.Uint64(value)), 'g', -1, 64)
	case Blob:
		return string(value)
	}
	const utf16LE, utf16BE = 2, 3
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case d.head != nil && d.head[59] == utf16LE:
	case d.head != nil && d.head[59] == utf16BE:
		order = binary.BigEndian
	default:
		return string(value)
	}
	units := make([]uint16, len(value)/2)
	for i := range units {
		units[i] = order.Uint16(value[2*i:])
	}
	return string(utf16.Decode(units))
}
