package mavlink

import "math"

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
// it does not answer a request of ours.
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
