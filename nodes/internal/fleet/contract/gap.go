package contract

import "time"

// GapDetector learns the usual interval between messages of a topic and finds intervals that are much longer. The zero
// value is ready.
type GapDetector struct {
	last   int64   // ns
	count  int     // of intervals
	Usual  float64 // ns; nine of ten intervals are shorter
	lately float64 // ns; the longest of the last intervals, up to lateCount
	before float64 // ns; the longest of lateCount intervals before these
}

// What counts as a gap.
const (
	MinGap        = time.Second // at least
	silentPeriods = 10          // of what is usual, at least
	silentLately  = 2           // times the longest interval lately, at least: a topic with bursts is often silent
	rhythmCount   = 10          // intervals before anything is said
	lateCount     = 64
)

// Observe takes the time of a message, ns by the same clock as before, and reports whether a gap precedes it.
func (r *GapDetector) Observe(t int64) bool {
	interval := float64(t - r.last)
	first := r.last == 0
	r.last = t
	if first || interval < 0 {
		return false
	}
	silent := r.IsGap(interval)
	r.count++
	if r.count%lateCount == 0 {
		r.before, r.lately = r.lately, 0
	}
	r.lately = max(r.lately, interval)
	switch {
	case r.count == 1:
		r.Usual = interval
	case interval > r.Usual: // nine steps down outweigh one step up
		r.Usual = min(interval, r.Usual*1.09+1)
	default:
		r.Usual *= 0.99
	}
	return silent
}

// IsGap reports whether an interval, ns, is a gap.
func (r *GapDetector) IsGap(interval float64) bool {
	return r.IsSilence(interval) && interval > silentLately*max(r.lately, r.before)
}

// IsSilence reports whether an interval, ns, is far longer than is usual, though there may have been such lately.
func (r *GapDetector) IsSilence(interval float64) bool {
	return interval > float64(MinGap) && interval > silentPeriods*r.Usual && r.count >= rhythmCount
}
