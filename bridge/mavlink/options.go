package mavlink

import "context"

// Stamps says how Frame.Stamp is made.
type Stamps int

const (
	// StampSync maps the vehicle's clock on this computer's: by TIMESYNC if Options.TimeSync asks for it and it has
	// converged, else by the least delayed messages. Messages are stamped with the time of reception until either is known.
	StampSync Stamps = iota

	// StampReceive stamps every message with its time of reception.
	StampReceive

	// StampVehicle takes the vehicle's own idea of Unix time (SYSTEM_TIME, from GPS as a rule), whatever this computer's
	// clock says. Messages are stamped as by StampSync until the vehicle knows the time.
	StampVehicle
)

// Clock is the time that a link lives in.
type Clock interface {
	// Now returns ns since the Unix epoch.
	Now() int64
	// Sleep returns after d ns, or early with the error of a ctx that ended.
	Sleep(ctx context.Context, d int64) error
}

// Options of a Link. Its zero value listens and sends nothing.
type Options struct {
	Stamps Stamps

	// Rate is the speed at which a log is read: 1 as it was recorded, 2 twice as fast, 0 as fast as the handler takes it.
	Rate float64

	// System and Component identify what is sent. They default to 255 (a ground station) and 191 (an onboard computer).
	System    uint8
	Component uint8

	// Heartbeat is how often a HEARTBEAT is sent, in Hz; 0 is never. An autopilot that is reached as a UDP or TCP client
	// learns of us by it.
	Heartbeat float64

	// TimeSync is how often each autopilot is sent a TIMESYNC request, in Hz; 0 is never. 10 is usual.
	TimeSync float64

	// AnswerTimeSync answers the autopilots' own TIMESYNC requests with this computer's time.
	AnswerTimeSync bool

	// Streams are rates in Hz of ArduPilot's message streams by their id (MAV_DATA_STREAM), asked for with
	// REQUEST_DATA_STREAM.
	Streams map[uint8]float64

	// Intervals are rates in Hz of messages by their id, asked for with MAV_CMD_SET_MESSAGE_INTERVAL. 0 is the autopilot's
	// default, a negative rate stops the message.
	Intervals map[uint32]float64

	// VerifyKey, if not empty, refuses every frame that is not signed (MAVLink 2) with this key of 32 bytes.
	VerifyKey []byte
	// SignKey, if not empty, signs what is sent with this key of 32 bytes.
	SignKey []byte

	// Clock is this computer's if nil.
	Clock Clock
}
