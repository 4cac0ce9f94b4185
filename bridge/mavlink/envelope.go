package mavlink

import (
	"math"
	"time"
)

const (
	maxDrift     = 100e-6 // between two clocks; crystals are within ±50 ppm
	maxDelay     = int64(5 * time.Second)
	patience     = int64(2 * time.Second) // before a jump of a clock is accepted
	leastDelayed = int64(time.Minute)     // in which at least one message is hardly delayed
)

// envelope estimates the offset between two clocks from delayed messages, whose offsets are too large by their delay.
// The estimate falls to the least delayed message at once, and rises no faster than clocks drift, unless all messages
// are late for a minute.
type envelope struct {
	known  bool
	offset int64 // ns
	at     int64 // last confirmation, in ns
	doubt  int64 // time of the first of the last messages that did not confirm it, in ns; 0: none
	since  int64 // beginning of the current minute, in ns
	least  int64 // least delay in that minute, in ns
	jumps  int
}

// observe takes the offset of a message received at now, and returns the delay of the message. Offsets that differ by a
// multiple of wrap are equal; 0: no wrap. ok is false for a message that does not fit the previous ones: of another
// time base, or soon after a jump. A jump is accepted when only such messages arrive for a while.
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
