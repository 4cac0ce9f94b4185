// Package apollo translates the messages of Apollo, the driving platform, to ROS 2 and back. It follows the .proto
// files of Apollo's modules/common_msgs. Field numbers differ between releases, so that it reads every message by the
// field names in the descriptor that the recording itself carries.
//
// A message with a counterpart in ROS 2 becomes that. Messages without one, and those whose counterpart has fewer
// fields, become messages that are generated from the descriptor, with its fields and names, so that nothing is lost.
//
// The axes of Apollo's vehicle and IMU frames are right, forward and up, those of ROS forward, left and up. Vectors and
// orientations of the vehicle are turned to the frame base_link. Data with a frame of its own in Apollo's /tf stays in
// that frame. The world is Apollo's: UTM in an unknown zone, x east, y north, z up, in m.
package apollo

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
)

// Keys of the metadata of a ROS 2 channel that ToROS2 made.
const (
	// MetadataType is the full name of the Apollo type, "apollo.planning.ADCTrajectory".
	MetadataType = "apollo.type"
	// MetadataTopic is the Apollo topic. Channels with the same topic and type were made from the same messages.
	MetadataTopic = "apollo.topic"
	// MetadataDescriptor is the FileDescriptorSet that describes the type, in base64.
	MetadataDescriptor = "apollo.descriptor"
	// MetadataWhole is the topic of the generated messages, which have all fields of Apollo's. It is set for these and
	// for the other messages that have a part of the fields.
	MetadataWhole = "apollo.whole"
)

// ToROS2 returns a translator of Apollo messages, which are encoded as Protocol Buffers, and of messages that FromROS2
// made.
func ToROS2(codec.Reader) (bridge.Translator, error) {
	return newRoundTrip(&toROS2{channels: map[*codec.Channel]*channel{}}), nil
}

type toROS2 struct {
	channels map[*codec.Channel]*channel
	order    []*channel
}

// channel is the translation of an Apollo channel.
type channel struct {
	pair      *pair
	plans     *plans
	generates bool // the last target is of the generated type
	targets   []*codec.Channel
	losses    *losses
}

func (t *toROS2) Topics(topic codec.TopicInfo) (become []codec.TopicInfo, err error) {
	source := topic.Channel
	c := &channel{pair: pairOf(source.Type)}
	if c.pair == nil {
		c.pair = unmapped
	}
	d, err := descriptorOf(source)
	if err != nil {
		return nil, err
	}
	whole := ""
	if last := c.pair.targets[len(c.pair.targets)-1]; last.typeName == generated {
		c.generates, whole = true, source.Topic+last.topic
		if c.plans, err = plansOf(d); err != nil {
			return nil, err
		}
		c.losses = unknownFields(source.Topic, c.plans)
	} else {
		c.plans = describe(d)
		c.losses = unreadFields(source.Topic, d, c.pair.reads(d))
	}
	for _, target := range c.pair.targets {
		to, err := c.target(source, target)
		if err != nil {
			return nil, err
		}
		if len(source.QoS) > 0 {
			to.QoS = source.QoS
		}
		to.Metadata = map[string]string{}
		maps.Copy(to.Metadata, source.Metadata)
		to.Metadata[MetadataType], to.Metadata[MetadataTopic] = source.Type, source.Topic
		to.Metadata[MetadataDescriptor] = base64.StdEncoding.EncodeToString(source.Schema.Data)
		if whole != "" {
			to.Metadata[MetadataWhole] = whole
		}
		c.targets = append(c.targets, to)
		become = append(become, codec.TopicInfo{Channel: to, MessageCount: topic.MessageCount})
	}
	t.channels[source] = c
	t.order = append(t.order, c)
	return become, nil
}

