package apollo

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// NewReverse returns the reverse: the translator of messages of ROS 2, codec.EncodingCDR, to Protocol Buffers. They become
// Apollo's where Apollo has the like, or those that they were made of, and otherwise messages with the same fields, which
// record.Describe describes and of which New makes the same messages of ROS 2 again. A definition that a channel lacks is taken
// from msgs.Library.
//
// What a channel of Imu or PointCloud2 becomes is seen from its first message in r, which may be nil.
func NewReverse(r codec.Reader) (bridge.Translator, error) {
	schema, err := parseSchema(schemaText)
	if err != nil {
		return nil, fmt.Errorf("read the schema of Apollo's types: %w", err)
	}
	return &reverse{
		reader: r, library: msgs.Library(), own: msgs.Release(""), schema: schema,
		reversals: map[*codec.Channel]*reversal{}, losses: map[bridge.Loss]uint64{},
	}, nil
}

// reverse implements bridge.Translator and bridge.Lossy.
type reverse struct {
	reader       codec.Reader
	library, own *rosidl.Library // own is what the Go types are made of
	schema       *descriptorpb.FileDescriptorSet
	clouds       bool // the schema has what points of the recording's clouds have
	reversals    map[*codec.Channel]*reversal

	mu     sync.Mutex
	losses map[bridge.Loss]uint64 // by what it is, without a count
}

// reversal is what becomes of the messages of a channel.
type reversal struct {
	target *codec.Channel // nil when another channel has all of it
	// begin begins a reading. The function that it returns appends what a payload becomes.
	begin func(*reading) translation
}

// translation appends what a payload becomes to out.
type translation func(out *[]byte, payload []byte) error

// reading is a reading of a channel.
type reading struct {
	by       *reverse
	topic    string
	sequence uint32 // of the message that is translated
}

// lose counts the message that is translated as one that loses something, if it does.
func (r *reading) lose(does bool, what string) {
	if does {
		r.by.mu.Lock()
		defer r.by.mu.Unlock()
		r.by.losses[bridge.Loss{Topic: r.topic, What: what}]++
	}
}

// Losses implements bridge.Lossy.
func (t *reverse) Losses() []bridge.Loss {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []bridge.Loss
	for loss, n := range t.losses {
		loss.Messages = n
		all = append(all, loss)
	}
	slices.SortFunc(all, func(a, b bridge.Loss) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.What, b.What))
	})
	return all
}

// Topics implements bridge.Translator.
func (t *reverse) Topics(topic codec.TopicInfo) ([]codec.TopicInfo, error) {
	made := t.reversals[topic.Channel]
	if made == nil {
		var err error
		if made, err = t.reversal(topic.Channel); err != nil {
			return nil, err
		}
		t.reversals[topic.Channel] = made
	}
	if made.target == nil {
		return nil, nil
	}
	return []codec.TopicInfo{{Channel: made.target, MessageCount: topic.MessageCount}}, nil
}

func (t *reverse) reversal(c *codec.Channel) (*reversal, error) {
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("its messages are %s, not ROS 2's CDR", c.Encoding)
	}
	library := t.library
	if c.Schema.Encoding == codec.SchemaROS2Msg && len(c.Schema.Data) > 0 {
		var err error
		if library, err = rosidl.ParseConcatenated(c.Type, string(c.Schema.Data)); err != nil {
			return nil, err
		}
	}
	if c.Metadata[MetadataType] != "" {
		if made, err := t.original(c, library); made != nil || err != nil {
			return made, err
		}
	}
	if m := t.mapping(c); m != nil && t.sameType(library, c.Type) {
		return t.mapped(m, c, m.to, m.topic(c.Topic), nil)
	}
	return generated(library, c)
}

// sameType says whether the messages of a type are what those of the Go type are.
func (t *reverse) sameType(library *rosidl.Library, typeName string) bool {
	hash, err := library.Hash(typeName)
	own, failed := t.own.Hash(typeName)
	return err == nil && failed == nil && hash == own
}

