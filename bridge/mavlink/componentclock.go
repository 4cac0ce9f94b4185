package mavlink

import (
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/codec/tlog"
)

const (
	unixMicros  = 1e15             // µs: smaller times are since boot
	unixNanos   = unixMicros * 1e3 // the same in ns
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

// learn updates the component's own Unix time from f, if f carries it. stamp is this computer's time of the same
// moment.
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
