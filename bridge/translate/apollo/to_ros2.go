// Package apollo translates the messages of Apollo, the driving platform, to ROS 2 and back. It follows the .proto
// files of Apollo's modules/common_msgs. Field numbers differ between releases, so the package finds fields by name,
// in the descriptor that the recording contains.
//
// A message with a counterpart in ROS 2 becomes the counterpart. If there is no counterpart, or if it lacks fields, the
// message also becomes a message of a generated type with all fields of the descriptor, so that nothing is lost. The
// lossy pairs have no generated message.
//
// The axes of Apollo's vehicle and IMU frames are right, forward and up. The axes of ROS are forward, left and up.
// Vectors and orientations of the vehicle are converted to the frame base_link. Data with another frame in Apollo's /tf
// stays in that frame. The world is Apollo's: UTM in an unknown zone, x east, y north, z up, in m.
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
	// MetadataTopic is the Apollo topic. Channels with equal topic and type were made from one Apollo channel.
	MetadataTopic = "apollo.topic"
	// MetadataDescriptor is the FileDescriptorSet that describes the type, in base64.
	MetadataDescriptor = "apollo.descriptor"
	// MetadataWhole is the topic of the generated messages, which have all fields of the Apollo messages. It is set for
	// all channels that were made from a channel with generated messages.
	MetadataWhole = "apollo.whole"
)

// ToROS2 returns a translator of Apollo messages, which are encoded as Protocol Buffers, and of messages that FromROS2
// made.
func ToROS2(codec.Reader) (bridge.Translator, error) {
	return &toROS2{channels: map[*codec.Channel]*channel{}}, nil
}

// toROS2 translates the Apollo channels of a recording.
type toROS2 struct {
	bridge.EveryMessage
	channels map[*codec.Channel]*channel
	counted  []*channel // channels whose losses are reported, in the order of Topics
}

var _ bridge.Translator = (*toROS2)(nil)

// channel is the translation of a channel.
type channel struct {
	pair      *pair
	plan      *plan
	targets   []*codec.Channel
	generates bool           // plan encodes the messages of the last target
	restores  bool           // the last target has the ROS 2 messages from which FromROS2 made the channel
	only      *codec.Channel // the only target with messages, from which FromROS2 made the channel; nil: all targets
	losses    bridge.LossCounters
}

// Topics implements bridge.Translator. If FromROS2 made a channel, Topics restores the original ROS 2 channel, unless
// the messages of the channel do not match the channel's metadata.
func (t *toROS2) Topics(topic codec.TopicInfo) (topics []codec.TopicInfo, err error) {
	c := t.channels[topic.Channel]
	if c == nil && topic.Channel.Metadata[MetadataROSType] != "" {
		c, _ = restoredChannel(topic.Channel)
	}
	if c == nil {
		c, err = newChannel(topic.Channel)
		if err != nil {
			return nil, err
		}
		if c.only == nil { // the only fields that a restored message loses are fields that FromROS2 added
			t.counted = append(t.counted, c)
		}
	}
	t.channels[topic.Channel] = c
	for _, to := range c.targets {
		if c.only == nil || c.only == to {
			topics = append(topics, codec.TopicInfo{Channel: to, MessageCount: topic.MessageCount})
		}
	}
	return topics, nil
}

// Losses implements bridge.Translator. It returns the fields that no ROS 2 message has.
func (t *toROS2) Losses() []codec.Loss {
	var losses []codec.Loss
	for _, c := range t.counted {
		losses = append(losses, c.losses.Losses()...)
	}
	return losses
}

// newChannel returns the translation of a channel by the pair of the channel's type.
func newChannel(original *codec.Channel) (*channel, error) {
	c := &channel{pair: pairOf(original.Type)}
	if c.pair == nil {
		c.pair = unmapped
	}
	d, err := descriptorOf(original)
	if err != nil {
		return nil, err
	}
	plans, generatedTopic := describe(d), ""
	if last := c.pair.targets[len(c.pair.targets)-1]; last.typeName == generatedType {
		c.generates, generatedTopic = true, original.Topic+last.topic
		if err := plans.encodeBlanks(); err != nil {
			return nil, err
		}
	}
	c.plan = plans.root()
	for _, target := range c.pair.targets {
		to, err := target.channel(original.Topic, plans)
		if err != nil {
			return nil, err
		}
		if len(original.QoS) > 0 {
			to.QoS = original.QoS
		}
		to.Metadata = map[string]string{}
		maps.Copy(to.Metadata, original.Metadata)
		to.Metadata[MetadataType], to.Metadata[MetadataTopic] = original.Type, original.Topic
		to.Metadata[MetadataDescriptor] = base64.StdEncoding.EncodeToString(original.Schema.Data)
		if generatedTopic != "" {
			to.Metadata[MetadataWhole] = generatedTopic
		}
		c.targets = append(c.targets, to)
	}
	c.restore(original)
	return c, nil
}

