package record

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
)

var bench = codectest.Bench{
	Format: Format, Channel: &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf},
	Compressions: []string{"none"},
}

func BenchmarkWrite(b *testing.B) { bench.Write(b) }
func BenchmarkRead(b *testing.B)  { bench.Read(b) }
func BenchmarkCopy(b *testing.B)  { bench.Copy(b) }

// Writing and reading a message does not allocate.
func TestNoAllocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	m := &codec.Message{Channel: c, LogTime: 1, PublishTime: 1, Data: make([]byte, 100)}
	require.NoError(t, w.Write(m))
	require.Zero(t, testing.AllocsPerRun(10_000, func() { w.Write(m) }))
	require.NoError(t, w.Close())
	r, err := open(nil, path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	_, err = it.Next()
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(10_000, func() { it.Next() }))
}
