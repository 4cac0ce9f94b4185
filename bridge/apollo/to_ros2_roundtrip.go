package apollo

import (
	"fmt"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// roundTrip is a translator that restores the ROS 2 messages from which FromROS2 made messages with the same fields. It
// leaves all others to the translator inside.
type roundTrip struct {
	bridge.Translator
	known  map[*codec.Channel]*roundTripChannel
	apollo map[*codec.Channel]*codec.Channel // the ROS 2 channels from which FromROS2 made Apollo messages
}

// roundTripChannel restores a channel.
type roundTripChannel struct {
	plan   *plan
	target *codec.Channel
}

func newRoundTrip(t bridge.Translator) bridge.Translator {
	return &roundTrip{t, map[*codec.Channel]*roundTripChannel{}, map[*codec.Channel]*codec.Channel{}}
}

// Topics leaves a channel whose messages do not match its metadata to the translator inside.
func (r *roundTrip) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	c := topic.Channel
	if c.Metadata[MetadataROSType] == "" {
		return r.Translator.Topics(topic)
	}
	known := r.known[c]
	if known == nil {
		var err error
		if known, err = newRoundTripChannel(c); err != nil {
			become, err := r.Translator.Topics(topic)
			return r.only(c, become), err
		}
		r.known[c] = known
	}
	return []codec.TopicInfo{{Channel: known.target, MessageCount: topic.MessageCount}}, nil
}

// only returns the topic that FromROS2 made the channel from, if it is among those that the channel becomes: the others
// have nothing more.
func (r *roundTrip) only(c *codec.Channel, become []codec.TopicInfo) []codec.TopicInfo {
	was, text := c.Metadata[MetadataROSType], c.Metadata[MetadataROSDefinition]
	for i, topic := range become {
		made := topic.Channel
		if made.Type != was || pairBetween(was, c.Type) == nil {
			continue
		}
		r.apollo[c] = made
		made.QoS, made.Metadata = c.QoS, without(c.Metadata, MetadataROSType, MetadataROSDefinition)
		if library, err := rosidl.ParseConcatenated(was, text); err == nil {
			if hash, err := library.Hash(was); err == nil && hash == made.TypeHash {
				made.Schema.Data = []byte(text)
			}
		}
		return become[i : i+1]
	}
	return become
}

func newRoundTripChannel(c *codec.Channel) (*roundTripChannel, error) {
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
	return &roundTripChannel{p, target}, nil
}

func (r *roundTrip) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	inside := r.Translator.Begin(wanted)
	var out [1]codec.Message
	var e planEncoder
	var data []byte
	return func(m *codec.Message) ([]codec.Message, error) {
		known := r.known[m.Channel]
		if known == nil {
			become, err := inside(m)
			if was := r.apollo[m.Channel]; was != nil {
				become = slices.DeleteFunc(become, func(m codec.Message) bool { return m.Channel != was })
			}
			return become, err
		}
		var err error
		if data, err = e.append(data[:0], known.plan, m.Data, nil); err != nil {
			return nil, err
		}
		out[0] = codec.Message{Channel: known.target, LogTime: m.LogTime, PublishTime: m.PublishTime, Data: data}
		return out[:], nil
	}
}

// Losses omits channels that FromROS2 made: their fields that ROS 2 does not have were added by it.
func (r *roundTrip) Losses() []bridge.Loss {
	topics := map[string]bool{}
	for c := range r.apollo {
		topics[c.Topic] = true
	}
	return slices.DeleteFunc(r.Translator.Losses(), func(l bridge.Loss) bool { return topics[l.Topic] })
}
