// Package apollo knows what the messages of Apollo, the driving platform, mean in ROS 2. It follows the .proto files of Apollo's
// modules/common_msgs, and reads every message by the names of the fields in the descriptor that the recording itself carries, as
// the numbers differ from release to release.
//
// Apollo's vehicle and IMU frames look right, forward and up, those of ROS forward, left and up. Vectors and orientations
// of the vehicle are turned; its frame is base_link then. What has a frame of its own in Apollo's /tf stays in it. The world is that of
// Apollo, UTM: x east, y north, z up, in m, with the zone known to nobody.
package apollo

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// Keys of the metadata of a channel of ROS 2 messages that were Apollo's.
const (
	// MetadataType is the full name of the type that the messages were of, "apollo.planning.ADCTrajectory".
	MetadataType = "apollo.type"
	// MetadataTopic is the topic that they were on. Channels of the same topic and type were made of the same messages.
	MetadataTopic = "apollo.topic"
	// MetadataDescriptor is the FileDescriptorSet that describes the type, in base64.
	MetadataDescriptor = "apollo.descriptor"
	// MetadataWhole is, for messages that have a part of what Apollo's had, the topic of the generated messages, which have
	// all of it. Generated messages themselves have it too: it is their own topic then.
	MetadataWhole = "apollo.whole"
)

// New returns a translator of Apollo's messages, which are encoded as Protocol Buffers.
func New(codec.Reader) (bridge.Translator, error) {
	return &translator{library: msgs.Library(), channels: map[*codec.Channel]*channel{}}, nil
}

type translator struct {
	library  *rosidl.Library
	channels map[*codec.Channel]*channel
}

// channel is what is known of a channel of Apollo's.
type channel struct {
	mapping    *mapping
	descriptor protoreflect.MessageDescriptor
	targets    []*codec.Channel
}

func (t *translator) Topics(topic codec.TopicInfo) (become []codec.TopicInfo, err error) {
	source := topic.Channel
	m := mappings[source.Type]
	if m == nil {
		return nil, errors.New("ROS 2 has no such message")
	}
	c := &channel{mapping: m}
	if c.descriptor, err = descriptorOf(source); err != nil {
		return nil, err
	}
	for _, target := range m.targets {
		name := target.topic
		if name == "" || name[0] != '/' {
			name = source.Topic + name
		}
		qos := codec.DefaultQoS()
		if name == "/tf_static" {
			qos.Durability, qos.Depth = codec.TransientLocal, 1
		}
		to, err := bridge.NewChannel(t.library, name, target.typeName, qos)
		if err != nil {
			return nil, err
		}
		c.targets = append(c.targets, to)
		become = append(become, codec.TopicInfo{Channel: to, MessageCount: topic.MessageCount})
	}
	t.channels[source] = c
	return become, nil
}

// descriptorOf returns the descriptor of a channel's messages.
func descriptorOf(c *codec.Channel) (protoreflect.MessageDescriptor, error) {
	if c.Schema.Encoding != codec.SchemaProtobuf {
		return nil, errors.New("the recording does not describe its messages")
	}
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(c.Schema.Data, &files); err != nil {
		return nil, fmt.Errorf("read the description of its messages: %w", err)
	}
	registry, err := protodesc.FileOptions{AllowUnresolvable: true}.NewFiles(&files)
	if err != nil {
		return nil, fmt.Errorf("read the description of its messages: %w", err)
	}
	d, err := registry.FindDescriptorByName(protoreflect.FullName(c.Type))
	if err != nil {
		return nil, fmt.Errorf("read the description of its messages: %w", err)
	}
	message, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		return nil, errors.New("what describes its messages is no message")
	}
	return message, nil
}

func (t *translator) Begin() func(*codec.Message) ([]codec.Message, error) {
	var ready []codec.Message
	var data [][]byte // of ready, to be used again
	return func(source *codec.Message) (_ []codec.Message, err error) {
		c := t.channels[source.Channel]
		ready = ready[:0]
		emit := func(target int, m msgs.Message) {
			n := len(ready)
			if n == len(data) {
				data = append(data, nil)
			}
			encoded, failed := cdr.Append(data[n][:0], m)
			if failed != nil {
				err = errors.Join(err, failed)
				return
			}
			data[n] = encoded
			ready = append(ready, codec.Message{
				Channel: c.targets[target], LogTime: source.LogTime, PublishTime: source.PublishTime, Data: encoded,
			})
		}
		if failed := c.mapping.translate(c.descriptor, source, emit); failed != nil {
			return nil, failed
		}
		return ready, err
	}
}
