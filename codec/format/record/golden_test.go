package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/codectest"
	"tapedeck/test/samples"
)

// sample returns the path of a real file, or skips the test.
func sample(t testing.TB, name string) string {
	return samples.Path(t, "apollo/"+name)
}

// recode decodes and encodes a message.
func recode(t *testing.T, b []byte, m proto.Message) []byte {
	require.NoError(t, proto.Unmarshal(b, m))
	require.Empty(t, m.ProtoReflect().GetUnknown())
	return encode(m)
}

// recodeIndex decodes and encodes the entries of an Index.
func recodeIndex(t *testing.T, b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		number, _, n := protowire.ConsumeTag(b)
		require.EqualValues(t, 1, number)
		entry, m := protowire.ConsumeBytes(b[n:])
		b = b[n+m:]
		out = appendBytes(out, 1, recode(t, entry, &recordpb.SingleIndex{}))
	}
	return out
}

// recodeBody reads and writes the messages of a ChunkBody with the code of reader and writer.
func recodeBody(t *testing.T, b []byte) []byte {
	w := encoder{}
	win := chunked.Window{File: bytes.NewReader(b), Size: int64(len(b))}
	var m singleMessage
	for pos := int64(0); pos < win.Size; pos = m.end {
		require.NoError(t, readMessage(&win, pos, &m))
		own := &writerChannel{prefix: append(appendBytes(nil, 1, m.name), timeTag)}
		data := b[m.content : m.content+int64(m.size)]
		w.appendHead(own, &codec.Message{LogTime: m.time, PublishTime: m.publish, Data: data})
		w.chunk.body.Buf = append(w.chunk.body.Buf, data...)
	}
	return w.chunk.body.Buf
}

// Decoding and encoding a file of Apollo's writer yields equal bytes.
func TestRecode(t *testing.T) {
	for _, name := range []string{
		"example.record.00000", "apollo_cpp_sensors.record", "multichunk.record", "seg_emptytail.record.00000",
		"seg_emptytail.record.00001", "incomplete_killed.record", "ooo_chunks.record", "synthetic_genB_endpos.record",
	} {
		t.Run(name, func(t *testing.T) {
			file, err := os.ReadFile(sample(t, name))
			require.NoError(t, err)
			var out []byte
			for pos := 0; pos < len(file); {
				s := parseSection(file[pos:])
				payload := file[pos+sectionSize : pos+sectionSize+int(s.size)]
				pos += sectionSize + int(s.size)
				out = s.append(out)
				switch s.typ {
				case headerSection:
					out = append(append(out, recode(t, payload, &recordpb.Header{})...), '0')
					out = append(out, make([]byte, firstSection-len(out))...)
					pos = firstSection
				case chunkHeaderSection:
					out = append(out, recode(t, payload, &recordpb.ChunkHeader{})...)
				case chunkBodySection:
					out = append(out, recodeBody(t, payload)...)
				case indexSection:
					out = append(out, recodeIndex(t, payload)...)
				case channelSection:
					out = append(out, recodeChannel(t, payload)...)
				}
			}
			require.True(t, bytes.Equal(file, out))
		})
	}
}

// recodeChannel decodes and encodes a Channel by way of codec.Channel.
func recodeChannel(t *testing.T, b []byte) []byte {
	var c recordpb.Channel
	require.Equal(t, b, recode(t, b, &c))
	return encode(wireChannel(newChannel(c.GetName(), c.GetMessageType(), c.ProtoDesc), c.GetName()))
}

// Given the channels, messages and sizes of a file of Apollo's writer, our writer writes an identical file.
func TestWriteLikeApollo(t *testing.T) {
	for _, test := range []struct {
		file   string
		chunk  int
		from   int  // offset from which files are compared: the recorder, not the writer, fills the segment fields
		killed bool // the writer was killed after the last chunk
	}{
		{"multichunk.record", 10000, 0, false},
		{"apollo_cpp_sensors.record", 200 << 20, 0, false},
		{"incomplete_killed.record", 10000, 0, true},
		{"example.record.00000", 200 << 20, firstSection, false},
		{"seg_emptytail.record.00001", 200 << 20, firstSection, false},
	} {
		t.Run(test.file, func(t *testing.T) {
			r := openAt(t, sample(t, test.file))
			path := filepath.Join(t.TempDir(), "copy.record")
			w, err := create(path, codec.CreateOptions{ChunkSize: test.chunk, ChunkDuration: 20 * time.Second})
			require.NoError(t, err)
			codectest.Copy(t, w, r)
			if test.killed {
				path += codec.ActiveSuffix
			} else {
				require.NoError(t, w.Close())
			}
			want, err := os.ReadFile(sample(t, test.file))
			require.NoError(t, err)
			have, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want[test.from:], have[test.from:]))
		})
	}
}
