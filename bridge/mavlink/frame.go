package mavlink

import "github.com/bluenviron/gomavlib/v3/pkg/message"

// Frame is one MAVLink frame that was received whole.
type Frame struct {
	System    uint8
	Component uint8
	Sequence  uint8
	V2        bool // of MAVLink 2

	// Message is a pointer to a message type of gomavlib's dialect ardupilotmega, such as *common.MessageAttitude, or a
	// *message.MessageRaw if its id is not in the dialect. It is the handler's to keep.
	Message message.Message

	// Received is when the frame arrived, in ns since the Unix epoch: by this computer's clock, or as a log stamped it.
	Received int64

	// Stamp is when the message's content was measured, in ns since the Unix epoch, as Options.Stamps asks. It is Received
	// for messages that carry no time.
	Stamp int64

	// Autopilot is whether the frame is from the autopilot of its system rather than from a gimbal, radio, camera or
	// ground station.
	Autopilot bool
}
