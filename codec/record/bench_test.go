package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// benchmarkSize is how much the benchmarks write or read in a turn: more than the caches hold.
const benchmarkSize = 256 << 20

// benchmarkFile writes benchmarkSize bytes of messages of one size, on three channels.
func benchmarkFile(b testing.TB, path string, size int) (messages int) {
	os.Remove(path) // to replace it would have some systems put the file on the disk
	w, err := create(path, codec.CreateOptions{})
	require.NoError(b, err)
	var channels []*codec.Channel
	for i := range 3 {
		channels = append(channels, &codec.Channel{Topic: fmt.Sprintf("/sensor/topic_%d", i), Type: "x.A",
			Encoding: codec.EncodingProtobuf})
	}
	m := codec.Message{Data: bytes.Repeat([]byte("x"), size)}
	messages = benchmarkSize / size
	step := int64(30e9) / int64(messages)
	for i := range messages {
		m.Channel, m.LogTime = channels[i%3], 1700000000e9+int64(i)*step
		m.PublishTime = m.LogTime - 1000
		if err := w.Write(&m); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.Close())
	return messages
}

var benchmarkSizes = []struct {
	name string
	size int
}{{"100B", 100}, {"1kB", 1000}, {"1MB", 1_000_000}}

func BenchmarkWrite(b *testing.B) {
	for _, test := range benchmarkSizes {
		b.Run(test.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.record")
			b.SetBytes(benchmarkSize)
			b.ReportAllocs()
			messages := 0
			for b.Loop() {
				messages = benchmarkFile(b, path, test.size)
			}
			b.ReportMetric(float64(messages)*float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, test := range benchmarkSizes {
		b.Run(test.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.record")
			messages := benchmarkFile(b, path, test.size)
			r, err := open(path)
			require.NoError(b, err)
			defer r.Close()
			b.SetBytes(benchmarkSize)
			b.ReportAllocs()
			sum := byte(0)
			for b.Loop() {
				it, err := r.Read(codec.Query{})
				require.NoError(b, err)
				count := 0
				for {
					m, err := it.Next()
					if err == io.EOF {
						break
					}
					if err != nil {
						b.Fatal(err)
					}
					sum += m.Data[len(m.Data)-1]
					count++
				}
				require.Equal(b, messages, count)
			}
			b.ReportMetric(float64(messages)*float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkCopy is what Write and Read are compared with: a plain copy of the file.
func BenchmarkCopy(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.record")
	benchmarkFile(b, path, 1000)
	b.SetBytes(benchmarkSize)
	buffer := make([]byte, 1<<20)
	for b.Loop() {
		from, err := os.Open(path)
		require.NoError(b, err)
		to, err := os.Create(path + ".copy")
		require.NoError(b, err)
		// Without ReadFrom and WriteTo, by which the kernel might copy on its own.
		_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, buffer)
		require.NoError(b, err)
		require.NoError(b, to.Close())
		require.NoError(b, from.Close())
	}
}

// No message costs an allocation.
func TestNoAllocations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.record")
	w, err := create(path, codec.CreateOptions{})
	require.NoError(t, err)
	c := &codec.Channel{Topic: "/a", Type: "x.A", Encoding: codec.EncodingProtobuf}
	m := &codec.Message{Channel: c, LogTime: 1, PublishTime: 1, Data: make([]byte, 100)}
	require.NoError(t, w.Write(m))
	require.Zero(t, testing.AllocsPerRun(10_000, func() { w.Write(m) }))
	require.NoError(t, w.Close())
	r, err := open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	_, err = it.Next()
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(10_000, func() { it.Next() }))
}
