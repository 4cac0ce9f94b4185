package endpoints

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

func TestGaps(t *testing.T) {
	a, b := bridge.GUID{1}, bridge.GUID{2}
	var g Gaps
	var got []uint64
	for _, s := range []struct {
		publisher bridge.GUID
		sequence  uint64
	}{{a, 7}, {a, 8}, {b, 100}, {a, 11}, {b, 101}, {a, 9}, {a, 12}, {bridge.GUID{}, 0}, {b, 104}} {
		got = append(got, g.Count(s.publisher, s.sequence))
	}
	require.Equal(t, []uint64{0, 0, 0, 2, 0, 0, 0, 0, 2}, got)
}

// Forged sequence numbers, and publishers that come and go, do not harm the count.
func TestHostileGaps(t *testing.T) {
	var g Gaps
	require.Zero(t, g.Count(bridge.GUID{1}, 1))
	for _, sequence := range []uint64{1 << 40, 1<<64 - 1, 1 << 63, 1} {
		require.Zero(t, g.Count(bridge.GUID{1}, sequence))
	}
	require.Equal(t, uint64(3), g.Count(bridge.GUID{1}, 5))
	for i := range 3 * mostPublishers {
		require.Zero(t, g.Count(bridge.GUID{2, byte(i), byte(i >> 8), byte(i >> 16)}, 7))
		require.LessOrEqual(t, len(g.byGUID), mostPublishers)
	}
}
