// Package px4 makes messages of sensor_msgs and nav_msgs from messages of px4_msgs. PX4's world axes are north, east,
// down, and its body axes are forward, right, down. The axes of ROS (REP 103) are east, north, up and forward, left,
// up. PX4's quaternions w, x, y, z rotate from body to world.
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

// rule makes standard messages from the messages of one type.
type rule struct {
	fields       []string        // required fields; messages of old versions of the type may lack some
	topics       []standardTopic // topics of the standard messages
	updatesState bool            // other rules need values of the messages
	make         func(*state, values) []msgs.Message
}

// standardTopic is the topic of a standard message, below the topic of the PX4 message.
type standardTopic struct {
	name    string
	message msgs.Message
}

// translation makes standard messages from the messages of a channel of PX4.
type translation struct {
	*rule
	schema      *cdr.Schema
	targets     []codec.TopicInfo // topics of the standard messages
	ownEstimate bool              // messages have the vehicle's estimate, not the estimate of one of several estimators
	vehicle     string            // namespace of the vehicle's topics
}

// translator returns the messages of PX4, and the standard messages that it makes from them.
type translator struct {
	translations   map[*codec.Channel]*translation
	standardTopics []codec.TopicInfo // topics of all translations
}

var _ bridge.Translator = (*translator)(nil)

// Standard returns a reader of the recording that r reads, with additional standard messages. The topics of the
// standard messages are below the topics of the messages of px4_msgs. Standard returns r if there are no such messages.
// The returned reader owns r.
func Standard(r codec.Reader) (codec.Reader, error) {
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	t := &translator{translations: map[*codec.Channel]*translation{}}
	library, own := msgs.Library(), msgs.Release("")
	for _, topic := range info.Topics {
		from, err := newTranslation(topic, library, own)
		if err != nil {
			return nil, err
		}
		if from != nil {
			t.translations[topic.Channel] = from
			t.standardTopics = append(t.standardTopics, from.targets...)
		}
	}
	if len(t.translations) == 0 {
		return r, nil
	}
	return bridge.Extend(r, t, t.standardTopics)
}

// newTranslation returns the translation of a channel, or nil if no rule applies.
func newTranslation(topic codec.TopicInfo, library, own *rosidl.Library) (*translation, error) {
	c := topic.Channel
	pkg, name, _ := strings.Cut(c.Type, "/msg/")
	applied := rules[name]
	if applied == nil || c.Encoding != codec.EncodingCDR || pkg != "px4_msgs" && pkg != "ulog" {
		return nil, nil
	}
	definitions := c.Library(library)
	m, err := definitions.Message(c.Type)
	if err != nil {
		return nil, nil // the messages cannot be decoded without a definition
	}
	for _, field := range applied.fields {
		if !slices.ContainsFunc(m.Fields, func(f rosidl.Field) bool { return f.Name == field }) {
			return nil, nil
		}
	}
	base := path.Base(c.Topic)
	s := &translation{rule: applied, ownEstimate: base == "vehicle_attitude" || base == "vehicle_angular_velocity",
		vehicle: path.Dir(c.Topic)}
	s.schema, err = cdr.NewSchema(definitions, c.Type)
	if err != nil {
		return nil, nil
	}
	for _, out := range applied.topics {
		to, err := codec.NewChannel(own, c.Topic+"/"+out.name, out.message.TypeName(), codec.DefaultQoS())
		if err != nil {
			return nil, err
		}
		s.targets = append(s.targets, codec.TopicInfo{Channel: to, MessageCount: topic.MessageCount})
	}
	return s, nil
}

// Topics implements bridge.Translator. It returns the topic itself first. If the rule of the topic updates the state,
// Topics returns all standard topics, because their messages depend on the state.
func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	from := t.translations[topic.Channel]
	if from == nil {
		return nil, errors.New("there are no standard messages for the type of the topic")
	}
	to := from.targets
	if from.updatesState {
		to = t.standardTopics
	}
	return slices.Concat([]codec.TopicInfo{topic}, to), nil
}

func (t *translator) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	states := map[string]*state{} // by namespace of the vehicle
	var batch bridge.Batch
	return func(m *codec.Message) ([]codec.Message, error) {
		from := t.translations[m.Channel]
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
		vehicle.begin(m, from.ownEstimate)
		for i, standard := range from.make(vehicle, values{fields}) {
			c := from.targets[i].Channel
			if wanted != nil && !wanted(c) {
				continue
			}
			err := batch.Add(codec.Message{Channel: c, LogTime: m.LogTime, PublishTime: m.PublishTime},
				func(dst []byte) ([]byte, error) { return cdr.Append(dst, standard) })
			if err != nil {
				return batch.Messages, fmt.Errorf("make %s: %w", standard.TypeName(), err)
			}
		}
		return batch.Messages, nil
	}
}

// Losses returns nothing, because the messages of PX4 are kept.
func (t *translator) Losses() []codec.Loss { return nil }

// Quiet implements bridge.Translator. It returns t, because standard messages depend on earlier messages.
func (t *translator) Quiet() bridge.Translator { return t }

// Close implements bridge.Translator.
func (t *translator) Close() error { return nil }