// original returns what becomes of messages that were made of Apollo's: what they were; nil if that cannot be had.
func (t *reverse) original(c *codec.Channel, library *rosidl.Library) (*reversal, error) {
	was, topic := c.Metadata[MetadataType], cmp.Or(c.Metadata[MetadataTopic], c.Topic)
	set := new(descriptorpb.FileDescriptorSet)
	text, err := base64.StdEncoding.DecodeString(c.Metadata[MetadataDescriptor])
	if err == nil {
		err = proto.Unmarshal(text, set)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s in the channel's metadata: %w", MetadataDescriptor, err)
	}
	m := mappingTo(c.Type, was)
	others := t.siblings(c)
	if whole := c.Metadata[MetadataWhole]; whole != "" && slices.ContainsFunc(others, func(o *codec.Channel) bool { return o.Topic == whole }) ||
		m == nil && slices.ContainsFunc(others, func(o *codec.Channel) bool { return mappingTo(o.Type, was) != nil }) {
		return &reversal{}, nil
	}
	if m != nil && t.sameType(library, c.Type) {
		return t.mapped(m, c, was, topic, set)
	}
	return nil, nil
}

// siblings returns the other channels whose messages were made of the same messages of Apollo's.
func (t *reverse) siblings(c *codec.Channel) []*codec.Channel {
	var all []*codec.Channel
	for _, o := range t.channels() {
		if o != c && o.Metadata[MetadataType] == c.Metadata[MetadataType] && o.Metadata[MetadataTopic] == c.Metadata[MetadataTopic] {
			all = append(all, o)
		}
	}
	return all
}

// channels returns those of ROS 2 in the recording.
func (t *reverse) channels() []*codec.Channel {
	if t.reader == nil {
		return nil
	}
	info, err := t.reader.Info()
	if err != nil {
		return nil // whoever reads the messages meets it, too
	}
	var all []*codec.Channel
	for _, topic := range info.Topics {
		if topic.Channel.Encoding == codec.EncodingCDR {
			all = append(all, topic.Channel)
		}
	}
	return all
}

// first returns the first payload of a channel in the recording, nil if there is none or it cannot be read.
func (t *reverse) first(c *codec.Channel) []byte {
	if t.reader == nil {
		return nil
	}
	it, err := t.reader.Read(codec.Query{Topics: func(o *codec.Channel) bool { return o == c }})
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

// mapped returns what becomes of messages with a mapping. set describes the type of Apollo's, nil if tapedeck's own schema does.
func (t *reverse) mapped(m *reverseMapping, c *codec.Channel, to, topic string, set *descriptorpb.FileDescriptorSet) (*reversal, error) {
	target := &codec.Channel{Topic: topic, Type: to, Encoding: codec.EncodingProtobuf, Metadata: maps.Clone(c.Metadata)}
	if set == nil {
		if m.to == pointCloudType {
			t.describePoints()
		}
		var err error
		if set, err = closure(t.schema, protoreflect.FullName(to)); err != nil {
			return nil, fmt.Errorf("describe %s: %w", to, err)
		}
		target.QoS = c.QoS
	}
	for _, key := range []string{MetadataType, MetadataTopic, MetadataDescriptor, MetadataWhole} {
		delete(target.Metadata, key)
	}
	schema, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", to, err)
	}
	target.Schema = codec.Schema{Encoding: codec.SchemaProtobuf, Data: schema}
	d, err := descriptorOf(target)
	if err != nil {
		return nil, err
	}
	s := shapes{}.of(d)
	return &reversal{target: target, begin: func(r *reading) translation { return m.begin(r, s) }}, nil
}

// Begin implements bridge.Translator.
func (t *reverse) Begin() func(*codec.Message) ([]codec.Message, error) {
	type begun struct {
		reading
		translate translation
	}
	readings := map[*codec.Channel]*begun{}
	var out [1]codec.Message
	var data []byte
	return func(m *codec.Message) ([]codec.Message, error) {
		made := t.reversals[m.Channel]
		if made == nil {
			return nil, errors.New("its channel was not announced")
		}
		if made.target == nil {
			return nil, nil
		}
		r := readings[m.Channel]
		if r == nil {
			r = &begun{reading: reading{by: t, topic: m.Channel.Topic}}
			r.translate = made.begin(&r.reading)
			readings[m.Channel] = r
		}
		data = data[:0]
		if err := r.translate(&data, m.Data); err != nil {
			return nil, err
		}
		r.sequence++
		out[0] = codec.Message{Channel: made.target, LogTime: m.LogTime, PublishTime: m.PublishTime, Data: data}
		return out[:], nil
	}
}

var _ bridge.Lossy = (*reverse)(nil)
