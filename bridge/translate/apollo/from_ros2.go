package apollo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// FromROS2 returns a translator of ROS 2 messages, codec.EncodingCDR, to Protocol Buffers. A message that ToROS2 made
// becomes the original Apollo message. A message with a counterpart in Apollo becomes the counterpart. Any other
// message becomes a message with equal fields, which record.Describe describes and ToROS2 restores. If a channel
// lacks a definition, the translator uses the definition of msgs.Library.
//
// The types to which Imu and PointCloud2 are translated depend on the first message of a channel in r. r may be nil.
func FromROS2(r codec.Reader) (bridge.Translator, error) {
	schema, err := readSchema()
	if err != nil {
		return nil, fmt.Errorf("read the schema of Apollo's types: %w", err)
	}
	return &fromROS2{
		reader: r, library: msgs.Library(), own: msgs.Release(""),
		schema: schema, channels: map[*codec.Channel]*outgoingChannel{},
	}, nil
}

// fromROS2 translates the ROS 2 channels of a recording.
type fromROS2 struct {
	bridge.EveryMessage
	bridge.LossCounters
	reader       codec.Reader
	library, own *rosidl.Library // own has the definitions of the Go types
	schema       *descriptorpb.FileDescriptorSet
	clouds       bool // describePoints was called
	channels     map[*codec.Channel]*outgoingChannel
}

// outgoingChannel is the translation of a channel.
type outgoingChannel struct {
	target *codec.Channel // nil: the channel is skipped, because another channel has the whole messages
	// begin returns a translation of the channel's messages, which keeps its state in the argument.
	begin func(*outgoing) translation
}

// translation appends the translation of a payload to out.
type translation func(out, payload []byte) ([]byte, error)

// outgoing returns the translation of a channel to target. plan describes the messages of target.
func (p *pair) outgoing(target *codec.Channel, plan *plan) *outgoingChannel {
	return &outgoingChannel{target: target, begin: func(r *outgoing) translation { return p.fromROS2(r, plan) }}
}

// outgoing is the state of the translation of a channel's messages.
type outgoing struct {
	sequence uint32 // sequence number of the current message
	losses   *bridge.LossCounters
	topic    string
	lost     messageLosses // losses of the current message
}

// lose counts content that the current message loses, if cond is true.
func (r *outgoing) lose(cond bool, content string) {
	if cond {
		r.lost.add(r.losses.Lost(r.topic, content))
	}
}

func (t *fromROS2) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	translated := t.channels[topic.Channel]
	if translated == nil {
		var err error
		translated, err = t.outgoingChannel(topic.Channel)
		if err != nil {
			return nil, err
		}
		t.channels[topic.Channel] = translated
	}
	if translated.target == nil {
		return nil, nil
	}
	return []codec.TopicInfo{{Channel: translated.target, MessageCount: topic.MessageCount}}, nil
}

// outgoingChannel returns the translation of a channel.
func (t *fromROS2) outgoingChannel(c *codec.Channel) (*outgoingChannel, error) {
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("its messages are %s, not ROS 2's CDR", c.Encoding)
	}
	library := t.library
	if c.Schema.Encoding == codec.SchemaROS2Msg && len(c.Schema.Data) > 0 {
		var err error
		library, err = c.Definitions()
		if err != nil {
			return nil, err
		}
		if m, err := library.Message(c.Type); err == nil && m.Unproven {
			return nil, fmt.Errorf("the definition of %s %w", c.Type, codec.ErrEmptyDefinition)
		}
	}
	if c.Metadata[MetadataType] != "" {
		if translated := t.originalChannel(c, library); translated != nil {
			return translated, nil
		}
	}
	if p := t.pairFor(c); p != nil && sameType(library, t.own, c.Type) {
		return t.pairedChannel(p, library, c)
	}
	return sameFields(library, c)
}

// sameType reports whether two libraries have equal definitions of a type.
func sameType(a, b *rosidl.Library, typeName string) bool {
	one, err := a.Hash(typeName)
	other, failed := b.Hash(typeName)
	return err == nil && failed == nil && one == other
}

// cdrChannels returns the ROS 2 channels of the recording.
func (t *fromROS2) cdrChannels() []*codec.Channel {
	if t.reader == nil {
		return nil
	}
	info, err := t.reader.Info()
	if err != nil {
		return nil // reading the messages returns the error, too
	}
	var channels []*codec.Channel
	for _, topic := range info.Topics {
		if topic.Channel.Encoding == codec.EncodingCDR {
			channels = append(channels, topic.Channel)
		}
	}
	return channels
}

// firstPayload returns the first readable payload of a channel, or nil if there is none.
func (t *fromROS2) firstPayload(c *codec.Channel) []byte {
	if t.reader == nil {
		return nil
	}
	q := codec.Query{Topics: func(o *codec.Channel) bool { return o == c }, Damaged: func(error) {}}
	it, err := t.reader.Read(q)
	if err != nil {
		return nil
	}
	defer it.Close()
	m, err := it.Next()
	if err != nil {
		return nil
	}
	return slices.Clone(m.Data)
}

// pairedChannel returns the translation of a channel by a pair.
func (t *fromROS2) pairedChannel(p *pair, library *rosidl.Library, c *codec.Channel) (*outgoingChannel, error) {
	if p.apollo == pointCloudType {
		t.describePoints()
	}
	set, err := filesDescribing(t.schema, protoreflect.FullName(p.apollo))
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", p.apollo, err)
	}
	files, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", p.apollo, err)
	}
	target := targetOf(c, p.apollo, files)
	target.Topic, target.QoS = strings.TrimSuffix(c.Topic, p.suffix), c.QoS
	if err := storeROSType(target, library, c); err != nil {
		return nil, err
	}
	d, err := descriptorOf(target)
	if err != nil {
		return nil, err
	}
	return p.outgoing(target, describe(d).root()), nil
}

func (t *fromROS2) Begin(func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	type channelTranslation struct {
		outgoing
		translate translation
	}
	translations := map[*codec.Channel]*channelTranslation{}
	var out [1]codec.Message
	var data []byte
	return func(m *codec.Message) ([]codec.Message, error) {
		translated := t.channels[m.Channel]
		if translated == nil {
			return nil, errors.New("the channel of the message is unknown")
		}
		if translated.target == nil {
			return nil, nil
		}
		r := translations[m.Channel]
		if r == nil {
			r = &channelTranslation{outgoing: outgoing{losses: &t.LossCounters, topic: m.Channel.Topic}}
			r.translate = translated.begin(&r.outgoing)
			translations[m.Channel] = r
		}
		data, r.lost = data[:0], r.lost[:0]
		var err error
		data, err = r.translate(data, m.Data)
		if err != nil {
			return nil, err
		}
		r.lost.count()
		r.sequence++
		out[0] = codec.Message{Channel: translated.target, LogTime: m.LogTime, PublishTime: m.PublishTime, Data: data}
		return out[:], nil
	}
}

var _ bridge.Translator = (*fromROS2)(nil)
