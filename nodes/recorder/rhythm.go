package main

import "time"

// rhythm knows how often a topic is heard, and tells when it was silent for much longer. The zero value is ready.
type rhythm struct {
	last   int64   // ns
	count  int     // of intervals
	usual  float64 // ns; nine of ten intervals are shorter
	lately float64 // ns; the longest of the last intervals, up to lateCount
	before float64 // ns; the longest of lateCount intervals before these
}

// What is a silence.
const (
	silence       = time.Second // at least
	silentPeriods = 10          // of what is usual, at least
	silentLately  = 2           // times the longest interval lately, at least: a topic with bursts is often silent
	rhythmCount   = 10          // intervals before anything is said
	lateCount     = 64
)

// hear takes the time of a message, ns by the clock that the ones before had, and says whether the topic was silent
// before it.
func (r *rhythm) hear(t int64) bool {
	interval := float64(t - r.last)
	first := r.last == 0
	r.last = t
	if first || interval < 0 {
		return false
	}
	silent := r.silent(interval)
	if r.count++; r.count%lateCount == 0 {
		r.before, r.lately = r.lately, 0
	}
	r.lately = max(r.lately, interval)
	switch {
	case r.count == 1:
		r.usual = interval
	case interval > r.usual: // nine steps down outweigh one step up
		r.usual = min(interval, r.usual*1.09+1)
	default:
		r.usual *= 0.99
	}
	return silent
}

// silent says whether an interval, ns, is one of silence.
func (r *rhythm) silent(interval float64) bool {
	return interval > float64(silence) && interval > silentPeriods*r.usual && r.count >= rhythmCount &&
		interval > silentLately*max(r.lately, r.before)
}
