package apollo

import (
	"fmt"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// restoredChannel returns the translation of a channel that sameFields made, back to the original ROS 2 messages.
func restoredChannel(c *codec.Channel) (*channel, error) {
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
		Metadata: withoutKeys(c.Metadata, MetadataROSType, MetadataROSDefinition),
		Schema:   codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
	}
	target.TypeHash, err = library.Hash(name)
	if err != nil {
		return nil, fmt.Errorf("hash %s: %w", name, err)
	}
	return &channel{plan: p, generates: true, restores: true, targets: []*codec.Channel{target}}, nil
}

// restore sets c.only if FromROS2 made the channel from messages of a target's type. Messages of the other targets
// would have no further information.
func (c *channel) restore(original *codec.Channel) {
	rosType, text := original.Metadata[MetadataROSType], original.Metadata[MetadataROSDefinition]
	if rosType == "" || pairBetween(rosType, original.Type) == nil {
		return
	}
	for _, target := range c.targets {
		if target.Type != rosType {
			continue
		}
		c.only = target
		target.QoS = original.QoS
		target.Metadata = withoutKeys(original.Metadata, MetadataROSType, MetadataROSDefinition)
		if library, err := rosidl.ParseConcatenated(rosType, text); err == nil {
			if hash, err := library.Hash(rosType); err == nil && hash == target.TypeHash {
				target.Schema.Data = []byte(text)
			}
		}
		return
	}
}
