package bridge

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// setBy sets the wall clock of t ahead by so many seconds, and leaves its monotonic clock alone.
func setBy(t *time.Time, seconds int64) { *(*uint64)(unsafe.Pointer(t)) += uint64(seconds) << 30 }

// The clock goes on as before when the wall clock is set.
func TestMonotonic(t *testing.T) {
	now := time.Now()
	before := Monotonic(now)
	for _, step := range []int64{3600, -3600, -7200, 7200} {
		now = now.Add(time.Minute)
		before += int64(time.Minute)
		stale := now.Add(-time.Millisecond).UnixNano()
		setBy(&now, step)
		require.Equal(t, before, Monotonic(now))
		require.Equal(t, before-int64(time.Second), MonotonicOf(now.UnixNano()-int64(time.Second), now))
		require.Equal(t, before, MonotonicOf(stale, now), "before the clock was set")
	}
}
