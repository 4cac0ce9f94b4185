package formats_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/nodes/internal/formats"
)

// TestKeptPayloads holds payloads of all chunks, some until the end, and checks that they do not change.
func TestKeptPayloads(t *testing.T) {
	const count, size = 200, 50_000
	payload := func(i int) []byte {
		head := []byte{0, 1, 0, 0, size & 0xff, size >> 8 & 0xff, 0, 0}
		return append(head, bytes.Repeat([]byte{byte(i), byte(i >> 8)}, size/2)...)
	}
	for name, test := range map[string]struct {
		codec.Format
		compression string
	}{
		"a.mcap": {mcap.Format, "none"}, "zstd.mcap": {mcap.Format, "zstd"}, "a.bag": {rosbag.Format, "lz4"},
		"bag": {rosbag2.Format, "none"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			w, err := codec.Formats{test.Format}.Create(path, codec.CreateOptions{Compression: test.compression,
				ChunkSize: 3 * size})
			require.NoError(t, err)
			c := &codec.Channel{Topic: "/a", Type: "std_msgs/msg/UInt8MultiArray", Encoding: codec.EncodingCDR}
			if name == "a.bag" {
				c.Encoding = codec.EncodingROS1
				c.Schema = codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("uint8[] data\n")}
			}
			for i := range count {
				require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: int64(i + 1), Data: payload(i)}))
			}
			require.NoError(t, w.Close())
			r, err := formats.All().Open(nil, path)
			require.NoError(t, err)
			defer r.Close()
			it, err := r.Read(codec.Query{})
			require.NoError(t, err)
			it = codec.Merge(it)
			type kept struct {
				number int
				data   []byte
				buffer *codec.Buffer
			}
			var all []kept
			check := func(k kept) {
				require.True(t, bytes.Equal(payload(k.number), k.data), "message %d", k.number)
				k.buffer.Release()
			}
			for i := 0; ; i++ {
				m, err := it.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				require.NotNil(t, m.Buffer)
				buffer := m.Buffer.Retain()
				require.GreaterOrEqual(t, buffer.Size(), size)
				all = append(all, kept{i, m.Data, buffer})
				if i%5 > 0 {
					check(all[len(all)/2])
					all = append(all[:len(all)/2], all[len(all)/2+1:]...)
				}
			}
			require.NoError(t, it.Close())
			require.Len(t, all, count/5)
			for _, k := range all {
				check(k)
			}
		})
	}
}
