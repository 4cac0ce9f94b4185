package convert

import (
	"fmt"
	"maps"
	"slices"

	"tapedeck/codec"
	"tapedeck/nodes/internal/formats"
)

// channelKey is what channels of several recordings have in common to be one in the output.
type channelKey struct {
	topic, typeName, encoding, schemaEncoding, schema string
	nth                                               int // of the channels of its recording that are alike otherwise
}

// channels are those of the output.
type channels struct {
	all   []*codec.Channel
	byKey map[channelKey]*codec.Channel
}

// recording returns what finds the channels of the output for those of one recording, by the names that rename gives.
// Like channels of several recordings become one, those of the same stay apart.
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

// merge adds to a channel what a like one of another recording knows.
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
