package mcap

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDataSum(t *testing.T) {
	random := rand.NewChaCha8([32]byte{})
	b := make([]byte, 300_000)
	_, _ = random.Read(b)
	for _, first := range []int{0, 1, 1000} {
		for _, n := range []int{0, 1, 2, 3, 255, 256, 4096, 100_001, len(b) - first} {
			var s dataSum
			s.Write(b[:first])
			s.join(crc32.ChecksumIEEE(b[first:first+n]), int64(n))
			require.Equal(t, crc32.ChecksumIEEE(b[:first+n]), uint32(s), "%d and %d bytes", first, n)
		}
	}
}

func BenchmarkJoin(b *testing.B) {
	var s dataSum
	for b.Loop() {
		s.join(1, 4<<20)
	}
}
