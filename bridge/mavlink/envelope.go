package mavlink

import "math"

const (
	maxDrift = 100e-6 // of one clock against another; crystals keep within ±50 ppm
	maxDelay = 1e9    // ns by which a message may be older than the freshest
	patience = 2e9    // ns until a clock is believed to have jumped
)

// envelope follows the offset between two clocks that is seen through messages that took their time, and so seems greater
// than it is: it falls to the least delayed message at once, and rises by no more than the drift that clocks have.
type envelope struct {
	known  bool
	offset int64 // ns
	at     int64 // when it was last confirmed, in ns
	doubt  int64 // since when nothing has confirmed it, in ns; 0 if the last message did
	jumps  int
}

// observe takes the offset that a message shows which came at now, and returns how late the message is. Offsets that differ by
// a multiple of wrap are the same; 0 is no wrap. ok is false for a message that does not fit those before: one with a time of
// another kind, or the first after a jump. After a while of nothing else, the jump is believed.
func (e *envelope) observe(offset, now, wrap int64) (delay int64, ok bool) {
	if !e.known {
		*e = envelope{known: true, offset: offset, at: now}
		return 0, true
	}
	limit := e.offset + int64(maxDrift*float64(max(0, now-e.at)))
	delay = wrapped(offset-limit, wrap)
	if -maxDelay <= delay && delay <= maxDelay {
		e.offset, e.at, e.doubt = limit+min(0, delay), now, 0
		return max(0, delay), true
	}
	if e.doubt == 0 || now < e.doubt {
		e.doubt = now
	}
	if now-e.doubt < patience {
		return 0, false
	}
	*e = envelope{known: true, offset: offset, at: now, jumps: e.jumps + 1}
	return 0, true
}

// wrapped returns the difference that is nearest to 0 of all that differ from d by multiples of wrap.
func wrapped(d, wrap int64) int64 {
	if wrap == 0 {
		return d
	}
	return d - wrap*int64(math.Round(float64(d)/float64(wrap)))
}
