package convert

import (
	"fmt"
	"maps"
	"slices"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// channelKey identifies a channel of the output: channels of several recordings with the same key become one.
type channelKey struct {
	topic, typeName, encoding, schemaEncoding, schema string
	nth                                               int // index among channels of one recording that are equal otherwise
}

// channels are the channels of the output.
type channels struct {
	all   []*codec.Channel
	byKey map[channelKey]*codec.Channel
}

// recording returns a function that maps channels of one recording to channels of the output, renamed by rename. Equal
// channels of several recordings become one; equal channels of one recording stay apart.
func (c *channels) recording(rename func(topic string) string) func(*codec.Channel) *codec.Channel {
	seen := map[channelKey]int{}
	return func(from *codec.Channel) *codec.Channel {
		topic := rename(from.Topic)
		key := channelKey{topic, from.Type, from.Encoding, from.Schema.Encoding, string(from.Schema.Data), 0}
		if formats.Bound(from.Encoding) {
			key.schema = fmt.Sprint(from.Metadata)
		}
		nth := seen[key]
		seen[key]++
		key.nth = nth
		to := c.byKey[key]
		if to != nil {
			merge(to, from)
			return to
		}
		to = clone(from)
		to.Topic = topic
		c.byKey[key] = to
		c.all = append(c.all, to)
		return to
	}
}

func clone(from *codec.Channel) *codec.Channel {
	to := *from
	to.QoS = slices.Clone(from.QoS)
	to.Metadata = maps.Clone(from.Metadata)
	return &to
}

// merge adds the type hash, QoS and metadata of an equal channel of another recording to a channel.
func merge(to, from *codec.Channel) {
	if to.TypeHash == "" {
		to.TypeHash = from.TypeHash
	}
	for _, q := range from.QoS {
		if !slices.Contains(to.QoS, q) {
			to.QoS = append(to.QoS, q)
		}
	}
	if to.Metadata == nil {
		to.Metadata = maps.Clone(from.Metadata)
		return
	}
	for key, value := range from.Metadata {
		if _, ok := to.Metadata[key]; !ok {
			to.Metadata[key] = value
		}
	}
}
