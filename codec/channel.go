package codec

import (
	"bytes"
	"fmt"

	"tapedeck/msgs/rosidl"
)

// Encodings of message payloads, as Channel.Encoding names them.
const (
	EncodingCDR      = "cdr"      // XCDR version 1 with its 4-byte encapsulation header, as ROS 2 sends it
	EncodingROS1     = "ros1"     // ROS 1 serialisation
	EncodingProtobuf = "protobuf" // Protocol Buffers wire format
)

// Encodings of schemas, as Schema.Encoding names them, with the names of the MCAP registry.
const (
	SchemaROS2Msg  = "ros2msg"  // concatenated .msg texts
	SchemaROS2IDL  = "ros2idl"  // concatenated .idl texts
	SchemaROS1Msg  = "ros1msg"  // concatenated ROS 1 .msg texts
	SchemaProtobuf = "protobuf" // a serialised FileDescriptorSet
)

// Schema describes the payloads of a channel well enough to decode them. The zero Schema means that no schema is known:
// payloads are then opaque bytes.
type Schema struct {
	Encoding string // one of the Schema… constants, or another one that the file names
	Data     []byte // read-only once set
}

// Channel describes messages with one topic and type. Two channels of one recording may share a topic, if several
// publishers or types do. A Channel is not changed after the first message that points to it was passed on. Its pointer
// is its identity within one Reader.
type Channel struct {
	Topic    string // full name: "/imu", "/apollo/canbus/chassis"
	Type     string // "sensor_msgs/msg/Imu", "apollo.canbus.Chassis"
	Encoding string // one of the Encoding… constants, or another one that the file names
	Schema   Schema
	TypeHash string // REP-2011 hash, "RIHS01_<64 hex digits>", or ""
	// QoS lists the different profiles that its publishers offered; nil if the format does not keep them.
	QoS      []QoS
	Metadata map[string]string // other properties that the format keeps for a channel; may be nil
}

// NewChannel returns a channel of ROS 2 messages. library must have the definition of the type.
func NewChannel(library *rosidl.Library, topic, typeName string, qos ...QoS) (*Channel, error) {
	text, err := library.Concatenated(typeName)
	if err != nil {
		return nil, fmt.Errorf("channel %s [%s]: %w", topic, typeName, err)
	}
	hash, err := library.Hash(typeName)
	if err != nil {
		return nil, fmt.Errorf("channel %s [%s]: %w", topic, typeName, err)
	}
	return &Channel{
		Topic: topic, Type: typeName, Encoding: EncodingCDR, TypeHash: hash, QoS: qos,
		Schema: Schema{Encoding: SchemaROS2Msg, Data: []byte(text)},
	}, nil
}

// Message is one payload as recorded. A Message, its Data included, is valid until the next call of the iterator that
// returned it; a Writer keeps neither beyond Write. Code that needs Data longer copies it or, if Buffer is set, calls
// Buffer.Retain. Code that replaces Data replaces Buffer too.
type Message struct {
	Channel     *Channel
	LogTime     int64 // ns since the Unix epoch, when it was received
	PublishTime int64 // ns since the Unix epoch, when it was sent; 0 if the format does not keep it
	Data        []byte
	Buffer      *Buffer // holds Data; nil: Data cannot be retained
}

// Clone returns a copy of m that owns its Data.
func (m *Message) Clone() Message {
	kept := *m
	kept.Data, kept.Buffer = bytes.Clone(m.Data), nil
	return kept
}
