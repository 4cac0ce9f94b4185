package apollo

import (
	"cmp"
	"errors"
	"fmt"
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
	begin func(*reversing) translation
}

// translation appends what a payload becomes to out.
type translation func(out *[]byte, payload []byte) error

// reversing is a reading of a channel whose messages are translated.
type reversing struct {
	by       *reverse
	topic    string
	sequence uint32 // of the message that is translated
}

// lose counts the message that is translated as one that loses something, if it does.
func (r *reversing) lose(does bool, what string) {
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
		if made := t.original(c, library); made != nil {
			return made, nil
		}
	}
	if m := t.mapping(c); m != nil && t.sameType(library, c.Type) {
		return t.mapped(m, library, c)
	}
	return sameFields(library, c)
}

// sameType says whether the messages of a type are what those of the Go type are.
func (t *reverse) sameType(library *rosidl.Library, typeName string) bool {
	return sameTypes(library, t.own, typeName)
}

func sameTypes(a, b *rosidl.Library, typeName string) bool {
	one, err := a.Hash(typeName)
	other, failed := b.Hash(typeName)
	return err == nil && failed == nil && one == other
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

// mapped returns what becomes of messages with a mapping.
func (t *reverse) mapped(m *reverseMapping, library *rosidl.Library, c *codec.Channel) (*reversal, error) {
	if m.to == pointCloudType {
		t.describePoints()
	}
	set, err := closure(t.schema, protoreflect.FullName(m.to))
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", m.to, err)
	}
	files, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", m.to, err)
	}
	target := targetOf(c, m.to, files)
	target.Topic, target.QoS = m.topic(c.Topic), c.QoS
	if err := remember(target, library, c); err != nil {
		return nil, err
	}
	d, err := descriptorOf(target)
	if err != nil {
		return nil, err
	}
	s := shapes{}.of(d)
	return &reversal{target: target, begin: func(r *reversing) translation { return m.begin(r, s) }}, nil
}

// Begin implements bridge.Translator.
func (t *reverse) Begin(func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	type begun struct {
		reversing
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
			r = &begun{reversing: reversing{by: t, topic: m.Channel.Topic}}
			r.translate = made.begin(&r.reversing)
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
