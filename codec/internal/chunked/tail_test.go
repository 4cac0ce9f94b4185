package chunked

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTail(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		keep := random.IntN(12)
		tail := NewTail(keep)
		var keys []Key
		for range random.IntN(40) {
			k := Key{random.Int64N(5), random.Int64N(3), int64(len(keys))}
			keys = append(keys, k)
			tail.Add(k)
		}
		slices.SortFunc(keys, func(a, b Key) int {
			if a.Before(b) {
				return -1
			}
			return 1
		})
		first := max(0, len(keys)-keep)
		for i, k := range keys {
			require.Equal(t, i >= first, tail.Has(k))
		}
		for end := range int64(6) {
			full := keep == 0 || len(keys) >= keep && keys[first].Time > end
			require.Equal(t, full, tail.Full(end))
		}
	}
}

func TestAll(t *testing.T) {
	tail := NewTail(math.MaxInt)
	require.True(t, tail.All())
	require.False(t, tail.Full(math.MinInt64))
	require.True(t, tail.Has(Key{}))
}
