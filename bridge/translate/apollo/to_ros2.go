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
	"tapedeck/codec/encoding/cdr"
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
	return &toROS2{channels: map[*codec.Channel]*channel{}}, nil
}

type toROS2 struct {
	bridge.EveryMessage
	channels map[*codec.Channel]*channel
	order    []*channel // those whose losses are counted
}

var _ bridge.Translator = (*toROS2)(nil)

// channel is the translation of a channel.
type channel struct {
	pair      *pair
	plan      *plan
	targets   []*codec.Channel
	generates bool           // the plan encodes the messages of the last target
	restores  bool           // they are those that FromROS2 made the channel from
	only      *codec.Channel // the target that FromROS2 made the channel from; nil: unknown
	losses    bridge.LossCounters
}

// Topics restores what FromROS2 made a channel from, unless the messages of the channel do not match its metadata.
func (t *toROS2) Topics(topic codec.TopicInfo) (become []codec.TopicInfo, err error) {
	c := t.channels[topic.Channel]
	if c == nil && topic.Channel.Metadata[MetadataROSType] != "" {
		c, _ = restored(topic.Channel)
	}
	if c == nil {
		c, err = newChannel(topic.Channel)
		if err != nil {
			return nil, err
		}
		if c.only == nil { // otherwise FromROS2 added the fields that are lost
			t.order = append(t.order, c)
		}
	}
	t.channels[topic.Channel] = c
	for _, to := range c.targets {
		if c.only == nil || c.only == to {
			become = append(become, codec.TopicInfo{Channel: to, MessageCount: topic.MessageCount})
		}
	}
	return become, nil
}

// Losses returns the fields that no ROS 2 message has.
func (t *toROS2) Losses() []codec.Loss {
	var all []codec.Loss
	for _, c := range t.order {
		all = append(all, c.losses.Losses()...)
	}
	return all
}

func newChannel(source *codec.Channel) (*channel, error) {
	c := &channel{pair: pairOf(source.Type)}
	if c.pair == nil {
		c.pair = unmapped
	}
	d, err := descriptorOf(source)
	if err != nil {
		return nil, err
	}
	all, whole := describe(d), ""
	if last := c.pair.targets[len(c.pair.targets)-1]; last.typeName == generated {
		c.generates, whole = true, source.Topic+last.topic
		if err := all.encodeBlanks(); err != nil {
			return nil, err
		}
	}
	c.plan = all.root()
	for _, target := range c.pair.targets {
		to, err := target.channel(source.Topic, all)
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
	}
	c.restore(source)
	return c, nil
}

// channel returns the channel of a target of messages on a topic of Apollo, with the plans of their types.
func (t target) channel(apollo string, all *plans) (*codec.Channel, error) {
	topic := t.topic
	if topic == "" || topic[0] != '/' {
		topic = apollo + topic
	}
	qos := codec.DefaultQoS()
	if topic == "/tf_static" {
		qos.Durability, qos.Depth = codec.TransientLocal, 1
	}
	if t.typeName != generated {
		return codec.NewChannel(msgs.Library(), topic, t.typeName, qos)
	}
	library, err := all.library()
	if err != nil {
		return nil, err
	}
	return codec.NewChannel(library, topic, all.root().name, qos)
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
	r := &reading{wanted: wanted, losses: map[*channel]*fieldLoss{}}
	r.made = func(target int, m msgs.Message) {
		r.emit(target, func(dst []byte) ([]byte, error) { return cdr.Append(dst, m) })
	}
	r.unknown = func(p *plan) {
		c := r.channel
		r.parser.lost.add(c.losses.Lost(r.source.Channel.Topic, undescribedIn(p, c.plan)))
	}
	return func(source *codec.Message) ([]codec.Message, error) {
		return r.translate(t.channels[source.Channel], source)
	}
}

// reading is a reading of the recording. Its memory is reused for the next message.
type reading struct {
	wanted  func(*codec.Channel) bool
	made    func(target int, m msgs.Message) // emits a message that a pair made
	unknown func(*plan)                      // is called for fields that a plan does not have
	encoder planEncoder
	parser  parser
	losses  map[*channel]*fieldLoss // of those that have only some of the fields

	// Of the current message:
	source  *codec.Message
	channel *channel
	batch   bridge.Batch
	err     error
}

// wants reports whether messages of a target are wanted.
func (r *reading) wants(to *codec.Channel) bool {
	return (r.channel.only == nil || r.channel.only == to) && r.wanted(to)
}

// emit adds a message of a target, if it is wanted.
func (r *reading) emit(target int, encode func(dst []byte) ([]byte, error)) {
	to := r.channel.targets[target]
	if !r.wants(to) {
		return
	}
	m := codec.Message{Channel: to, LogTime: r.source.LogTime, PublishTime: r.source.PublishTime}
	if err := r.batch.Add(m, encode); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

func (r *reading) translate(c *channel, source *codec.Message) ([]codec.Message, error) {
	r.source, r.channel, r.err, r.parser.lost = source, c, nil, r.parser.lost[:0]
	r.batch.Messages = r.batch.Messages[:0]
	mapped := c.targets
	if c.generates {
		mapped = mapped[:len(mapped)-1]
	} else if r.losses[c] == nil {
		r.losses[c] = &fieldLoss{losses: &c.losses, topic: source.Channel.Topic}
	}
	if slices.ContainsFunc(mapped, r.wants) {
		if err := c.pair.toROS2(&r.parser, c.plan, source, r.losses[c], r.made); err != nil {
			return nil, err
		}
	}
	if c.generates {
		unknown := r.unknown
		if c.restores {
			unknown = nil
		}
		r.emit(len(c.targets)-1, func(dst []byte) ([]byte, error) {
			return r.encoder.append(dst, c.plan, source.Data, unknown)
		})
	}
	r.parser.lost.count()
	return r.batch.Messages, r.err
}
