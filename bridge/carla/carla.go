// Package carla knows what the packets of CARLA's recorder mean in ROS 2, and makes logs of ROS 2 messages: these are those of
// carla_msgs and of ROS, the names those of CARLA's ROS bridge, https://github.com/carla-simulator/ros-bridge.
//
// CARLA's world looks forward, right and up and counts in cm and degrees. What comes out looks forward, left and up and counts
// in m and rad: everything is mirrored with y.
package carla

import (
	"fmt"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// The frame in which the world is.
const mapFrame = "map"

// New returns a translator of the logs in a recording. It goes through them once, for the actors that there are and what their
// topics are called.
func New(r codec.Reader) (bridge.Translator, error) { return ReadOptions{}.New(r) }

// New returns a translator as New does, with options.
func (o ReadOptions) New(r codec.Reader) (bridge.Translator, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	t := &translator{options: o, library: msgs.Library(), logs: map[*codec.Channel]*log{}, losses: losses{}}
	for _, topic := range info.Topics {
		if topic.Channel.Encoding != codec.EncodingCARLA {
			continue
		}
		s, err := newSurvey(r, topic.Channel, steps{o.Rate})
		if err != nil {
			t.logs[topic.Channel] = &log{err: err}
			continue
		}
		if t.logs[topic.Channel], err = t.newLog(s); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// translator implements bridge.Translator.
type translator struct {
	options ReadOptions
	losses
	library *rosidl.Library
	logs    map[*codec.Channel]*log
}

func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	l := t.logs[topic.Channel]
	if l == nil {
		return nil, fmt.Errorf("channel %s is not one of the recording", topic.Channel.Topic)
	}
	return l.topics, l.err
}

// Losses returns the packets that no message has, and how many frames had them.
func (t *translator) Losses() []bridge.Loss { return t.list() }

func (t *translator) Begin(func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	readings := map[*codec.Channel]*reading{}
	return func(m *codec.Message) ([]codec.Message, error) {
		r := readings[m.Channel]
		if r == nil {
			r = newReading(t.logs[m.Channel], t.losses)
			readings[m.Channel] = r
		}
		return r.translate(m)
	}
}