// target returns the channel for a target.
func (c *channel) target(source *codec.Channel, target target) (*codec.Channel, error) {
	topic := target.topic
	if topic == "" || topic[0] != '/' {
		topic = source.Topic + topic
	}
	qos := codec.DefaultQoS()
	if topic == "/tf_static" {
		qos.Durability, qos.Depth = codec.TransientLocal, 1
	}
	if target.typeName != generated {
		return bridge.NewChannel(msgs.Library(), topic, target.typeName, qos)
	}
	library, err := c.plans.library()
	if err != nil {
		return nil, err
	}
	return bridge.NewChannel(library, topic, c.plans.root().name, qos)
}

// Losses returns the fields that no ROS 2 message has.
func (t *toROS2) Losses() []bridge.Loss {
	var all []bridge.Loss
	for _, c := range t.order {
		all = append(all, c.losses.counted()...)
	}
	return all
}

// descriptorOf returns the descriptor of a channel's messages.
func descriptorOf(c *codec.Channel) (protoreflect.MessageDescriptor, error) {
	if c.Schema.Encoding != codec.SchemaProtobuf {
		return nil, errors.New("the recording has no description of its messages")
	}
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(c.Schema.Data, &files); err != nil {
		return nil, fmt.Errorf("read the description of its messages: %w", codec.Plain(err))
	}
	registry, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&files)
	if err != nil {
		return nil, fmt.Errorf("read the description of its messages: %w", codec.Plain(err))
	}
	d, err := registry.FindDescriptorByName(protoreflect.FullName(c.Type))
	if err != nil {
		return nil, fmt.Errorf("read the description of its messages: %w", codec.Plain(err))
	}
	message, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, errors.New("the description of its messages is not a message")
	}
	return message, nil
}

func (t *toROS2) Begin(wanted func(*codec.Channel) bool) func(*codec.Message) ([]codec.Message, error) {
	if wanted == nil {
		wanted = func(*codec.Channel) bool { return true }
	}
	r := &reading{wanted: wanted, lost: map[*channel]*lost{}}
	return func(source *codec.Message) ([]codec.Message, error) {
		return r.translate(t.channels[source.Channel], source)
	}
}

// reading is a reading of the recording. Its memory is reused for the next message.
type reading struct {
	wanted  func(*codec.Channel) bool
	encoder planEncoder
	parser  parser
	lost    map[*channel]*lost
	ready   []codec.Message
	data    [][]byte // of ready
}

func (r *reading) translate(c *channel, source *codec.Message) ([]codec.Message, error) {
	lost := r.lost[c]
	if lost == nil {
		lost = c.losses.begin()
		r.lost[c] = lost
	}
	r.ready = r.ready[:0]
	var err error
	emit := func(target int, encode func([]byte) ([]byte, error)) {
		if !r.wanted(c.targets[target]) {
			return
		}
		n := len(r.ready)
		if n == len(r.data) {
			r.data = append(r.data, nil)
		}
		encoded, failed := encode(r.data[n][:0])
		if failed != nil {
			err = errors.Join(err, failed)
			return
		}
		r.data[n] = encoded
		r.ready = append(r.ready, codec.Message{
			Channel: c.targets[target], LogTime: source.LogTime, PublishTime: source.PublishTime, Data: encoded,
		})
	}
	mapped := c.targets
	if c.generates {
		mapped = mapped[:len(mapped)-1]
	}
	if slices.ContainsFunc(mapped, r.wanted) {
		failed := c.pair.toROS2(&r.parser, c.plans.root(), source, func(target int, m msgs.Message) {
			emit(target, func(dst []byte) ([]byte, error) { return cdr.Append(dst, m) })
		})
		if failed != nil {
			return nil, failed
		}
	}
	if c.generates {
		emit(len(c.targets)-1, func(dst []byte) ([]byte, error) {
			return r.encoder.append(dst, c.plans.root(), source.Data, func(p *plan) { lost.field(p.index) })
		})
	} else {
		c.losses.unread.count(lost, source.Data)
	}
	lost.add()
	return r.ready, err
}
