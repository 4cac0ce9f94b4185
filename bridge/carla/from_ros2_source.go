package carla

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/tf2_msgs"
)

const clockTopic = "/clock"

// source is a channel of messages for a log.
type source struct {
	topic   string
	subject string       // the name of the actor that it is about, "" for none
	message msgs.Message // that is decoded, to be used again
	tells   bool         // something
	frame   uint64       // of the log, that has the last message
}

// newSource returns what messages on a channel tell.
func newSource(c *codec.Channel, o *WriteOptions) *source {
	s := &source{topic: c.Topic, message: newMessage(c.Type), subject: subjectOf(c.Topic, o)}
	s.tells = s.message != nil && c.Encoding == codec.EncodingCDR
	switch s.message.(type) {
	case *rosgraph_msgs.Clock:
		s.tells = s.tells && c.Topic == clockTopic
	case *nav_msgs.Odometry, *carla_msgs.CarlaEgoVehicleControl, *carla_msgs.CarlaEgoVehicleStatus,
		*carla_msgs.CarlaWalkerControl,
		*carla_msgs.CarlaCollisionEvent:
		s.tells = s.tells && s.subject != ""
	}
	return s
}

// Tells reports whether CDR messages of a type on a topic tell a log something.
func (o WriteOptions) Tells(topic, typeName string) bool {
	return newSource(&codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR}, &o).tells
}

// newMessage returns an empty message of a type that tells something; nil for others.
func newMessage(typeName string) msgs.Message {
	switch typeName {
	case "rosgraph_msgs/msg/Clock":
		return new(rosgraph_msgs.Clock)
	case "tf2_msgs/msg/TFMessage":
		return new(tf2_msgs.TFMessage)
	case "nav_msgs/msg/Odometry":
		return new(nav_msgs.Odometry)
	case "carla_msgs/msg/CarlaWorldInfo":
		return new(carla_msgs.CarlaWorldInfo)
	case "carla_msgs/msg/CarlaActorList":
		return new(carla_msgs.CarlaActorList)
	case "carla_msgs/msg/CarlaWeatherParameters":
		return new(carla_msgs.CarlaWeatherParameters)
	case "carla_msgs/msg/CarlaTrafficLightInfoList":
		return new(carla_msgs.CarlaTrafficLightInfoList)
	case "carla_msgs/msg/CarlaTrafficLightStatusList":
		return new(carla_msgs.CarlaTrafficLightStatusList)
	case "carla_msgs/msg/CarlaEgoVehicleControl":
		return new(carla_msgs.CarlaEgoVehicleControl)
	case "carla_msgs/msg/CarlaEgoVehicleStatus":
		return new(carla_msgs.CarlaEgoVehicleStatus)
	case "carla_msgs/msg/CarlaEgoVehicleInfo":
		return new(carla_msgs.CarlaEgoVehicleInfo)
	case "carla_msgs/msg/CarlaWalkerControl":
		return new(carla_msgs.CarlaWalkerControl)
	case "carla_msgs/msg/CarlaCollisionEvent":
		return new(carla_msgs.CarlaCollisionEvent)
	}
	return nil
}

// subjectOf returns the name of the actor that a topic is about, "" for none: that of /carla/NAME/odometry is NAME.
func subjectOf(topic string, o *WriteOptions) string {
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

// replaces reports whether a message makes the one before worthless, where time stands still.
func (s *source) replaces() bool {
	switch s.message.(type) {
	case *nav_msgs.Odometry, *carla_msgs.CarlaEgoVehicleControl, *carla_msgs.CarlaEgoVehicleStatus,
		*carla_msgs.CarlaWalkerControl,
		*carla_msgs.CarlaTrafficLightStatusList, *carla_msgs.CarlaWeatherParameters:
		return true
	}
	return false
}

// stampOf returns the time that a message is about, far in the future if it has none, 0 if that is not set.
func stampOf(m msgs.Message) time.Duration {
	var t builtin_interfaces.Time
	switch m := m.(type) {
	case *nav_msgs.Odometry:
		t = m.Header.Stamp
	case *carla_msgs.CarlaEgoVehicleControl:
		t = m.Header.Stamp
	case *carla_msgs.CarlaEgoVehicleStatus:
		t = m.Header.Stamp
	case *carla_msgs.CarlaCollisionEvent:
		t = m.Header.Stamp
	case *tf2_msgs.TFMessage:
		if len(m.Transforms) > 0 {
			t = m.Transforms[0].Header.Stamp
		}
	default:
		return math.MaxInt64
	}
	return duration(t)
}
