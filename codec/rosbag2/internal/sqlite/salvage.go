package sqlite

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// Database reads rows of a database, whatever is damaged of it: it reads the pages of tables, in the order of
// the file, not through the trees that they belong to.
type Database struct {
	file     io.ReaderAt
	size     int64
	pageSize int64
	usable   int64 // bytes of a page
}

// errCut says that the pages of a row do not hold all of it.
var errCut = errors.New("it is cut off: a page of it is damaged")

// NewDatabase returns the database in a file of size bytes. Where the first page is damaged its pages are taken to have
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
		d.pageSize, d.usable = pageSize, pageSize-int64(head[20])
	}
	return d, nil
}

// Cut returns an error if the file is shorter than its first page says. SQLite reads zeros then.
func (d *Database) Cut() error {
	head := make([]byte, fileHead)
	if _, err := d.file.ReadAt(head, 0); err != nil {
		return nil // that is for SQLite to say
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	if string(head[:len(Magic)]) == Magic && bytes.Equal(head[24:28], head[92:96]) && pages*d.pageSize > d.size {
		return fmt.Errorf("it is cut off: it has %d of %d bytes", d.size, pages*d.pageSize)
	}
	return nil
}

// Kind is the kind of a value.
type Kind byte

// The kinds.
const (
	Null Kind = iota
	Integer
	Real
	Text
	Blob
)

// Column is a value of a row.
type Column struct {
	Kind      Kind
	Int       int64 // of an Integer
	off, size int64 // in the record
}

// Row is a row that was found.
type Row struct {
	ID      int64
	Columns []Column
	Place   Place
}

// Place is where a record is.
type Place struct {
	Off  int64 // in the file
	Size int64
}

// maxColumns bounds the columns of rows that are found; bags have up to six.
const maxColumns = 16

// Scan yields the rows of all pages that tables may have. The row is valid until found returns.
func (d *Database) Scan(found func(*Row)) error {
	const atOnce = 1 << 20
	buf := make([]byte, max(atOnce, d.pageSize))
	row := &Row{}
	for off := int64(0); off < d.size; off += int64(len(buf)) {
		n, err := d.file.ReadAt(buf[:min(int64(len(buf)), d.size-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read at 0x%x: %w", off, err)
		}
		for page := int64(0); page+d.pageSize <= int64(n); page += d.pageSize {
			d.rows(buf[page:page+d.pageSize], off+page, row, found)
		}
	}
	return nil
}

// rows yields the rows of the page at off, if it is one with rows.
func (d *Database) rows(page []byte, off int64, row *Row, found func(*Row)) {
	begin := 0
	if off == 0 && bytes.HasPrefix(page, []byte(Magic)) {
		begin = fileHead
	}
	if page[begin] != tableLeaf {
		return
	}
	page = page[:d.usable]
	cells := get16(page[begin+3:])
	pointers := begin + leafHead
	if pointers+2*cells > len(page) {
		return
	}
	for i := range cells {
		cell := get16(page[pointers+2*i:])
		if cell < pointers+2*cells || cell >= len(page) {
			continue
		}
		size, n := varint(page[cell:])
		id, m := varint(page[cell+n:])
		if n == 0 || m == 0 || size > uint64(d.size) {
			continue
		}
		at := cell + n + m
		here := local(int64(size), d.usable)
		end := at + int(here)
		if here < int64(size) {
			end += pointer
		}
		if end > len(page) || !row.parse(page[at:at+int(here)], int64(size)) {
			continue
		}
		row.ID, row.Place = int64(id), Place{off + int64(at), int64(size)}
		found(row)
	}
}

// parse reads the columns of a record of size bytes that begins with b.
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
			c.Kind, c.size = Integer, []int64{0, 1, 2, 3, 4, 6, 8}[kind]
			if off+c.size > int64(len(b)) {
				return false
			}
			c.Int = integer(b[off : off+c.size])
		case kind%2 == 0:
			c.Kind, c.size = Blob, int64((kind-12)/2)
		default:
			c.Kind, c.size = Text, int64((kind-13)/2)
		}
		if off += c.size; off < 0 || off > size {
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

// Check returns an error if pages of a record are missing.
func (d *Database) Check(p Place) error {
	return d.follow(p, func(_, _ int64) error { return nil })
}

// Record appends a record to b.
func (d *Database) Record(p Place, b []byte) ([]byte, error) {
	err := d.follow(p, func(off, n int64) error {
		end := len(b)
		b = append(b, make([]byte, n)...)
		if _, err := d.file.ReadAt(b[end:], off); err != nil {
			return fmt.Errorf("read at 0x%x: %w", off, err)
		}
		return nil
	})
	return b, err
}

// follow yields the pieces of a record.
func (d *Database) follow(p Place, piece func(off, n int64) error) error {
	n := local(p.Size, d.usable)
	link := p.Off + n
	off, rest := p.Off, p.Size
	var next [pointer]byte
	for {
		if err := piece(off, n); err != nil {
			return err
		}
		rest -= n
		if rest == 0 && p.Size == local(p.Size, d.usable) {
			return nil
		}
		if _, err := d.file.ReadAt(next[:], link); err != nil {
			return fmt.Errorf("read at 0x%x: %w", link, err)
		}
		page := int64(binary.BigEndian.Uint32(next[:]))
		if rest == 0 && page == 0 {
			return nil
		}
		if rest == 0 || page < 2 || page*d.pageSize > d.size {
			return errCut
		}
		link = (page - 1) * d.pageSize
		off, n = link+pointer, min(rest, d.usable-pointer)
	}
}

// Value returns the bytes of a Text or a Blob of the record.
func (c *Column) Value(record []byte) []byte { return record[c.off : c.off+c.size] }

// Last returns the bytes of the last value of a record, a Text or a Blob.
func Last(record []byte) []byte {
	var r Row
	if !r.parse(record, int64(len(record))) || len(r.Columns) == 0 {
		return nil
	}
	c := &r.Columns[len(r.Columns)-1]
	return c.Value(record)
}
