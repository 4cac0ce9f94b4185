package queue

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The clock of the ring goes on as before when the wall clock is set.
func TestClock(t *testing.T) {
	defer ahead.Store(ahead.Load())
	now := time.Now()
	now = now.Add(-time.Duration(now.Nanosecond())) // a part of a second that is added below must not make a whole one
	wall := func(ago time.Duration) int64 { return now.Add(-ago).UnixNano() }
	before := Received(wall(0), now)
	equal := func(want, got int64, why ...any) {
		t.Helper()
		require.InDelta(t, 0, want-got, 1e6, why...)
	}
	equal(before-int64(time.Second), Received(wall(time.Second), now))
	for _, step := range []int64{3600, -3600, -7200, 7200} {
		now = now.Add(time.Minute)
		before += int64(time.Minute)
		stale := wall(time.Millisecond)
		*(*uint64)(unsafe.Pointer(&now)) += uint64(step) << 30 // its seconds by the wall clock
		equal(before, Received(wall(0), now))
		equal(before-int64(time.Second), Received(wall(time.Second), now))
		equal(before, Received(stale, now), "received before the clock was set")
	}
	now = now.Add(time.Minute)
	*(*uint64)(unsafe.Pointer(&now)) += 1 << 28 // a quarter of a second: it is corrected
	equal(before+int64(time.Minute)+1<<28, Received(wall(0), now))
}
