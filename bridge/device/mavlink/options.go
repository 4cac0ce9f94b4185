package mavlink

import (
	"fmt"
	"math"
)

// Stamps selects how Frame.Stamp is computed.
type Stamps int

const (
	// StampSync maps the component's clock to this computer's: by TIMESYNC if Options.TimeSync is set and the estimate
	// has converged, else by the component's least delayed messages. Messages whose time fits neither get the time of
	// reception.
	StampSync Stamps = iota

	// StampReceive stamps messages with the time of reception.
	StampReceive

	// StampVehicle is StampSync shifted to the vehicle's own Unix time (SYSTEM_TIME, usually from GPS), once it is
	// known: for a wrong clock of this computer, or of the computer that wrote a log.
	StampVehicle
)

// Options of a Link. The zero value only receives, and reads logs as fast as possible.
type Options struct {
	Stamps Stamps

	// Rate is the speed at which a log is read: 1 is real time, 2 twice as fast, 0 as fast as possible.
	Rate float64

	// System and Component are the sender's ids. They default to 255 (a ground station) and 191 (an onboard computer).
	System    uint8
	Component uint8

	// Heartbeat is the rate of HEARTBEAT messages, in Hz; 0 is never. To a UDP client, an autopilot sends only after it
	// has received one.
	Heartbeat float64

	// TimeSync is the rate of TIMESYNC requests to each autopilot, in Hz; 0 is never. 10 is usual; the estimate
	// converges after 500 replies. Links with round trips over 10 ms are too slow for it.
	TimeSync float64

	// AnswerTimeSync answers the autopilots' own TIMESYNC requests with this computer's time.
	AnswerTimeSync bool

	// Streams are rates in Hz of ArduPilot's message streams by id (MAV_DATA_STREAM). They are requested with
	// REQUEST_DATA_STREAM when an autopilot connects, and every 30 s. A rate of 0 stops the stream.
	Streams map[uint8]uint16

	// Intervals are rates in Hz of messages by id, requested with MAV_CMD_SET_MESSAGE_INTERVAL when an autopilot
	// connects, and every 30 s. A rate of 0 is
	// the autopilot's default, a negative one stops the message.
	Intervals map[uint32]float64

	// Report, if not nil, receives log lines about the link: opened, closed, why it cannot be opened. It is called from
	// several goroutines.
	Report func(string)
}

// check sets defaults, and returns an error for invalid options.
func (o *Options) check() error {
	for _, rate := range []struct {
		name  string
		value float64
	}{{"speed of a log", o.Rate}, {"rate of heartbeats", o.Heartbeat}, {"rate of TIMESYNC requests", o.TimeSync}} {
		if rate.value != 0 && !(rate.value >= 1e-3 && rate.value <= 1e6) {
			return fmt.Errorf("the %s is %v; it must be 0, or from 0.001 to 1000000", rate.name, rate.value)
		}
	}
	for id, rate := range o.Intervals {
		if math.IsNaN(rate) || math.Abs(rate) > 1e6 || rate > 0 && rate < 1e-3 {
			return fmt.Errorf("the rate of message %d is %v Hz; it must be from 0.001 to 1000000, 0, or negative", id,
				rate)
		}
	}
	if o.System == 0 {
		o.System = 255
	}
	if o.Component == 0 {
		o.Component = 191
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	return nil
}
