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

// clockTopic is the topic of the time of simulation.
const clockTopic = "/clock"

// messageType describes a type of messages from which a log is made.
type messageType struct {
	name     string
	ofActor  bool // messages describe the actor that the topic names
	replaces bool // only the last message in a frame of the log counts
	empty    func() msgs.Message
	apply    func(*Writer, *decoder)                            // adds the decoded message to the current frame
	stamp    func(message msgs.Message) builtin_interfaces.Time // nil if messages have no stamp
}

// messageTypes lists the types of messages from which a log is made. Writer.tick processes a Clock.
var messageTypes = []messageType{
	newMessageType(messageType{}, func(*Writer, *decoder, *rosgraph_msgs.Clock) {}, nil),
	newMessageType(messageType{}, (*Writer).applyTransforms, func(m *tf2_msgs.TFMessage) (t builtin_interfaces.Time) {
		if len(m.Transforms) > 0 {
			t = m.Transforms[0].Header.Stamp
		}
		return t
	}),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).applyOdometry,
		func(m *nav_msgs.Odometry) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).applyVehicleControl,
		func(m *carla_msgs.CarlaEgoVehicleControl) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).applyVehicleStatus,
		func(m *carla_msgs.CarlaEgoVehicleStatus) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true}, (*Writer).applyCollision,
		func(m *carla_msgs.CarlaCollisionEvent) builtin_interfaces.Time { return m.Header.Stamp }),
	newMessageType(messageType{ofActor: true, replaces: true}, (*Writer).applyWalkerControl, nil),
	newMessageType(messageType{}, (*Writer).applyVehicleInfo, nil),
	newMessageType(messageType{}, (*Writer).applyWorldInfo, nil),
	newMessageType(messageType{}, (*Writer).applyActorList, nil),
	newMessageType(messageType{replaces: true}, (*Writer).applyStatus, nil),
	newMessageType(messageType{replaces: true}, (*Writer).applyWeather, nil),
	newMessageType(messageType{}, (*Writer).applyTrafficLights, nil),
	newMessageType(messageType{replaces: true}, (*Writer).applyTrafficLightStates, nil),
}

// newMessageType completes the description of the type M.
func newMessageType[M any, P interface {
	*M
	msgs.Message
}](t messageType, apply func(*Writer, *decoder, P), stamp func(P) builtin_interfaces.Time) messageType {
	t.name = P(new(M)).TypeName()
	t.empty = func() msgs.Message { return P(new(M)) }
	t.apply = func(w *Writer, d *decoder) { apply(w, d, d.message.(P)) }
	if stamp != nil {
		t.stamp = func(m msgs.Message) builtin_interfaces.Time { return stamp(m.(P)) }
	}
	return t
}

// decoder decodes the messages of a channel.
type decoder struct {
	*messageType // nil if the messages are skipped
	topic        string
	actor        string       // name of the actor that the messages describe; "" for none
	message      msgs.Message // the decoded message; decode overwrites it
	frame        uint64       // number of the log's frame that has the last message
}

// newDecoder returns the decoder of a channel.
func newDecoder(c *codec.Channel, o *WriteOptions) *decoder {
	d := &decoder{topic: c.Topic, actor: actorOf(c.Topic, o)}
	for i := range messageTypes {
		t := &messageTypes[i]
		if t.name == c.Type && c.Encoding == codec.EncodingCDR && (!t.ofActor || d.actor != "") {
			d.messageType, d.message = t, t.empty()
		}
	}
	if _, clock := d.message.(*rosgraph_msgs.Clock); clock && c.Topic != clockTopic {
		d.messageType = nil
	}
	return d
}

// Accepts reports whether a log can be made from CDR messages of a type on a topic.
func (o WriteOptions) Accepts(topic, typeName string) bool {
	c := codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR}
	return newDecoder(&c, &o).messageType != nil
}

// actorOf returns the name of the actor that a topic describes, or "" for none. For /carla/NAME/odometry it is NAME.
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

// decode decodes a message of the channel into d.message.
func (d *decoder) decode(m *codec.Message) error {
	if err := cdr.Unmarshal(m.Data, d.message); err != nil {
		return fmt.Errorf("%s [%s] at %d ns: %w", m.Channel.Topic, m.Channel.Type, m.LogTime, err)
	}
	return nil
}

// time returns the stamp of the decoded message. It returns a time far in the future if the type has no stamp, and 0 if
// the stamp is not set.
func (d *decoder) time() time.Duration {
	if d.stamp == nil {
		return math.MaxInt64 / 2
	}
	return time.Duration(d.stamp(d.message).Nanoseconds())
}
