package rosbag

import (
	"bytes"
	"encoding/binary"
)

// le is the byte order of all numbers in a bag.
var le = binary.LittleEndian

// op is the kind of a record.
type op byte

const (
	opDefinition op = 1 // of a type, in version 1.2
	opMessage    op = 2
	opFile       op = 3
	opIndex      op = 4 // of the messages of a connection in a chunk
	opChunk      op = 5
	opChunkInfo  op = 6
	opConnection op = 7
)

func (o op) String() string {
	names := [...]string{"?", "definition", "message", "file header", "index", "chunk", "chunk info", "connection"}
	if int(o) >= len(names) {
		o = 0
	}
	return names[o] + " record"
}

// header is the header of a record: fields of the form name=value, each after its length in 4 bytes.
type header struct {
	fields []byte // as in the file
	op     op
	conn   uint32 // number of the connection, if hasConn
	time   int64  // ns, if hasTime, or hasSec and hasNsec
	has    int    // flags of the fields that exist
}

// Flags of header.has.
const (
	hasConn = 1 << iota
	hasTime
	hasSec
	hasNsec
	hasOp
)

// parseHeader parses all fields. It returns false if the fields are not well formed or op is missing.
func parseHeader(fields []byte) (header, bool) {
	h := header{fields: fields}
	for len(fields) > 0 {
		name, value, rest, ok := cutField(fields)
		if !ok {
			return h, false
		}
		switch {
		case len(value) == 1 && string(name) == "op":
			h.op = op(value[0])
			h.has |= hasOp
		case len(value) == 4 && string(name) == "conn":
			h.conn = le.Uint32(value)
			h.has |= hasConn
		case len(value) == 8 && string(name) == "time":
			h.time = parseTime(value)
			h.has |= hasTime
		case len(value) == 4 && string(name) == "sec": // version 1.2
			h.time += int64(le.Uint32(value)) * 1e9
			h.has |= hasSec
		case len(value) == 4 && string(name) == "nsec":
			h.time += int64(le.Uint32(value))
			h.has |= hasNsec
		}
		fields = rest
	}
	return h, h.has&hasOp != 0
}

// isMessage reports whether h is the header of a message and has all required fields.
func (h *header) isMessage() bool {
	const v1 = hasSec | hasNsec
	return h.op == opMessage && (h.has&(hasConn|hasTime) == hasConn|hasTime || h.has&v1 == v1)
}

// cutField returns the first field, and the rest.
func cutField(fields []byte) (name, value, rest []byte, ok bool) {
	if len(fields) < 4 {
		return nil, nil, nil, false
	}
	n := le.Uint32(fields)
	fields = fields[4:]
	if uint64(n) > uint64(len(fields)) {
		return nil, nil, nil, false
	}
	i := bytes.IndexByte(fields[:n], '=')
	if i < 1 {
		return nil, nil, nil, false
	}
	return fields[:i], fields[i+1 : n], fields[n:], true
}

// get returns the value of a field, or nil if there is none.
func (h *header) get(name string) []byte {
	for fields := h.fields; len(fields) > 0; {
		n, value, rest, ok := cutField(fields)
		if !ok {
			break
		}
		if string(n) == name {
			return value
		}
		fields = rest
	}
	return nil
}

// uint32 returns the value of a field of 4 bytes, and whether it exists.
func (h *header) uint32(name string) (uint32, bool) {
	if b := h.get(name); len(b) == 4 {
		return le.Uint32(b), true
	}
	return 0, false
}

// uint64 returns the value of a field of 8 bytes, and whether it exists.
func (h *header) uint64(name string) (uint64, bool) {
	if b := h.get(name); len(b) == 8 {
		return le.Uint64(b), true
	}
	return 0, false
}

// parseTime returns a time in ns.
func parseTime(b []byte) int64 {
	return int64(le.Uint32(b))*1e9 + int64(le.Uint32(b[4:]))
}

// cutRecord returns the header and the data of the record at off, and the offset of the next record, or -1 if the
// record is not whole.
func cutRecord(records []byte, off int) (header, []byte, int) {
	rest := records[off:]
	if len(rest) < 4 {
		return header{}, nil, -1
	}
	n := le.Uint32(rest)
	rest = rest[4:]
	if uint64(n)+4 > uint64(len(rest)) {
		return header{}, nil, -1
	}
	h, ok := parseHeader(rest[:n])
	size := le.Uint32(rest[n:])
	rest = rest[n+4:]
	if !ok || uint64(size) > uint64(len(rest)) {
		return header{}, nil, -1
	}
	return h, rest[:size], off + 4 + int(n) + 4 + int(size)
}

// messageRecord is a message of version 2.0 with only the required fields, as in nearly all bags.
type messageRecord struct {
	conn uint32
	time int64
	data []byte
	next int // offset of the next record
}

// The fields of a message, in the order of rosbag record.
const (
	connField = "\x09\x00\x00\x00conn="
	opField   = "\x04\x00\x00\x00op=\x02"
	timeField = "\x0d\x00\x00\x00time="

	messageFields = len(connField) + 4 + len(opField) + len(timeField) + 8
)

// cutMessage is a fast cutRecord for messages. It returns false for other records, for incomplete records, and for
// other orders of fields.
func cutMessage(records []byte, off int) (m messageRecord, ok bool) {
	const size = 4 + messageFields + 4
	b := records[off:]
	if len(b) < size || le.Uint32(b) != uint32(messageFields) ||
		string(b[4+messageFields-8-len(timeField):][:len(timeField)]) != timeField {
		return m, false
	}
	switch {
	case string(b[4:][:len(connField)]) == connField && string(b[8+len(connField):][:len(opField)]) == opField:
		m.conn = le.Uint32(b[4+len(connField):])
	case string(b[4:][:len(opField)+len(connField)]) ==
		opField+connField: // the order of ROS's Python library, and of ours
		m.conn = le.Uint32(b[4+len(opField)+len(connField):])
	default:
		return m, false
	}
	n := le.Uint32(b[size-4:])
	if uint64(n) > uint64(len(b)-size) {
		return m, false
	}
	m.time = parseTime(b[4+messageFields-8:])
	m.data = b[size : size+int(n)]
	m.next = off + size + int(n)
	return m, true
}
