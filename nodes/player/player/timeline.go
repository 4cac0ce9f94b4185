package player

import (
	"math"
	"strconv"
)

// Limits of the rate in recorded seconds per second. The rate immediate is above them.
const (
	minRate = 0.001
	maxRate = 1e6
)

// immediate is the rate at which messages do not wait for their time.
var immediate = math.Inf(1)

// validRate reports whether recorded time can run at that rate.
func validRate(rate float64) bool { return rate >= minRate && rate <= maxRate || rate == immediate }

// timeline converts the machine's time to recorded time and back while time runs. All times are in ns.
type timeline struct {
	rate              float64 // recorded seconds per second
	recorded, machine int64   // the same moment in both
}

// move makes recorded time continue from recorded at the machine's time machine.
func (l *timeline) move(recorded, machine int64) { l.recorded, l.machine = recorded, machine }

// at returns the recorded time. At the rate immediate it changes only with move.
func (l *timeline) at(machine int64) int64 {
	if l.rate == immediate {
		return l.recorded
	}
	return l.recorded + nanoseconds(float64(machine-l.machine)*l.rate)
}

// when returns the machine's time at which a recorded time is reached.
func (l *timeline) when(recorded int64) int64 {
	return l.machine + nanoseconds(math.Ceil(float64(recorded-l.recorded)/l.rate))
}

// nanoseconds converts a number, limited to about 73 years.
func nanoseconds(ns float64) int64 { return int64(min(ns, float64(math.MaxInt64/4))) }

// rateRange is the range of valid rates, for error texts.
var rateRange = rateText(minRate) + " to " + rateText(maxRate)

// rateText returns a rate as users write it.
func rateText(rate float64) string {
	if rate == immediate {
		return "inf"
	}
	return strconv.FormatFloat(rate, 'f', -1, 64)
}
