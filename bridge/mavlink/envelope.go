package mavlink

import (
	"math"
	"time"
)

const (
	maxDrift     = 100e-6 // of one clock against another; crystals keep within ±50 ppm
	maxDelay     = int64(5 * time.Second)
	patience     = int64(2 * time.Second) // until a clock is believed to have jumped
	leastDelayed = int64(time.Minute)     // in which one message at least is hardly delayed
)

// envelope follows the offset between two clocks that is seen through messages which took their time, and so seems
// greater than it is: it falls to the least delayed message at once, and rises no faster than clocks drift, unless all
// messages are late for a minute.
type envelope struct {
	known  bool
	offset int64 // ns
	at     int64 // when it was last confirmed, in ns
	doubt  int64 // since when nothing has confirmed it, in ns; 0 if the last message did
	since  int64 // when the current minute began, in ns
	least  int64 // delay in that minute, in ns
	jumps  int
}

// observe takes the offset that a message shows which came at now, and returns how late the message is. Offsets that
// differ by a multiple of wrap are the same; 0 is no wrap. ok is false for a message that does not fit those before:
// one with a time of another kind, or the first after a jump. After a while of nothing else, the jump is believed.
func (e *envelope) observe(offset, now, wrap int64) (delay int64, ok bool) {
	if !e.known {
		e.begin(offset, now)
		return 0, true
	}
	limit := e.offset + int64(maxDrift*float64(max(0, now-e.at)))
	delay = wrapped(offset-limit, wrap)
	if -maxDelay <= delay && delay <= maxDelay {
		e.offset, e.at, e.doubt = limit+min(0, delay), now, 0
		delay = max(0, delay)
		e.least = min(e.least, delay)
		if now-e.since > leastDelayed || now < e.since {
			e.offset += e.least
			delay -= e.least
			e.since, e.least = now, maxDelay
		}
		return delay, true
	}
	if e.doubt == 0 || now < e.doubt {
		e.doubt = now
	}
	if now-e.doubt < patience {
		return 0, false
	}
	e.begin(offset, now)
	e.jumps++
	return 0, true
}

func (e *envelope) begin(offset, now int64) {
	*e = envelope{known: true, offset: offset, at: now, since: now, jumps: e.jumps}
}

// wrapped returns the difference that is nearest to 0 of all that differ from d by multiples of wrap.
func wrapped(d, wrap int64) int64 {
	if wrap == 0 {
		return d
	}
	return d - wrap*int64(math.Round(float64(d)/float64(wrap)))
}
