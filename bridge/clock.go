package bridge

import "time"

// began is when the process began.
var began = time.Now()

// Monotonic returns t by a clock that nobody sets, in ns since the Unix epoch: the wall clock, had it not been set
// since the process began.
func Monotonic(t time.Time) int64 { return began.UnixNano() + int64(t.Sub(began)) }

// Now returns the time of now by the clock of Monotonic.
func Now() int64 { return Monotonic(time.Now()) }

// longestWay is how long messages take at most from their reception to a handler.
const longestWay = 10 * time.Second

// MonotonicOf returns by the clock of Monotonic when something happened, which was not long before now, at the time
// wall by the wall clock. If that was set in between, it is now.
func MonotonicOf(wall int64, now time.Time) int64 {
	ago := now.UnixNano() - wall
	if ago < 0 || ago > int64(longestWay) {
		ago = 0
	}
	return Monotonic(now) - ago
}
