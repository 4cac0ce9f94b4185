package carla

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
)

const clockTopic = "/clock"

// messageType describes messages that a log is made of.
type messageType struct {
	name     string
	ofActor  bool // they describe the actor that their topic names
	replaces bool // in a frame of the log, each makes the one before it worthless
	empty    func() msgs.Message
	take     func(*Writer, *source)                             // the message that the source has decoded
	stamp    func(message msgs.Message) builtin_interfaces.Time // nil if they have none
}

// messageTypes lists the types of messages that a log is made of. A Clock is for Writer.tick.
var messageTypes = []messageType{
	newMessageType(messageType{}, func(*Writer, *source, *rosgraph_msgs.Clock) {}, nil),
	newMessageType(messageType{}, (*Writer).takeTransforms, func(m *tf2_msgs.TFMessage) (t builtin_interfaces.Time) {
		if len(m.Transforms) > 0 {
			t = m.Transforms[0].Header.Stamp
		}
		return t
	}),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).takeOdometry,
		func(m *nav_msgs.Odometry) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).takeVehicleControl,
		func(m *carla_msgs.CarlaEgoVehicleControl) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).takeVehicleStatus,
		func(m *carla_msgs.CarlaEgoVehicleStatus) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true}, (*Writer).takeCollision,
		func(m *carla_msgs.CarlaCollisionEvent) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).takeWalkerControl, nil),
	newMessageType(messageType{}, (*Writer).takeVehicleInfo, nil),
	newMessageType(messageType{}, (*Writer).takeWorldInfo, nil),
	newMessageType(messageType{}, (*Writer).takeActorList, nil),
	newMessageType(messageType{replaces: true}, (*Writer).takeStatus, nil),
	newMessageType(messageType{replaces: true}, (*Writer).takeWeather, nil),
	newMessageType(messageType{}, (*Writer).takeTrafficLights, nil),
	newMessageType(messageType{replaces: true}, (*Writer).takeTrafficLightStates, nil),
}

// newMessageType completes the description of the type M.
func newMessageType[M any, P interface {
	*M
	msgs.Message
}](t messageType, take func(*Writer, *source, P), stamp func(P) builtin_interfaces.Time) messageType {
	t.name = P(new(M)).TypeName()
	t.empty = func() msgs.Message { return P(new(M)) }
	t.take = func(w *Writer, s *source) { take(w, s, s.message.(P)) }
	if stamp != nil {
		t.stamp = func(m msgs.Message) builtin_interfaces.Time { return stamp(m.(P)) }
	}
	return t
}

// source is a channel of messages for a log.
type source struct {
	*messageType // nil if the log is not made of the messages
	topic        string
	actor        string       // the name of the actor that the messages describe, "" for none
	message      msgs.Message // that is decoded, to be used again
	frame        uint64       // of the log, that has the last message
}

// newSource describes the messages on a channel.
func newSource(c *codec.Channel, o *WriteOptions) *source {
	s := &source{topic: c.Topic, actor: actorOf(c.Topic, o)}
	for i := range messageTypes {
		t := &messageTypes[i]
		if t.name == c.Type && c.Encoding == codec.EncodingCDR && (!t.ofActor || s.actor != "") {
			s.messageType, s.message = t, t.empty()
		}
	}
	if _, clock := s.message.(*rosgraph_msgs.Clock); clock && c.Topic != clockTopic {
		s.messageType = nil
	}
	return s
}

// Accepts reports whether a log is made of CDR messages of a type on a topic.
func (o WriteOptions) Accepts(topic, typeName string) bool {
	c := codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR}
	return newSource(&c, &o).messageType != nil
}

// actorOf returns the name of the actor that a topic describes, "" for none: that of /carla/NAME/odometry is NAME.
func actorOf(topic string, o *WriteOptions) string {
	for _, a := range o.Actors {
		for _, t := range a.Topics {
			if strings.TrimPrefix(t, "/") == strings.TrimPrefix(topic, "/") {
				return a.Name
			}
		}
	}
	if parts := strings.Split(topic, "/"); len(parts) == 4 && parts[0] == "" && parts[1] == "carla" {
		return parts[2]
	}
	return ""
}

// decode decodes a message of the channel.
func (s *source) decode(m *codec.Message) error {
	if err := cdr.Unmarshal(m.Data, s.message); err != nil {
		return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
	}
	return nil
}

// time returns the time of the decoded message, far in the future if it has none, 0 if that is not set.
func (s *source) time() time.Duration {
	if s.stamp == nil {
		return math.MaxInt64 / 2
	}
	return time.Duration(s.stamp(s.message).Nanoseconds())
}
