package apollo

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// originalChannel returns the translation of a channel that ToROS2 made, back to the original Apollo messages. It
// returns nil if the metadata of the channel does not allow that.
func (t *fromROS2) originalChannel(c *codec.Channel, library *rosidl.Library) *outgoingChannel {
	files, err := base64.StdEncoding.DecodeString(c.Metadata[MetadataDescriptor])
	if err != nil {
		return nil
	}
	target := targetOf(c, c.Metadata[MetadataType], files)
	d, err := descriptorOf(target)
	if err != nil {
		return nil
	}
	plans := describe(d)
	p := pairBetween(c.Type, target.Type)
	generated := plans.root().name
	siblingIs := func(wanted func(typeName string) bool) bool {
		return slices.ContainsFunc(t.siblings(c), func(o *codec.Channel) bool { return wanted(o.Type) })
	}
	switch {
	case c.Type == generated:
		if own, err := plans.library(); err != nil || !sameType(library, own, c.Type) {
			return nil
		}
		target.Topic = strings.TrimSuffix(c.Topic, generatedSuffix)
		return &outgoingChannel{target: target, begin: plans.root().begin}
	case siblingIs(func(typeName string) bool { return typeName == generated }),
		p == nil && siblingIs(func(typeName string) bool { return pairBetween(typeName, target.Type) != nil }):
		return &outgoingChannel{}
	case p != nil && sameType(library, t.own, c.Type):
		target.Topic = strings.TrimSuffix(c.Topic, p.suffix)
		return p.outgoing(target, plans.root())
	}
	return nil
}

// targetOf returns the channel for messages of an Apollo type, which files describe.
func targetOf(c *codec.Channel, typeName string, files []byte) *codec.Channel {
	return &codec.Channel{
		Topic: c.Topic, Type: typeName, Encoding: codec.EncodingProtobuf,
		Metadata: withoutKeys(c.Metadata, MetadataType, MetadataTopic, MetadataDescriptor, MetadataWhole),
		Schema:   codec.Schema{Encoding: codec.SchemaProtobuf, Data: files},
	}
}

// withoutKeys returns metadata without the given keys, or nil if no other keys remain.
func withoutKeys(metadata map[string]string, keys ...string) map[string]string {
	rest := maps.Clone(metadata)
	for _, key := range keys {
		delete(rest, key)
	}
	if len(rest) == 0 {
		return nil
	}
	return rest
}

// siblings returns the other channels that ToROS2 made from the Apollo channel of c.
func (t *fromROS2) siblings(c *codec.Channel) []*codec.Channel {
	var siblings []*codec.Channel
	for _, o := range t.cdrChannels() {
		if o != c && o.Metadata[MetadataType] == c.Metadata[MetadataType] &&
			o.Metadata[MetadataTopic] == c.Metadata[MetadataTopic] {
			siblings = append(siblings, o)
		}
	}
	return siblings
}
