package main

import (
	"maps"
	"slices"

	"tapedeck/codec"
)

// channelKey is what channels of several recordings have in common to be one in the output.
type channelKey struct {
	topic, typeName, encoding, schemaEncoding, schema string
	nth                                               int // of the channels of its recording that are alike otherwise
}

// channels maps the channels of several recordings to those of the output.
type channels struct {
	all []*codec.Channel
	to  map[*codec.Channel]*codec.Channel

	// of the last call
	from, last *codec.Channel
}

// newChannels maps the channels of the recordings that wants selects. Like channels of several recordings become one.
func newChannels(infos []*codec.Info, wants func(*codec.Channel) bool) *channels {
	c := &channels{to: map[*codec.Channel]*codec.Channel{}}
	byKey := map[channelKey]*codec.Channel{}
	for _, info := range infos {
		seen := map[channelKey]int{}
		for _, t := range info.Topics {
			from := t.Channel
			if !wants(from) {
				continue
			}
			key := channelKey{from.Topic, from.Type, from.Encoding, from.Schema.Encoding, string(from.Schema.Data), 0}
			nth := seen[key]
			seen[key]++
			key.nth = nth
			to := byKey[key]
			if to == nil {
				to = clone(from)
				byKey[key] = to
				c.all = append(c.all, to)
			} else {
				merge(to, from)
			}
			c.to[from] = to
		}
	}
	return c
}

// of returns the channel of the output for one of a recording. One that the recording's Info did not list becomes one of its
// own.
func (c *channels) of(from *codec.Channel) *codec.Channel {
	if from == c.from {
		return c.last
	}
	to := c.to[from]
	if to == nil {
		to = clone(from)
		c.to[from] = to
		c.all = append(c.all, to)
	}
	c.from, c.last = from, to
	return to
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
