package contract

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRhythm(t *testing.T) {
	const ms = int64(time.Millisecond)
	random := rand.New(rand.NewPCG(1, 2))
	for name, c := range map[string]struct {
		interval func(i int) int64
		MinGap   int64
		want     bool
	}{
		"100 Hz":                   {func(int) int64 { return 10 * ms }, 1100 * ms, true},
		"100 Hz, not long enough":  {func(int) int64 { return 10 * ms }, 900 * ms, false},
		"2 Hz":                     {func(int) int64 { return 500 * ms }, 6000 * ms, true},
		"2 Hz, not long enough":    {func(int) int64 { return 500 * ms }, 4000 * ms, false},
		"with jitter":              {func(int) int64 { return ms * (1 + random.Int64N(20)) }, 3000 * ms, true},
		"two publishers in turn":   {func(i int) int64 { return ms * int64(3+i%2*4) }, 3000 * ms, true},
		"one in twenty is missing": {func(i int) int64 { return 10 * ms * int64(1+(i%20)/19) }, 3000 * ms, true},
		"bursts": {func(i int) int64 { return ms / 1000 * int64(1+i%20/19*10_000_000) }, 20_000 * ms,
			false},
		"as it comes": {func(int) int64 { return int64(1) << (10 + random.IntN(25)) }, 30_000 * ms, false},
	} {
		t.Run(name, func(t *testing.T) {
			var r GapDetector
			at := int64(1000 * ms)
			for i := range 2000 {
				at += c.interval(i)
				silent := r.Observe(at)
				require.False(t, silent && i > 100, "message %d", i)
			}
			require.Equal(t, c.want, r.IsGap(float64(c.MinGap)))
			require.Equal(t, c.want, r.Observe(at+c.MinGap))
			require.False(t, r.Observe(at-5000*ms), "another clock")
			require.False(t, r.Observe(at-4999*ms))
		})
	}
}

func TestRhythmNeedsSomeMessages(t *testing.T) {
	var r GapDetector
	for i := range int64(rhythmCount) {
		require.False(t, r.Observe(1+i*1e6))
	}
	require.False(t, r.Observe(1e12))
}
