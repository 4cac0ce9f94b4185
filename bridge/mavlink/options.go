package mavlink

import (
	"fmt"
	"math"
)

// Stamps says how Frame.Stamp is made.
type Stamps int

const (
	// StampSync maps the component's clock on this computer's: by TIMESYNC if Options.TimeSync asks for it and it has
	// converged, else by the component's least delayed messages. Messages whose time fits neither are stamped with their
	// reception.
	StampSync Stamps = iota

	// StampReceive stamps every message with its reception.
	StampReceive

	// StampVehicle is StampSync moved to the vehicle's own idea of Unix time (SYSTEM_TIME, from GPS as a rule), once the
	// vehicle has one: right where this computer's clock, or the one that stamped a log, is wrong.
	StampVehicle
)

// Options of a Link. Its zero value listens, sends nothing, and reads logs as fast as the handler takes them.
type Options struct {
	Stamps Stamps

	// Rate is the speed at which a log is read: 1 as it was recorded, 2 twice as fast, 0 as fast as the handler takes it.
	Rate float64

	// System and Component identify what is sent. They default to 255 (a ground station) and 191 (an onboard computer).
	System    uint8
	Component uint8

	// Heartbeat is how often a HEARTBEAT is sent, in Hz; 0 is never. An autopilot that is reached as a UDP client learns
	// of us by it, and sends nothing before.
	Heartbeat float64

	// TimeSync is how often each autopilot is sent a TIMESYNC request, in Hz; 0 is never. 10 is usual; the estimate has
	// converged after 500 replies. Links with round trips beyond 10 ms are too slow for it.
	TimeSync float64

	// AnswerTimeSync answers the autopilots' own TIMESYNC requests with this computer's time.
	AnswerTimeSync bool

	// Streams are rates in Hz of ArduPilot's message streams by their id (MAV_DATA_STREAM), asked for with
	// REQUEST_DATA_STREAM whenever an autopilot connects, and every 30 s. A rate of 0 stops the stream.
	Streams map[uint8]uint16

	// Intervals are rates in Hz of messages by their id, asked for with MAV_CMD_SET_MESSAGE_INTERVAL likewise. A rate of 0
	// is the autopilot's default, a negative one stops the message.
	Intervals map[uint32]float64

	// Report, if not nil, is told in a sentence what happens to the link: opened, closed, why it cannot be opened. It is
	// called from several goroutines.
	Report func(string)

	// Clock is this computer's if nil.
	Clock Clock
}

// check completes the options, and says what is wrong with them.
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
			return fmt.Errorf("the rate of message %d is %v Hz; it must be from 0.001 to 1000000, 0, or negative", id, rate)
		}
	}
	if o.System == 0 {
		o.System = 255
	}
	if o.Component == 0 {
		o.Component = 191
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Report == nil {
		o.Report = func(string) {}
	}
	return nil
}
