package contract

import "time"

// GapDetector learns the usual interval between messages of a topic and finds intervals that are much longer. The zero
// value is ready.
type GapDetector struct {
	Usual float64 // nine of ten intervals are shorter; ns

	last   int64   // time of the last message in ns
	count  int     // number of intervals
	lately float64 // longest of the latest intervals, up to lateCount of them; ns
	before float64 // longest of the lateCount intervals before; ns
}

// A gap is longer than MinGap, than silentPeriods usual intervals, and than silentLately times the longest of the
// latest intervals: a topic with bursts is often silent.
const (
	MinGap        = time.Second
	silentPeriods = 10
	silentLately  = 2
	rhythmCount   = 10 // number of intervals after which gaps are found
	lateCount     = 64 // number of intervals of which the longest is kept
)

// Observe takes the time of the next message in ns, and reports whether a gap precedes the message.
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

// IsGap reports whether an interval in ns is a gap.
func (r *GapDetector) IsGap(interval float64) bool {
	return r.IsSilence(interval) && interval > silentLately*max(r.lately, r.before)
}

// IsSilence reports whether an interval in ns is much longer than usual. Unlike a gap, it may be as long as others
// lately.
func (r *GapDetector) IsSilence(interval float64) bool {
	return interval > float64(MinGap) && interval > silentPeriods*r.Usual && r.count >= rhythmCount
}