// channel returns the ROS 2 channel of a target. apollo is the Apollo topic. plans are the plans of the Apollo type.
func (t target) channel(apollo string, plans *plans) (*codec.Channel, error) {
	topic := t.topic
	if topic == "" || topic[0] != '/' {
		topic = apollo + topic
	}
	qos := codec.DefaultQoS()
	if topic == "/tf_static" {
		qos.Durability, qos.Depth = codec.TransientLocal, 1
	}
	if t.typeName != generatedType {
		return codec.NewChannel(msgs.Library(), topic, t.typeName, qos)
	}
	library, err := plans.library()
	if err != nil {
		return nil, err
	}
	return codec.NewChannel(library, topic, plans.root().name, qos)
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
	r := &recordingTranslator{wanted: wanted, losses: map[*channel]*fieldLoss{}}
	r.emitMessage = func(target int, m msgs.Message) {
		r.emit(target, func(dst []byte) ([]byte, error) { return cdr.Append(dst, m) })
	}
	r.unknown = func(p *plan) {
		c := r.channel
		r.parser.lost.add(c.losses.Lost(r.original.Channel.Topic, undescribedIn(p, c.plan)))
	}
	return func(original *codec.Message) ([]codec.Message, error) {
		return r.translate(t.channels[original.Channel], original)
	}
}

// recordingTranslator translates the messages of a recording. Each message overwrites its memory.
type recordingTranslator struct {
	wanted      func(*codec.Channel) bool
	emitMessage func(target int, m msgs.Message) // emits a message for a target of a pair
	unknown     func(*plan)                      // counts a message with fields that a plan does not have
	encoder     planEncoder
	parser      parser
	losses      map[*channel]*fieldLoss // losses of channels without generated messages

	original *codec.Message // the current message
	channel  *channel       // the translation of the message's channel
	batch    bridge.Batch   // messages to which the current message was translated
	err      error          // joined errors of emit
}

// wants reports whether messages of a target are wanted.
func (r *recordingTranslator) wants(to *codec.Channel) bool {
	return (r.channel.only == nil || r.channel.only == to) && r.wanted(to)
}

// emit adds a message of a target, if it is wanted.
func (r *recordingTranslator) emit(target int, encode func(dst []byte) ([]byte, error)) {
	to := r.channel.targets[target]
	if !r.wants(to) {
		return
	}
	m := codec.Message{Channel: to, LogTime: r.original.LogTime, PublishTime: r.original.PublishTime}
	if err := r.batch.Add(m, encode); err != nil {
		r.err = errors.Join(r.err, err)
	}
}

func (r *recordingTranslator) translate(c *channel, original *codec.Message) ([]codec.Message, error) {
	r.original, r.channel, r.err, r.parser.lost = original, c, nil, r.parser.lost[:0]
	r.batch.Messages = r.batch.Messages[:0]
	mapped := c.targets
	if c.generates {
		mapped = mapped[:len(mapped)-1]
	} else if r.losses[c] == nil {
		r.losses[c] = &fieldLoss{losses: &c.losses, topic: original.Channel.Topic}
	}
	if slices.ContainsFunc(mapped, r.wants) {
		if err := c.pair.toROS2(&r.parser, c.plan, original, r.losses[c], r.emitMessage); err != nil {
			return nil, err
		}
	}
	if c.generates {
		unknown := r.unknown
		if c.restores {
			unknown = nil
		}
		r.emit(len(c.targets)-1, func(dst []byte) ([]byte, error) {
			return r.encoder.append(dst, c.plan, original.Data, unknown)
		})
	}
	r.parser.lost.count()
	return r.batch.Messages, r.err
}
