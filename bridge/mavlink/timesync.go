package mavlink

import "math"

const (
	syncWindow     = 500  // exchanges until the estimate has converged
	syncDeviations = 10   // exchanges in a row that contradict the estimate, until it is given up
	syncTolerance  = 10e6 // ns: the longest round trip that is used, and the greatest contradiction that is noise
	syncGainFirst  = 0.05
	syncGainLast   = 0.003
	syncAge        = 10e9 // ns after which an estimate is not used any more
	syncRequests   = 16   // that may be on their way at once
)

// timeSync estimates the offset between this computer's clock and another one, and its drift, from TIMESYNC exchanges:
// by double exponential smoothing whose gains fall while it converges, as the PX4 firmware and MAVROS do.
type timeSync struct {
	requests [syncRequests]int64 // when they were sent, which a reply repeats
	next     int                 // in requests, to be overwritten

	base       int64   // ns: about the offset, as a float64 is too coarse for it
	smooth     float64 // ns above base
	drift      float64 // ns per ns
	at         int64   // of the last exchange that was used, in ns; 0 if none
	exchanges  int     // used since the last jump
	deviations int
	jumps      int

	remote    int64 // the other clock in the last exchange, in ns
	observed  int64 // offset by the last exchange alone, in ns
	roundTrip int64 // of the last exchange, in ns
}

// request notes a request that is sent at now, in ns.
func (t *timeSync) request(now int64) {
	t.requests[t.next] = now
	t.next = (t.next + 1) % len(t.requests)
}

// reply takes the reply to the request that was sent at sent, which came at now; remote is the other clock's time. ok
// is false if it is no reply to a request of ours.
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
		if t.deviations++; t.deviations < syncDeviations {
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

// add makes the last exchange part of the estimate.
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

// syncGain is how much the exchange after so many others changes the estimate.
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

// converged is whether the estimate can be used at now.
func (t *timeSync) converged(now int64) bool { return t.exchanges >= syncWindow && now-t.at < syncAge }
