package apollo

import (
	"fmt"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// restored returns the translation of a channel that FromROS2 made of messages with the same fields, back to them.
func restored(c *codec.Channel) (*channel, error) {
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
	target.TypeHash, err = library.Hash(name)
	if err != nil {
		return nil, fmt.Errorf("hash %s: %w", name, err)
	}
	return &channel{plan: p, generates: true, restores: true, targets: []*codec.Channel{target}}, nil
}

// restore makes the messages that FromROS2 made the channel c from the only ones that it becomes, if they are among
// those that it becomes: the others have nothing more.
func (c *channel) restore(source *codec.Channel) {
	was, text := source.Metadata[MetadataROSType], source.Metadata[MetadataROSDefinition]
	if was == "" || pairBetween(was, source.Type) == nil {
		return
	}
	for _, made := range c.targets {
		if made.Type != was {
			continue
		}
		c.only = made
		made.QoS, made.Metadata = source.QoS, without(source.Metadata, MetadataROSType, MetadataROSDefinition)
		if library, err := rosidl.ParseConcatenated(was, text); err == nil {
			if hash, err := library.Hash(was); err == nil && hash == made.TypeHash {
				made.Schema.Data = []byte(text)
			}
		}
		return
	}
}
