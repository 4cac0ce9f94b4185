package rosbag

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
)

// bag builds a bag record by record.
type bag struct {
	bytes.Buffer
	index         []byte // encoded records of the index
	conns, chunks int
}

// field returns a field of a header.
func field(name string, value any) []byte {
	var v []byte
	switch value := value.(type) {
	case string:
		v = []byte(value)
	case op:
		v = []byte{byte(value)}
	case uint32:
		v = le.AppendUint32(nil, value)
	case uint64:
		v = le.AppendUint64(nil, value)
	case int64: // a time in ns
		v = le.AppendUint32(le.AppendUint32(nil, uint32(value/1e9)), uint32(value%1e9))
	default:
		panic(fmt.Sprintf("%T", value))
	}
	b := le.AppendUint32(nil, uint32(len(name)+1+len(v)))
	return append(append(append(b, name...), '='), v...)
}

// testRecord returns a record. fields are the names and values of its header in turn.
func testRecord(data []byte, fields ...any) []byte {
	var head []byte
	for i := 0; i < len(fields); i += 2 {
		head = append(head, field(fields[i].(string), fields[i+1])...)
	}
	b := append(le.AppendUint32(nil, uint32(len(head))), head...)
	return append(le.AppendUint32(b, uint32(len(data))), data...)
}

// testMessage returns a message record.
func testMessage(conn uint32, time int64, data string) []byte {
	return testRecord([]byte(data), "op", opMessage, "conn", conn, "time", time)
}

// testConnection returns the connection record of a std_msgs/String. fields are names and values of more fields of its
// data in turn.
func testConnection(conn uint32, topic string, fields ...any) []byte {
	var head []byte
	for i := 0; i < len(fields); i += 2 {
		head = append(head, field(fields[i].(string), fields[i+1])...)
	}
	head = append(head, field("type", "std_msgs/String")...)
	head = append(head, field("md5sum", "992ce8a1687cec8c8bd883ec73ca41d1")...)
	head = append(head, field("message_definition", "string data\n")...)
	return testRecord(head, "op", opConnection, "conn", conn, "topic", topic)
}

// newBag returns a bag with a file header.
func newBag() *bag {
	b := &bag{}
	b.WriteString(version2)
	b.Write(testFileHeader(0, 0, 0))
	return b
}

// testFileHeader returns the padded first record.
func testFileHeader(index, conns, chunks int) []byte {
	head := func(padding []byte) []byte {
		return testRecord(padding, "op", opFile, "index_pos", uint64(index), "conn_count", uint32(conns), "chunk_count",
			uint32(chunks))
	}
	return head(bytes.Repeat([]byte(" "), fileHeaderSize-len(head(nil))))
}

// chunk adds a chunk, and its entries to the index. stored are the records as they are in the file.
func (b *bag) chunk(compression string, records, stored []byte) {
	offset := b.Len()
	b.Write(testRecord(stored, "op", opChunk, "compression", compression, "size", uint32(len(records))))
	start, end := int64(1<<62), int64(0)
	var conns []uint32
	counts, entries := map[uint32]uint32{}, map[uint32][]byte{}
	for off := 0; off < len(records); {
		h, _, next := cutRecord(records, off)
		switch h.op {
		case opMessage:
			start, end = min(start, h.time), max(end, h.time)
			counts[h.conn]++
			if counts[h.conn] == 1 {
				conns = append(conns, h.conn)
			}
			entries[h.conn] = le.AppendUint32(append(entries[h.conn], h.get("time")...), uint32(off))
		case opConnection:
			b.connection(records[off:next])
		}
		off = next
	}
	var list []byte
	for _, conn := range conns {
		b.Write(testRecord(entries[conn], "op", opIndex, "ver", uint32(1), "conn", conn, "count", counts[conn]))
		list = le.AppendUint32(le.AppendUint32(list, conn), counts[conn])
	}
	b.chunks++
	b.index = append(b.index, testRecord(list, "op", opChunkInfo, "ver", uint32(1), "chunk_pos", uint64(offset),
		"start_time", start, "end_time", end, "count", uint32(len(conns)))...)
}

// connection puts a connection record at the front of the index.
func (b *bag) connection(record []byte) {
	b.conns++
	b.index = append(bytes.Clone(record), b.index...)
}

// close writes the index and returns the bytes of the bag.
func (b *bag) close() []byte {
	at := b.Len()
	b.Write(b.index)
	all := b.Bytes()
	copy(all[len(version2):], testFileHeader(at, b.conns, b.chunks))
	return all
}

func writeFile(t testing.TB, content []byte) string {
	path := filepath.Join(t.TempDir(), "a.bag")
	require.NoError(t, os.WriteFile(path, content, 0o666))
	return path
}

func openMemory(t testing.TB, content []byte) *reader {
	r, err := newReader(codectest.NewFile(content), int64(len(content)), "a.bag")
	require.NoError(t, err)
	return r
}

var collect, readAll = codectest.Collect, codectest.Read

// texts returns the contents of messages.
func texts(all []codec.Message) []string {
	list := []string{}
	for _, m := range all {
		list = append(list, string(m.Data))
	}
	return list
}
