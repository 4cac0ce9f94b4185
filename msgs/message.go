package msgs

import "tapedeck/msgs/rosidl/wire"

// Message is a value of a type generated from a definition.
type Message interface {
	// TypeName returns the full name of the type, "sensor_msgs/msg/Imu".
	TypeName() string

	// MarshalCDR appends the fields to the payload. The encoder keeps the first error.
	MarshalCDR(*wire.Encoder)

	// UnmarshalCDR sets the fields from the payload, and reuses the memory of slices. The decoder keeps the first
	// error.
	UnmarshalCDR(*wire.Decoder)
}
