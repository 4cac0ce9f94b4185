package bridge

import "time"

// began is the time at which the process began.
var began = time.Now()

// Monotonic returns t by a clock that cannot be set, in ns since the Unix epoch. The clock began as the wall clock when
// the process began, and ignores later changes of the wall clock.
func Monotonic(t time.Time) int64 { return began.UnixNano() + int64(t.Sub(began)) }

// Now returns the present time by the clock of Monotonic.
func Now() int64 { return Monotonic(time.Now()) }

// longestWay is the longest time from the reception of a message to its handler.
const longestWay = 10 * time.Second

// MonotonicOf converts wall, a time by the wall clock shortly before now, to the clock of Monotonic. If the wall clock
// was set between wall and now, it returns now.
func MonotonicOf(wall int64, now time.Time) int64 {
	ago := now.UnixNano() - wall
	if ago < 0 || ago > int64(longestWay) {
		ago = 0
	}
	return Monotonic(now) - ago
}
