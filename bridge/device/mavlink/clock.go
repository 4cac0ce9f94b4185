package mavlink

import (
	"math"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/codec/format/tlog"
)

const (
	unixMicros  = 1e15             // µs: smaller times are since boot
	unixNanos   = unixMicros * 1e3 // ns
	validMicros = 1234567890e6     // µs: smaller Unix times mean that the vehicle does not know the time
	bootWrap    = (1 << 32) * 1e6  // ns, 49.7 days: time_boot_ms wraps
	tick        = 1e3              // ns added to keep the stamps of a message type ascending
)

// componentClock maps the clock of one component to this computer's. Its messages carry time since boot, Unix time, or
// no time.
type componentClock struct {
	boot    envelope
	unix    envelope
	sync    timeSync
	vehicle envelope            // the component's own Unix time minus this computer's
	stamps  map[uint32]lastTime // by message id
}

// lastTime is the time of the last message of an id, in ns.
type lastTime struct {
	at    int64 // carried by the message
	stamp int64
}

// stamp returns when f was measured, in ns. at is the time that f carries, in ns; 0: none.
func (c *componentClock) stamp(f *Frame, at int64, how Stamps) int64 {
	stamp := f.Received
	if at != 0 {
		delay, ok := c.delay(at, f.Received)
		stamp -= delay
		if ok && how == StampVehicle {
			c.learn(f, at, stamp)
		}
	}
	if how == StampReceive {
		return f.Received
	}
	if how == StampVehicle && c.vehicle.known {
		stamp += c.vehicle.offset
	}
	if _, unknown := f.Message.(*message.MessageRaw); unknown { // carries no time
		return stamp
	}
	id := f.Message.GetID()
	last := c.stamps[id]
	if at > last.at && stamp <= last.stamp && last.stamp-stamp <= maxDelay {
		stamp = last.stamp + tick // the offset fell
	}
	if at == 0 {
		at = last.at
	}
	c.stamps[id] = lastTime{at, stamp}
	return stamp
}

// delay returns how long before its reception a message with time at was measured, in ns. ok is false if unknown.
func (c *componentClock) delay(at, received int64) (delay int64, ok bool) {
	line, wrap := &c.boot, int64(bootWrap)
	if at >= unixNanos {
		line, wrap = &c.unix, 0
	}
	delay, ok = line.observe(received-at, received, wrap)
	if ok && c.sync.converged(received) && (at >= unixNanos) == (c.sync.remote >= unixNanos) {
		if d := wrapped(received-at-c.sync.offset(received), wrap); -maxDelay <= d && d <= maxDelay {
			delay = max(0, d)
		}
	}
	return delay, ok
}

// learn updates the component's own Unix time from f, if f carries it. stamp is this computer's time at that moment.
func (c *componentClock) learn(f *Frame, at, stamp int64) {
	if m, ok := f.Message.(*ardupilotmega.MessageSystemTime); ok {
		if m.TimeUnixUsec <= validMicros || m.TimeUnixUsec > tlog.LatestStamp {
			return
		}
		at = int64(m.TimeUnixUsec) * 1e3
	}
	if at >= unixNanos {
		c.vehicle.observe(at-stamp, stamp, 0)
	}
}

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
	doubt  int64 // reception of the first message after at that does not fit, in ns; 0: none
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

// wrapped returns d plus the multiple of wrap that brings it nearest to 0.
func wrapped(d, wrap int64) int64 {
	if wrap == 0 {
		return d
	}
	return d - wrap*int64(math.Round(float64(d)/float64(wrap)))
}

const (
	syncWindow     = 500  // exchanges until the estimate converges
	syncDeviations = 10   // contradicting exchanges in a row after which the estimate is discarded
	syncTolerance  = 10e6 // ns: longest usable round trip, and largest deviation treated as noise
	syncGainFirst  = 0.05
	syncGainLast   = 0.003
	syncAge        = 10e9 // ns after which an estimate expires
	syncRequests   = 16   // outstanding at once
)

// timeSync estimates offset and drift between this computer's clock and another from TIMESYNC exchanges, by double
// exponential smoothing with falling gains, as the PX4 firmware and MAVROS do.
type timeSync struct {
	requests [syncRequests]int64 // times of sending, which replies repeat
	next     int                 // index in requests of the next one

	base       int64   // ns: approximate offset, for which a float64 is too coarse
	smooth     float64 // ns above base
	drift      float64 // ns per ns
	at         int64   // of the last used exchange, in ns; 0: none
	exchanges  int     // used since the last jump
	deviations int
	jumps      int

	remote    int64 // the other clock in the last exchange, in ns
	observed  int64 // offset of the last exchange alone, in ns
	roundTrip int64 // of the last exchange, in ns
}

// request registers a request sent at now, in ns.
func (t *timeSync) request(now int64) {
	t.requests[t.next] = now
	t.next = (t.next + 1) % len(t.requests)
}

// reply takes the reply, received at now, to the request sent at sent; remote is the other clock's time. ok is false if
// we did not send this request, or it was answered before.
func (t *timeSync) reply(sent, remote, now int64) (ok bool) {
	if !t.pending(sent) {
		return false
	}
	t.roundTrip = now - sent
	t.remote = remote
	t.observed = sent + t.roundTrip/2 - remote
	if t.roundTrip < 0 || t.roundTrip > syncTolerance {
		return true
	}
	if t.exchanges > 0 && math.Abs(float64(t.observed-t.offset(now))) > syncTolerance {
		t.deviations++
		if t.deviations < syncDeviations {
			return true
		}
		t.exchanges = 0
		t.jumps++
	}
	t.add(now)
	return true
}

func (t *timeSync) pending(sent int64) bool {
	for i := range t.requests {
		if sent != 0 && t.requests[i] == sent {
			t.requests[i] = 0
			return true
		}
	}
	return false
}

// add adds the last exchange to the estimate.
func (t *timeSync) add(now int64) {
	elapsed := float64(now - t.at)
	if t.exchanges == 0 {
		t.base, t.smooth, t.drift = t.observed, 0, 0
	} else {
		gain := syncGain(t.exchanges)
		before := t.smooth
		t.smooth = gain*float64(t.observed-t.base) + (1-gain)*(before+t.drift*elapsed)
		if elapsed > 0 {
			t.drift = gain*(t.smooth-before)/elapsed + (1-gain)*t.drift
		}
	}
	t.at = now
	t.exchanges++
	t.deviations = 0
}

// syncGain returns the weight of an exchange after a number of others.
func syncGain(exchanges int) float64 {
	if exchanges >= syncWindow {
		return syncGainLast
	}
	last := 1 - math.Exp(0.5*(1-1/(1-float64(exchanges)/syncWindow)))
	return last*syncGainLast + (1-last)*syncGainFirst
}

// offset returns this computer's clock minus the other at now, in ns.
func (t *timeSync) offset(now int64) int64 {
	return t.base + int64(t.smooth+t.drift*float64(now-t.at))
}

// converged reports whether the estimate can be used at now.
func (t *timeSync) converged(now int64) bool { return t.exchanges >= syncWindow && now-t.at < syncAge }
