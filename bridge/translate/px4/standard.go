// Package px4 makes messages of sensor_msgs and nav_msgs of those of px4_msgs. PX4's world axes are north, east, down
// and its body axes forward, right, down; those of ROS (REP 103) are east, north, up and forward, left, up. Its
// quaternions w, x, y, z rotate from body to world.
package px4

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// rule makes messages of one type. Messages of old versions of the type lack some of the fields.
type rule struct {
	fields []string // that there must be
	topics []output // below the topic
	learns bool     // others need what these messages say
	make   func(*state, values) []msgs.Message
}

// output is a topic for a message of a type.
type output struct {
	name    string
	message msgs.Message
}

// source is a channel of PX4 with what becomes of it.
type source struct {
	*rule
	schema *cdr.Schema
	to     []codec.TopicInfo
	own    bool // of the vehicle's own estimate, not of one of several estimators
	// the namespace of its topics
	vehicle string
}

// translator returns the messages of PX4, and standard messages that it makes from them.
type translator struct {
	sources map[*codec.Channel]*source
	made    []codec.TopicInfo // of all sources
}

var _ bridge.Translator = (*translator)(nil)

// Standard returns the recording that r reads with standard messages beside those of px4_msgs, on topics below theirs.
// It is r itself if there are none. The reader returned owns r.
func Standard(r codec.Reader) (codec.Reader, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	t := &translator{sources: map[*codec.Channel]*source{}}
	library, own := msgs.Library(), msgs.Release("")
	for _, topic := range info.Topics {
		from, err := newSource(topic, library, own)
		if err != nil {
			return nil, err
		}
		if from != nil {
			t.sources[topic.Channel] = from
			t.made = append(t.made, from.to...)
		}
	}
	if len(t.sources) == 0 {
		return r, nil
	}
	return bridge.Extend(r, t, t.made)
}

// newSource returns what becomes of a channel; nil if there is no rule for it.
func newSource(topic codec.TopicInfo, library, own *rosidl.Library) (*source, error) {
	c := topic.Channel
	pkg, name, _ := strings.Cut(c.Type, "/msg/")
	known := rules[name]
	if known == nil || c.Encoding != codec.EncodingCDR || pkg != "px4_msgs" && pkg != "ulog" {
		return nil, nil
	}
	definitions := c.Library(library)
	m, err := definitions.Message(c.Type)
	if err != nil {
		return nil, nil // without a definition nothing can be made of it
	}
	for _, field := range known.fields {
		if !slices.ContainsFunc(m.Fields, func(f rosidl.Field) bool { return f.Name == field }) {
			return nil, nil
		}
	}
	base := path.Base(c.Topic)
	s := &source{rule: known, own: base == "vehicle_attitude" || base == "vehicle_angular_velocity",
		vehicle: path.Dir(c.Topic)}
	s.schema, err = cdr.NewSchema(definitions, c.Type)
	if err != nil {
		return nil, nil
	}
	for _, out := range known.topics {
		to, err := codec.NewChannel(own, c.Topic+"/"+out.name, out.message.TypeName(), codec.DefaultQoS())
		if err != nil {
			return nil, err
		}
		s.to = append(s.to, codec.TopicInfo{Channel: to, MessageCount: topic.MessageCount})
	}
	return s, nil
}

// Topics returns the topic itself first. Messages that others need become messages of all topics that are made.
func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	from := t.sources[topic.Channel]
	if from == nil {
		return nil, errors.New("there are no standard messages for its type")
	}
	to := from.to
	if from.learns {
		to = t.made
	}
	return slices.Concat([]codec.TopicInfo{topic}, to), nil
}

func (t *translator) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	states := map[string]*state{} // of vehicles, by the namespaces of their topics
	var batch bridge.Batch
	return func(m *codec.Message) ([]codec.Message, error) {
		from := t.sources[m.Channel]
		batch.Messages = append(batch.Messages[:0], *m)
		fields, err := from.schema.Decode(m.Data)
		if err != nil {
			return batch.Messages, err
		}
		vehicle := states[from.vehicle]
		if vehicle == nil {
			vehicle = &state{attitude: unknownAttitude}
			states[from.vehicle] = vehicle
		}
		vehicle.begin(m, from.own)
		for i, made := range from.make(vehicle, values{fields}) {
			c := from.to[i].Channel
			if wanted != nil && !wanted(c) {
				continue
			}
			err := batch.Add(codec.Message{Channel: c, LogTime: m.LogTime, PublishTime: m.PublishTime},
				func(dst []byte) ([]byte, error) { return cdr.Append(dst, made) })
			if err != nil {
				return batch.Messages, fmt.Errorf("make %s: %w", made.TypeName(), err)
			}
		}
		return batch.Messages, nil
	}
}

// Losses returns nothing: the messages of PX4 stay.
func (t *translator) Losses() []codec.Loss { return nil }

// Quiet implements bridge.Translator: what is made depends on earlier messages.
func (t *translator) Quiet() bridge.Translator { return t }

// Close implements bridge.Translator.
func (t *translator) Close() error { return nil }
