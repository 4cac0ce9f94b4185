package queue

import (
	"sync/atomic"
	"time"
)

const (
	// longestWay is how long messages take at most from their reception to the queue.
	longestWay = 10 * time.Second
	// leastStep is by how much the wall clock is set at least. Less is a correction, or the time between two readings.
	leastStep = time.Second / 2
)

// The process has one wall clock, so its steps are not those of a queue.
var (
	began = time.Now()
	ahead atomic.Int64 // ns by which the wall clock was set ahead since then
)

// steps returns by how many ns the wall clock was set ahead until now.
func steps(now time.Time) int64 {
	before := ahead.Load()
	all := now.Round(0).Sub(began.Round(0)) - now.Sub(began) // by the wall clock, and by the monotonic one
	if (all - time.Duration(before)).Abs() < leastStep {
		return before
	}
	ahead.Store(int64(all))
	return int64(all)
}

// Now returns the time in ns since the Unix epoch, by the clock of Item.ReceiveTime: the wall clock, had it not been
// set since the program began.
func Now() int64 {
	now := time.Now()
	return now.UnixNano() - steps(now)
}

// Received returns the time by that clock of what was received before now, at a time by the wall clock. If that was set
// in between, it is now.
func Received(wall int64, now time.Time) int64 {
	at := now.UnixNano()
	if way := at - wall; way < 0 || way > int64(longestWay) {
		wall = at
	}
	return wall - steps(now)
}
