package mcap

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/internal/codectest"
)

var bench = codectest.Bench{
	Format: Format, Channel: &codec.Channel{Topic: "/a", Type: "pkg/msg/A", Encoding: codec.EncodingCDR},
	Compressions: []string{"none", "zstd", "lz4"},
}

func BenchmarkWrite(b *testing.B) { bench.Write(b) }
func BenchmarkRead(b *testing.B)  { bench.Read(b) }
func BenchmarkCopy(b *testing.B)  { bench.Copy(b) }

// BenchmarkGroups measures writing two cameras and eight small topics, in one group and with the large topics in groups
// of their own.
func BenchmarkGroups(b *testing.B) {
	names := map[string]func(*codec.Channel, int) string{"one": nil, "groups": func(c *codec.Channel, size int) string {
		if size > 32<<10 {
			return c.Topic
		}
		return ""
	}}
	for _, compression := range bench.Compressions {
		for _, size := range []int{1000, 100_000, 1_000_000} {
			for _, name := range []string{"one", "groups"} {
				b.Run(fmt.Sprintf("%s/%d/%s", compression, size, name), func(b *testing.B) {
					o := codec.CreateOptions{Compression: compression, ChunkGroups: names[name]}
					writeDrive(b, o, size, 128_000_000/size)
				})
			}
		}
	}
}

// writeDrive writes n images of a size and as many small messages.
func writeDrive(b *testing.B, o codec.CreateOptions, size, n int) {
	b.ReportAllocs()
	b.SetBytes(int64(size * n))
	var channels []*codec.Channel
	for i := range 10 {
		channels = append(channels, &codec.Channel{Topic: fmt.Sprint("/", i), Encoding: codec.EncodingCDR})
	}
	images := make([]byte, size+1<<20)
	for i := range images {
		images[i] = byte(i*i>>8) & byte(i>>3)
	}
	path := filepath.Join(b.TempDir(), "a.mcap")
	for b.Loop() {
		os.Remove(path)
		w, err := Format.Create(path, o)
		require.NoError(b, err)
		var image, small codec.Message
		for i := range n {
			at := int64(i) * 1e6
			image = codec.Message{Channel: channels[i%2], LogTime: at, Data: images[i*4096%(1<<20):][:size]}
			small = codec.Message{Channel: channels[2+i%8], LogTime: at, Data: images[:200]}
			if err := cmp.Or(w.Write(&image), w.Write(&small)); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, w.Close())
	}
}
