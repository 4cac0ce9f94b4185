package mcap

import (
	"testing"

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
