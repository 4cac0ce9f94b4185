package rosbag

import (
	"errors"
	"io"
	"path/filepath"
	"testing"

	"tapedeck/codec"
)

// BenchmarkSeek opens a bag with as many chunks as a bag of 10 GB has, and reads the first message in the middle.
func BenchmarkSeek(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.bag")
	w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{ChunkSize: 1})
	if err != nil {
		b.Fatal(err)
	}
	const chunks = 14_000
	channels := testChannels()
	for i := range chunks {
		if err := w.Write(&codec.Message{Channel: channels[i%3], LogTime: int64(i+1) * 1e6,
			Data: make([]byte, 100)}); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r, err := Format.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		it, err := r.Read(codec.Query{Start: chunks / 2 * 1e6})
		if err != nil {
			b.Fatal(err)
		}
		if m, err := it.Next(); err != nil || m.LogTime != chunks/2*1e6 {
			b.Fatal(m, err)
		}
		r.Close()
	}
}

// BenchmarkRead reads a bag of small and large messages, with each compression.
func BenchmarkRead(b *testing.B) {
	for _, compression := range []string{"none", "lz4", "bz2"} {
		b.Run(compression, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "a.bag")
			w, err := codec.Formats{Format}.Create(path, codec.CreateOptions{Compression: compression})
			if err != nil {
				b.Fatal(err)
			}
			channels := testChannels()
			large := make([]byte, 8000)
			for i := range large {
				large[i] = byte(i*i>>8) & byte(i>>3)
			}
			size := 0
			for i := range 5000 {
				m := codec.Message{Channel: channels[0], LogTime: int64(i+1) * 1e6, Data: large[:100]}
				if i%50 == 0 {
					m.Data = large
				}
				size += len(m.Data)
				if err := w.Write(&m); err != nil {
					b.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				r, err := Format.Open(path)
				if err != nil {
					b.Fatal(err)
				}
				it, err := r.Read(codec.Query{})
				if err != nil {
					b.Fatal(err)
				}
				for err == nil {
					_, err = it.Next()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
				r.Close()
			}
		})
	}
}
