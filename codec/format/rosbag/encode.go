package rosbag

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/dsnet/compress/bzip2"
	"github.com/pierrec/lz4/v4"

	"tapedeck/codec"
)

// fileHeaderSize is the size of the first record: two lengths of 4 bytes, and 4096 bytes of header and data as in ROS.
// Spaces pad the data, so that the record can be rewritten.
const fileHeaderSize = 4 + 4 + 4096

// appendField appends a field of a header.
func appendField[V ~string | ~[]byte](b []byte, name string, value V) []byte {
	b = le.AppendUint32(b, uint32(len(name)+1+len(value)))
	return append(append(append(b, name...), '='), value...)
}

func appendUint32(b []byte, name string, value uint32) []byte {
	return appendField(b, name, le.AppendUint32(nil, value))
}

func appendUint64(b []byte, name string, value uint64) []byte {
	return appendField(b, name, le.AppendUint64(nil, value))
}

// appendTime appends a time in ns.
func appendTime(b []byte, t int64) []byte {
	return le.AppendUint32(le.AppendUint32(b, uint32(t/1e9)), uint32(t%1e9))
}

// appendRecord appends a record whose header and data are appended by the functions.
func appendRecord(b []byte, o op, header, data func([]byte) []byte) []byte {
	sized := func(f func([]byte) []byte) {
		start := len(b)
		b = f(append(b, 0, 0, 0, 0))
		le.PutUint32(b[start:], uint32(len(b)-start-4))
	}
	sized(func(b []byte) []byte { return header(appendField(b, "op", []byte{byte(o)})) })
	sized(data)
	return b
}

// encodeFileHeader returns the first record.
func encodeFileHeader(index int64, conns, chunks int) []byte {
	header := func(b []byte) []byte {
		return appendUint32(appendUint32(appendUint64(b, "index_pos", uint64(index)), "conn_count", uint32(conns)),
			"chunk_count", uint32(chunks))
	}
	padding := 0
	data := func(b []byte) []byte { return append(b, bytes.Repeat([]byte(" "), padding)...) }
	padding = fileHeaderSize - len(appendRecord(nil, opFile, header, data))
	return appendRecord(nil, opFile, header, data)
}

// encodeConnection returns the data of a connection record.
func encodeConnection(c *codec.Channel) []byte {
	sum := c.Metadata[keyMD5]
	if sum == "" {
		sum = "*" // any
		if all, err := ParseDefinitions(c.Type, string(c.Schema.Data)); err == nil &&
			c.Schema.Encoding == codec.SchemaROS1Msg {
			sum = MD5(all, c.Type)
		}
	}
	var definition []byte
	if c.Schema.Encoding == codec.SchemaROS1Msg {
		definition = c.Schema.Data
	}
	latching := c.Metadata[keyLatching]
	// If several connections became one channel, the metadata may come from a connection that does not latch.
	if slices.ContainsFunc(c.QoS, func(q codec.QoS) bool { return q.Durability == codec.TransientLocal }) {
		latching = "true"
	}
	b := appendField(nil, "topic", c.Topic)
	b = appendField(b, "type", c.Type)
	b = appendField(b, keyMD5, sum)
	b = appendField(b, "message_definition", definition)
	switch latching {
	case "true", "1":
		b = appendField(b, keyLatching, "1")
	case "false", "0":
		b = appendField(b, keyLatching, "0")
	}
	for _, key := range slices.Sorted(maps.Keys(c.Metadata)) {
		switch key {
		case "topic", "type", keyMD5, "message_definition", keyLatching, "":
		default:
			if !strings.Contains(key, "=") {
				b = appendField(b, key, c.Metadata[key])
			}
		}
	}
	return b
}

// encodeChunkHead returns the head of a chunk. records are not compressed; stored is their size in the file, in bytes.
func encodeChunkHead(compression string, records []byte, stored int) []byte {
	b := appendRecord(nil, opChunk, func(b []byte) []byte {
		b = appendField(b, "compression", compression)
		b = appendUint32(b, "size", uint32(len(records)))
		return appendUint32(b, crcField, crc32.ChecksumIEEE(records))
	}, func(b []byte) []byte { return b })
	le.PutUint32(b[len(b)-4:], uint32(stored))
	return b
}

// entry is the index entry of a message.
type entry struct {
	time   int64  // ns
	offset uint32 // of the message in the uncompressed records
}

// appendIndex appends the index record of a connection's messages. It sorts entries by time, as ROS expects.
func appendIndex(b []byte, conn uint32, entries []entry) []byte {
	if !slices.IsSortedFunc(entries, byTime) {
		slices.SortStableFunc(entries, byTime)
	}
	return appendRecord(b, opIndex, func(b []byte) []byte {
		return appendUint32(appendUint32(appendUint32(b, "ver", 1), "conn", conn), "count", uint32(len(entries)))
	}, func(b []byte) []byte {
		for _, e := range entries {
			b = le.AppendUint32(appendTime(b, e.time), e.offset)
		}
		return b
	})
}

func byTime(a, b entry) int { return cmp.Compare(a.time, b.time) }

// appendChunkInfo appends the chunk info of c, which is at offset in the file.
func appendChunkInfo(b []byte, offset int64, c *chunk) []byte {
	var counts []byte
	n := uint32(0)
	for conn, entries := range c.entries {
		if len(entries) > 0 {
			counts = le.AppendUint32(le.AppendUint32(counts, uint32(conn)), uint32(len(entries)))
			n++
		}
	}
	return appendRecord(b, opChunkInfo, func(b []byte) []byte {
		b = appendUint64(appendUint32(b, "ver", 1), "chunk_pos", uint64(offset))
		b = appendField(b, "start_time", appendTime(nil, c.span.Start))
		b = appendField(b, "end_time", appendTime(nil, c.span.End))
		return appendUint32(b, "count", n)
	}, func(b []byte) []byte { return append(b, counts...) })
}

// packer compresses chunks.
type packer struct {
	compression string
	writer      io.WriteCloser        // nil: chunks are not compressed
	reset       func(io.Writer) error // makes writer write to another writer
	packed      bytes.Buffer          // result of the last pack
}

// newPacker returns a packer for a compression: none, lz4 or bz2. "" is none.
func newPacker(compression string) (packer, error) {
	switch compression {
	case "", "none":
		return packer{compression: "none"}, nil
	case "lz4":
		// ROS only reads frames of independent blocks with a checksum of the content.
		w := lz4.NewWriter(nil)
		reset := func(to io.Writer) error {
			w.Reset(to)
			return nil
		}
		return packer{compression: compression, writer: w, reset: reset},
			w.Apply(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(true))
	case "bz2":
		w, err := bzip2.NewWriter(nil, &bzip2.WriterConfig{Level: bzip2.BestCompression})
		return packer{compression: compression, writer: w, reset: w.Reset}, err
	}
	return packer{}, fmt.Errorf("a bag has no compression %q; it has none, lz4 and bz2", compression)
}

// pack compresses the records of a chunk. The result is valid until the next call.
func (p *packer) pack(records []byte) ([]byte, error) {
	if p.writer == nil {
		return records, nil
	}
	p.packed.Reset()
	if err := p.reset(&p.packed); err != nil {
		return nil, err
	}
	if _, err := p.writer.Write(records); err != nil {
		return nil, err
	}
	if err := p.writer.Close(); err != nil {
		return nil, err
	}
	return p.packed.Bytes(), nil
}
