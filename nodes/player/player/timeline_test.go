package player

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimeline(t *testing.T) {
	for _, test := range []struct {
		rate              float64
		machine, recorded int64 // ns after the beginning
	}{
		{1, 0, 0}, {1, 1, 1}, {1, 1e18, 1e18}, {1, -5, -5},
		{2, 500, 1000}, {0.5, 2000, 1000}, {3, 1e9, 3e9},
		{maxRate, 1, 1e6}, {minRate, 1e6, 1000},
	} {
		l := timeline{rate: test.rate}
		l.move(1_700_000_000e9, 77)
		require.Equal(t, 1_700_000_000e9+test.recorded, l.at(77+test.machine))
		require.Equal(t, 77+test.machine, l.when(1_700_000_000e9+test.recorded))
	}
}

// A message that is due by the machine's time is also due by recorded time. Otherwise the player would wait for it
// twice.
func TestTimelineIsNeverEarly(t *testing.T) {
	for _, rate := range []float64{0.1, 0.3, 1, 1.1, 3, 7, maxRate} {
		l := timeline{rate: rate}
		for _, recorded := range []int64{1, 3, 10, 1e6 + 1, 1e9 + 7, 3600e9 + 1} {
			require.GreaterOrEqual(t, l.at(l.when(recorded)), recorded-1, "rate %v", rate)
		}
	}
}

func TestTimelineOfCenturies(t *testing.T) {
	l := timeline{rate: minRate}
	require.Positive(t, l.when(1<<62))
	l.rate = maxRate
	require.Positive(t, l.at(1<<62))
}

func TestTimelineAsFastAsPossible(t *testing.T) {
	l := timeline{rate: immediate}
	l.move(100, 7)
	require.Equal(t, int64(100), l.at(1e18))
	require.LessOrEqual(t, l.when(1e18), int64(8), "messages must not wait")
}

func TestValidRate(t *testing.T) {
	for _, rate := range []float64{minRate, 1, maxRate, immediate} {
		require.True(t, validRate(rate), rate)
	}
	for _, rate := range []float64{0, -1, 2 * maxRate, math.NaN(), math.Inf(-1)} {
		require.False(t, validRate(rate), rate)
	}
	require.Equal(t, "0.001 to 1000000, inf", rateRange+", "+rateText(immediate))
}
