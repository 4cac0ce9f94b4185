package apollo

import (
	"fmt"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// restoring is a translator that makes messages which NewReverse has made of ROS 2's what they were, and leaves others to the
// one inside.
type restoring struct {
	bridge.Translator
	known map[*codec.Channel]*restored
}

// restored is what the messages of a channel were.
type restored struct {
	plan   *plan
	target *codec.Channel
}

func restore(t bridge.Translator) bridge.Translator {
	return &restoring{t, map[*codec.Channel]*restored{}}
}

// Topics implements bridge.Translator. A channel whose messages cannot be what its metadata says is left to the translator inside.
func (r *restoring) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	c := topic.Channel
	if c.Metadata[MetadataROSType] == "" {
		return r.Translator.Topics(topic)
	}
	known := r.known[c]
	if known == nil {
		var err error
		if known, err = newRestored(c); err != nil {
			return r.Translator.Topics(topic)
		}
		r.known[c] = known
	}
	return []codec.TopicInfo{{Channel: known.target, MessageCount: topic.MessageCount}}, nil
}

func newRestored(c *codec.Channel) (*restored, error) {
	name, text := c.Metadata[MetadataROSType], c.Metadata[MetadataROSDefinition]
	library, err := rosidl.ParseConcatenated(name, text)
	if err != nil {
		return nil, err
	}
	p, err := planOf(library, name, c)
	if err != nil {
		return nil, err
	}
	target := &codec.Channel{
		Topic: c.Topic, Type: name, Encoding: codec.EncodingCDR, QoS: c.QoS,
		Metadata: without(c.Metadata, MetadataROSType, MetadataROSDefinition),
		Schema:   codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
	}
	if target.TypeHash, err = library.Hash(name); err != nil {
		return nil, fmt.Errorf("hash %s: %w", name, err)
	}
	return &restored{p, target}, nil
}

// Begin implements bridge.Translator.
func (r *restoring) Begin() func(*codec.Message) ([]codec.Message, error) {
	inside := r.Translator.Begin()
	var out [1]codec.Message
	var e wire.Encoder
	return func(m *codec.Message) ([]codec.Message, error) {
		known := r.known[m.Channel]
		if known == nil {
			return inside(m)
		}
		e.Reset(e.Bytes()[:0])
		if err := known.plan.decodePayload(&e, m.Data); err != nil {
			return nil, err
		}
		out[0] = codec.Message{Channel: known.target, LogTime: m.LogTime, PublishTime: m.PublishTime, Data: e.Bytes()}
		return out[:], nil
	}
}

// Losses implements bridge.Lossy.
func (r *restoring) Losses() []bridge.Loss {
	if inside, ok := r.Translator.(bridge.Lossy); ok {
		return inside.Losses()
	}
	return nil
}

var _ bridge.Lossy = (*restoring)(nil)
