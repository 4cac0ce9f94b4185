package sqlite

import "encoding/binary"

// Pages are consecutive pages of a database that have not been written.
type Pages struct {
	First uint32 // number of the first page; a file begins with page 1
	Bytes []byte
}

// Next returns the number of the next page to be added.
func (p *Pages) Next() uint32 { return p.First + uint32(len(p.Bytes)/PageSize) }

var zeros [PageSize]byte

// add adds a page of zeros. It returns the page's number and offset in Bytes. It skips the page of SQLite's locks.
func (p *Pages) add() (number uint32, off int) {
	if p.Next() == lockByte/PageSize+1 {
		p.Bytes = append(p.Bytes, zeros[:]...)
	}
	number, off = p.Next(), len(p.Bytes)
	p.Bytes = append(p.Bytes, zeros[:]...)
	return number, off
}

// Header returns the first page of a database with the given number of pages, tables and indexes.
func Header(pages uint32, objects []Object) []byte {
	p := Pages{First: 1}
	var list Table
	for i, o := range objects {
		list.Add(&p, int64(i+1), Record(o.Type, o.Name, o.Table, int64(o.Root), o.SQL))
	}
	if len(objects) == 0 {
		list.newLeaf(&p)
	}
	b := p.Bytes[:PageSize]
	copy(b, Magic)
	put16(b[16:], PageSize)
	copy(b[18:], []byte{1, 1, 0, 64, 32, 32})
	for off, v := range map[int]uint32{
		24: 1, // changes to the file
		28: pages,
		40: 1, // changes to the tables
		44: 4, // of the format of records
		56: 1, // UTF-8
		92: 1, // change after which the number of pages was right
		96: 3_040_000,
	} {
		binary.BigEndian.PutUint32(b[off:], v)
	}
	return b
}

// Record returns a record of up to ten columns: nil, int64 or string.
func Record(columns ...any) []byte {
	var types, values []byte
	for _, column := range columns {
		switch v := column.(type) {
		case nil:
			types = append(types, typeNull)
		case int64:
			types = append(types, typeInt64)
			values = binary.BigEndian.AppendUint64(values, uint64(v))
		case string:
			types = appendVarint(types, uint64(13+2*len(v)))
			values = append(values, v...)
		}
	}
	return append(append([]byte{byte(len(types) + 1)}, types...), values...)
}

// AppendHead appends the record of a bag's message up to the payload. The columns are the message's id, which is NULL
// because it is the row's id, the topic's id, which is below 1<<31, and the time. size is the size of the payload.
func AppendHead(b []byte, topic, time int64, size int) []byte {
	begin := len(b)
	b = append(b, 0, typeNull, typeInt8, typeInt64)
	if topic > 1<<7-1 {
		b[begin+2] = typeInt16
	}
	if topic > 1<<15-1 {
		b[begin+2] = typeInt32
	}
	kind := b[begin+2]
	b = appendVarint(b, uint64(12+2*size))
	b[begin] = byte(len(b) - begin)
	switch kind {
	case typeInt8:
		b = append(b, byte(topic))
	case typeInt16:
		b = binary.BigEndian.AppendUint16(b, uint16(topic))
	default:
		b = binary.BigEndian.AppendUint32(b, uint32(topic))
	}
	return binary.BigEndian.AppendUint64(b, uint64(time))
}
