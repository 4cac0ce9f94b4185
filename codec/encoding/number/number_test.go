package number

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInt64(t *testing.T) {
	for f, want := range map[float64]int64{
		0: 0, 1.9: 1, -1.9: -1, 1 << 53: 1 << 53,
		1 << 62: 1 << 62, 1 << 63: math.MaxInt64, math.MaxFloat64: math.MaxInt64, math.Inf(1): math.MaxInt64,
		-1 << 63: math.MinInt64, -math.MaxFloat64: math.MinInt64, math.Inf(-1): math.MinInt64,
		math.NaN(): 0,
	} {
		require.Equal(t, want, Int64(f), "%v", f)
	}
}
