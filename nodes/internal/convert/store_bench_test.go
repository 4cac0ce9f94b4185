package convert

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/store/storetest"
	"tapedeck/nodes/internal/formats"
)

// BenchmarkStore reads and converts recordings in a store that answers after 20 ms and sends 200 MB/s. The benchmark
// link gets the object without reading it as a recording.
func BenchmarkStore(b *testing.B) {
	const size = 1_000_000_000
	for _, payload := range []int{1_000_000, 10_000} {
		for _, format := range formats.All() {
			if format.Name != "mcap" && format.Name != "record" {
				continue
			}
			b.Run(fmt.Sprintf("%s/%d", format.Name, payload), func(b *testing.B) {
				benchmarkStore(b, format, payload, size/payload)
			})
		}
	}
}

func benchmarkStore(b *testing.B, format formats.Format, payload, n int) {
	s := storetest.New(b)
	name := "drive" + format.Extension
	path := filepath.Join(b.TempDir(), name)
	w, err := format.Create(path, codec.CreateOptions{Compression: "none"})
	require.NoError(b, err)
	c := &codec.Channel{Topic: "/camera", Type: "sensor_msgs/msg/Image", Encoding: codec.EncodingCDR}
	data := make([]byte, payload)
	data[1] = 1
	for i := range n {
		require.NoError(b, w.Write(&codec.Message{Channel: c, LogTime: int64(i+1) * int64(payload) * 10, Data: data}))
	}
	require.NoError(b, w.Close())
	file, err := os.Open(path)
	require.NoError(b, err)
	defer file.Close()
	stat, err := file.Stat()
	require.NoError(b, err)
	s.Serve(name, file, stat.Size(), "one")
	s.Slow(20*time.Millisecond, 200_000_000)
	run := func(name string, do func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(stat.Size())
			for b.Loop() {
				do(b)
			}
		})
	}
	run("link", func(b *testing.B) {
		response, err := http.Get(s.Endpoint + "/" + storetest.Bucket + "/" + name)
		require.NoError(b, err)
		defer response.Body.Close()
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(b, err)
	})
	run("read", func(b *testing.B) {
		r, err := format.OpenFrom(s.Files(), s.URL(name))
		require.NoError(b, err)
		defer r.Close()
		it, err := r.Read(codec.Query{})
		require.NoError(b, err)
		defer it.Close()
		for err == nil {
			_, err = it.Next()
		}
		require.True(b, errors.Is(err, io.EOF), err)
	})
	run("convert", func(b *testing.B) {
		options := DefaultOptions()
		options.Overwrite, options.Compression = true, "none"
		job := Job{Files: s.Files(), Formats: formats.All(), Inputs: []string{s.URL(name)},
			Output: filepath.Join(b.TempDir(), "out.mcap"), Options: options}
		_, err := job.Run(b.Context())
		require.NoError(b, err)
	})
}
