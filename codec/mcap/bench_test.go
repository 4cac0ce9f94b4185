package mcap

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// benchSizes are payloads, and how many of them make a file of about 128 MB.
var benchSizes = []struct{ size, n int }{{100, 1_000_000}, {1000, 128_000}, {1_000_000, 128}}

// benchPayload is neither constant nor incompressible.
func benchPayload(size int) []byte {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i*i>>8) & byte(i>>3)
	}
	return data
}

func benchWrite(b *testing.B, path string, o codec.CreateOptions, size, n int) {
	os.Remove(path) // to replace it would have some systems put the file on the disk
	w, err := Create(path, o)
	require.NoError(b, err)
	m := codec.Message{Channel: &codec.Channel{Topic: "/a", Type: "pkg/msg/A", Encoding: codec.EncodingCDR},
		Data: benchPayload(size)}
	for i := range n {
		m.LogTime = int64(i) * 1000
		if err := w.Write(&m); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, w.Close())
}

func BenchmarkWrite(b *testing.B) {
	for _, compression := range []string{"none", "zstd", "lz4"} {
		for _, s := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", compression, s.size), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "a.mcap")
				b.SetBytes(int64(s.size * s.n))
				b.ReportAllocs()
				for b.Loop() {
					benchWrite(b, path, codec.CreateOptions{Compression: compression}, s.size, s.n)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.n), "ns/msg")
			})
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, compression := range []string{"none", "zstd", "lz4"} {
		for _, s := range benchSizes {
			b.Run(fmt.Sprintf("%s/%d", compression, s.size), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "a.mcap")
				benchWrite(b, path, codec.CreateOptions{Compression: compression}, s.size, s.n)
				b.SetBytes(int64(s.size * s.n))
				b.ReportAllocs()
				for b.Loop() {
					r, err := Open(path)
					require.NoError(b, err)
					it, err := r.Read(codec.Query{})
					require.NoError(b, err)
					n := 0
					for {
						if _, err = it.Next(); err != nil {
							break
						}
						n++
					}
					require.ErrorIs(b, err, io.EOF)
					require.Equal(b, s.n, n)
					require.NoError(b, errors.Join(it.Close(), r.Close()))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.n), "ns/msg")
			})
		}
	}
}

// BenchmarkCopy is what the system makes of the same file.
func BenchmarkCopy(b *testing.B) {
	from := filepath.Join(b.TempDir(), "a.mcap")
	benchWrite(b, from, codec.CreateOptions{}, 1000, 128_000)
	stat, err := os.Stat(from)
	require.NoError(b, err)
	b.SetBytes(stat.Size())
	buf := make([]byte, 1<<20)
	for b.Loop() {
		in, err := os.Open(from)
		require.NoError(b, err)
		out, err := os.Create(from + ".copy")
		require.NoError(b, err)
		// Plain read and write, not what the kernel can do on its own.
		_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, buf)
		require.NoError(b, errors.Join(err, in.Close(), out.Close()))
	}
}
