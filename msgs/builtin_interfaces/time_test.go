package builtin_interfaces

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTimeAt(t *testing.T) {
	for _, test := range []struct {
		ns   int64
		want Time
	}{
		{0, Time{}},
		{1e9 + 5, Time{Sec: 1, Nanosec: 5}},
		{1e9 - 1, Time{Nanosec: 999999999}},
		{-1, Time{Sec: -1, Nanosec: 999999999}},
		{-2e9, Time{Sec: -2}},
		{1500000000, Time{Sec: 1, Nanosec: 500000000}},
		{math.MaxInt32*1e9 + 7, Time{Sec: math.MaxInt32, Nanosec: 7}},
		{math.MinInt32 * 1e9, Time{Sec: math.MinInt32}},
	} {
		got := TimeAt(test.ns)
		require.Equal(t, test.want, got)
		require.Equal(t, test.ns, got.Nanoseconds())
	}
	require.Equal(t, Time{Sec: math.MaxInt32, Nanosec: 854775807}, TimeAt(math.MaxInt64), "after 2038")
	require.Equal(t, int32(math.MinInt32), TimeAt(math.MinInt64).Sec, "before 1901")
	require.Less(t, TimeAt(math.MinInt64).Nanosec, uint32(1e9))
	require.Equal(t, int64(-1), Duration{Sec: -1, Nanosec: 999999999}.Nanoseconds())
}
