package record

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/output"
)

// Reading time must grow with the size of a file, not with its square: otherwise these tests would not end.

// tinyChunks returns a file of count chunks with one message each.
func tinyChunks(count int, header func(time int64) *recordpb.ChunkHeader) []byte {
	b := make([]byte, firstSection)
	for i := range count {
		time := int64(i + 1)
		if header != nil {
			b = append(b, sectionOf(chunkHeaderSection, header(time))...)
		}
		var w encoder
		w.appendHead(&writerChannel{prefix: append(appendBytes(nil, 1, "/a"), timeTag)}, &codec.Message{LogTime: time})
		b = append(section{chunkBodySection, int64(len(w.chunk.body.Buf))}.append(b), w.chunk.body.Buf...)
	}
	copy(b, sectionOf(headerSection, newEncoder("", codec.CreateOptions{}).header))
	return b
}

func TestTinyChunks(t *testing.T) {
	count := 1 << 16
	if testing.Short() {
		count = 1 << 12
	}
	for name, header := range map[string]func(int64) *recordpb.ChunkHeader{
		"in order": func(time int64) *recordpb.ChunkHeader {
			return newChunkHeader(output.Span{Messages: 1, Start: time, End: time}, 0)
		},
		"without header": nil,
		"whose header lies": func(time int64) *recordpb.ChunkHeader {
			return newChunkHeader(output.Span{Messages: 1 << 40, Start: time, End: time}, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			it, err := openBytes(t, tinyChunks(count, header)).Read(codec.Query{})
			require.NoError(t, err)
			defer func() { require.NoError(t, it.Close()) }()
			want := count
			if name == "whose header lies" {
				_, err = it.Next()
				require.NoError(t, err)
				_, err = it.Next()
				require.ErrorIs(t, err, ErrDamaged)
				return
			}
			for i := range want {
				m, err := it.Next()
				require.NoError(t, err)
				if m.LogTime != int64(i+1) {
					require.EqualValues(t, i+1, m.LogTime)
				}
			}
		})
	}
}

// TestAlmostMessages searches data in which every place looks like the beginning of a message.
func TestAlmostMessages(t *testing.T) {
	size := int64(2 << 20)
	if testing.Short() {
		size = 64 << 10
	}
	b := tinyChunks(1, nil)
	whole := len(b)
	// Field 3 has five bytes. Within them a message of that size begins, whose first field is the next field 3.
	b = append(b, bytes.Repeat([]byte{0x1a, 0x05, 0x0a, 0x80, 0x80 | byte(size>>7), 0x80 | byte(size>>14),
		byte(size >> 21), 0x0a, 0x00}, int(size/9))...)
	// These sections are channels except for their last byte.
	for range size / 32 {
		b = section{channelSection, size / 2}.append(b)
		b = append(b, 0x0a, 0x01, 'a', 0x1a)
		b = protowire.AppendVarint(b, uint64(size/2-3-4-5))
		b = append(b, make([]byte, 32-24)...)
	}
	r := openBytes(t, b)
	info, err := r.Info()
	require.NoError(t, err)
	require.EqualValues(t, 1, info.MessageCount)
	require.NotEmpty(t, info.Events)
	require.Greater(t, len(b), whole)
}

// TestProtoDescThroughChain has files whose imports fan out without end. They are first reached at the greatest depth.
func TestProtoDescThroughChain(t *testing.T) {
	var set fileSet
	add := func(name, message string, imports ...string) {
		f := &descriptorpb.FileDescriptorProto{Name: &name, Dependency: imports}
		if message != "" {
			f.MessageType = []*descriptorpb.DescriptorProto{{Name: &message}}
		}
		raw, err := proto.Marshal(f)
		require.NoError(t, err)
		set = append(set, parseProtoFile(raw))
	}
	const fan = 50
	for i := range fan {
		add(fmt.Sprint("fan", i), "", fmt.Sprint("fan", i+1), fmt.Sprint("fan", i+1))
	}
	add(fmt.Sprint("fan", fan), "")
	for i := range maxDescDepth - 2 {
		next := fmt.Sprint("chain", i+1)
		if i == maxDescDepth-3 {
			next = "fan0"
		}
		add(fmt.Sprint("chain", i), "", next)
	}
	add("root", "Root", "chain0", "fan0")
	require.Less(t, len(set.protoDesc("Root")), 1<<20)
}

// TestManyFiles reads a proto_desc of very many files.
func TestManyFiles(t *testing.T) {
	count := 1 << 16
	if testing.Short() {
		count = 1 << 12
	}
	var desc []byte
	root := &descriptorpb.FileDescriptorProto{Name: proto.String("root")}
	for i := range count {
		name := fmt.Sprint(i)
		root.Dependency = append(root.Dependency, name)
		desc = appendBytes(desc, 2, appendBytes(nil, 1, appendBytes(nil, 1, name)))
	}
	raw, err := proto.Marshal(root)
	require.NoError(t, err)
	desc = append(appendBytes(nil, 1, raw), desc...)
	c := newChannel("/a", "Root", desc)
	require.NotEmpty(t, c.Schema.Data)
	require.Empty(t, c.Metadata)
}
