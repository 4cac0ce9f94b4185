package ros1

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// translation is the translation of a channel.
type translation struct {
	*plan
	channel *codec.Channel
	lost    []*atomic.Uint64 // numbers of messages with a loss, by index in plan.losses
}

// translator translates in one direction. payload, newChannel and newPlan depend on the direction.
type translator struct {
	bridge.EveryMessage
	bridge.LossCounters
	payload    func(dst, payload []byte, steps []step) ([]byte, uint64, error)
	newChannel func(*plan, *codec.Channel) *codec.Channel
	newPlan    func(*codec.Channel) (*plan, error)
	plans      map[string]*plan // results of newPlan, by type, definition and encoding of a channel
	byChannel  map[*codec.Channel]*translation
}

func newTranslator(
	payload func(dst, payload []byte, steps []step) ([]byte, uint64, error),
	newChannel func(*plan, *codec.Channel) *codec.Channel, newPlan func(*codec.Channel) (*plan, error),
) *translator {
	return &translator{payload: payload, newChannel: newChannel, newPlan: newPlan, plans: map[string]*plan{},
		byChannel: map[*codec.Channel]*translation{}}
}

// ToROS2 returns a translator of ROS 1 messages, codec.EncodingROS1, to ROS 2. It uses the ROS 2 types of msgs.Library.
func ToROS2(codec.Reader) (bridge.Translator, error) {
	library := msgs.Library()
	return newTranslator(toCDR, ros2Channel, func(c *codec.Channel) (*plan, error) {
		if c.Encoding != codec.EncodingROS1 || c.Schema.Encoding != codec.SchemaROS1Msg && len(c.Schema.Data) > 0 {
			return nil, errors.New("the channel has no ROS 1 definition")
		}
		text, err := definition(c, library, msgs.Release("humble"))
		if err != nil {
			return nil, err
		}
		return planToROS2(library, c.Type, text)
	}), nil
}

// ros2Channel returns the channel of ROS 2 messages to which c, a channel of ROS 1 messages, is translated.
func ros2Channel(p *plan, c *codec.Channel) *codec.Channel {
	return &codec.Channel{
		Topic: "/" + strings.TrimPrefix(c.Topic, "/"), Type: p.name, Encoding: codec.EncodingCDR, TypeHash: p.sum,
		QoS: c.QoS, Metadata: c.Metadata,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(p.text)},
	}
}

// definition returns the ROS 1 definition of a channel's type. If the channel has no definition, or one without fields,
// definition searches libraries for the MD5 sum or, if the channel has no sum, for the name of the type.
func definition(c *codec.Channel, libraries ...*rosidl.Library) (string, error) {
	text := string(c.Schema.Data)
	if !rosbag.LacksFields(c) {
		return text, nil
	}
	name := successors[c.Type]
	if name == "" {
		name = strings.Replace(c.Type, "/", "/msg/", 1)
	}
	sum := c.Metadata["md5sum"]
	for _, library := range libraries {
		t, err := planToROS1(library, name)
		if err == nil && t.name == c.Type && (sum == "" || sum == "*" || sum == t.sum) {
			return t.text, nil
		}
	}
	return "", fmt.Errorf("the definition of %s %w", c.Type, codec.ErrEmptyDefinition)
}

// planToROS2 returns the plan that translates messages of a ROS 1 type to ROS 2.
func planToROS2(library *rosidl.Library, name, definition string) (*plan, error) {
	definitions, err := rosbag.ParseDefinitions(name, definition)
	if err != nil {
		return nil, err
	}
	m := matcher{definitions: definitions, library: library, matches: map[string]*match{}, texts: map[string]string{}}
	found, err := m.match(name)
	if err != nil {
		return nil, err
	}
	text := m.texts[found.name]
	delete(m.texts, found.name)
	for contained, more := range m.texts {
		text += fmt.Sprintf("\n%s\nMSG: %s\n%s", strings.Repeat("=", 80), contained, more)
	}
	// Parsing and concatenating drops definitions that are not needed and sorts the others.
	own, err := rosidl.ParseConcatenated(found.name, text)
	if err != nil {
		return nil, err
	}
	t := &plan{name: found.name, steps: found.steps, losses: m.losses}
	t.text, err = own.Concatenated(t.name)
	if err == nil {
		t.sum, err = own.Hash(t.name)
	}
	return t, err
}

func (t *translator) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	translated := t.byChannel[topic.Channel]
	if translated == nil {
		c := topic.Channel
		key := strings.Join([]string{c.Encoding, c.Type, c.Schema.Encoding, c.Metadata["md5sum"],
			string(c.Schema.Data)}, "\n")
		p := t.plans[key]
		if p == nil {
			var err error
			p, err = t.newPlan(c)
			if err != nil {
				return nil, err
			}
			t.plans[key] = p
		}
		translated = &translation{plan: p, channel: t.newChannel(p, c)}
		for _, loss := range p.losses {
			translated.lost = append(translated.lost, t.Lost(c.Topic, loss))
		}
		t.byChannel[c] = translated
	}
	return []codec.TopicInfo{{Channel: translated.channel, MessageCount: topic.MessageCount}}, nil
}

func (t *translator) Begin(func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	var out [1]codec.Message
	var pool codec.Pool
	return func(m *codec.Message) ([]codec.Message, error) {
		translated := t.byChannel[m.Channel]
		if translated == nil {
			return nil, errors.New("the channel of the message is unknown")
		}
		payload := m.Data
		if translated.unproven {
			if err := translated.requireNoFields(payload); err != nil {
				return nil, err
			}
		}
		if translated.schema != nil && bytes.HasPrefix(payload, bigEndian) {
			var err error
			payload, err = translated.toLittleEndian(payload)
			if err != nil {
				return nil, err
			}
		}
		data, lost, err := t.payload(pool.Take(), payload, translated.steps)
		out[0] = codec.Message{Channel: translated.channel, LogTime: m.LogTime, PublishTime: m.PublishTime, Data: data,
			Buffer: pool.Lend(data)}
		if err != nil {
			return nil, err
		}
		for ; lost != 0; lost &= lost - 1 {
			translated.lost[bits.TrailingZeros64(lost)].Add(1)
		}
		return out[:], nil
	}
}

// bigEndian is the prefix of big-endian payloads of plain CDR.
var bigEndian = []byte{0, 0}

// requireNoFields returns an error if a payload of ROS 2 shows that its type has fields, although the definition has
// none.
func (p *plan) requireNoFields(payload []byte) error {
	schema, err := p.schema()
	if err == nil {
		_, err = schema.Decode(payload)
	}
	return err
}

// toLittleEndian returns a big-endian payload in little-endian order. It is slow, which is acceptable: few robots need
// it.
func (p *plan) toLittleEndian(payload []byte) ([]byte, error) {
	schema, err := p.schema()
	if err != nil {
		return nil, err
	}
	m, err := schema.Decode(payload)
	if err != nil {
		return nil, err
	}
	return schema.Encode(m)
}

var _ bridge.Translator = (*translator)(nil)
