package rosbag

import (
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"tapedeck/codec"
)

// Keys of Channel.Metadata.
const (
	keyMD5      = "md5sum"
	keyCaller   = "callerid"
	keyLatching = "latching" // "true" or "false"; the file has "1" or "0"
)

// latched returns the QoS of a latching publisher.
func latched() []codec.QoS {
	q := codec.DefaultQoS()
	q.Durability, q.Depth = codec.TransientLocal, 1
	return []codec.QoS{q}
}

// newChannel returns the channel that the fields of a connection header describe.
func newChannel(topic string, fields []byte) *codec.Channel {
	c := &codec.Channel{Topic: topic, Encoding: codec.EncodingROS1, Metadata: map[string]string{}}
	for len(fields) > 0 {
		name, value, rest, ok := cutField(fields)
		if !ok {
			break
		}
		switch key := string(name); key {
		case "type":
			c.Type = string(value)
		case "message_definition":
			c.Schema = codec.Schema{Encoding: codec.SchemaROS1Msg, Data: slices.Clone(value)}
		case keyLatching:
			c.Metadata[key] = "false"
			if string(value) == "1" {
				c.Metadata[key] = "true"
				c.QoS = latched()
			}
		case "topic":
			if c.Topic == "" {
				c.Topic = string(value)
			}
		default:
			c.Metadata[strings.ToValidUTF8(key, "?")] = string(value)
		}
		fields = rest
	}
	if len(c.Metadata) == 0 {
		c.Metadata = nil
	}
	return c
}

// connectionTable has the channel numbers of a bag's connections. Channels are numbered in the order of reading.
type connectionTable struct {
	numbers map[uint32]int    // channel numbers by connection number in the file
	sums    map[uint32]uint32 // connectionSum of the connections' first records, by connection number

	// For version 1.2, in which the header of a message has topic, type, MD5 sum, caller and latching:
	names       map[string]int    // channel numbers by the fields above
	definitions map[string][]byte // definitions by type and MD5 sum
	key         []byte            // buffer for a key of names
}

// connectionSum returns a checksum of a connection. It does not depend on the order of the fields, which a program that
// appends to a bag may change in the index.
func connectionSum(topic, fields []byte) uint32 {
	sum := crc32.ChecksumIEEE(topic)
	for len(fields) > 0 {
		_, _, rest, _ := cutField(fields) // without a field, rest is empty
		sum += crc32.ChecksumIEEE(fields[:len(fields)-len(rest)])
		fields = rest
	}
	return sum
}

// define stores a connection or a definition, and ignores other records. It returns an error about a connection that an
// earlier record describes differently.
func (r *reader) define(h *header, data []byte) error {
	switch h.op {
	case opConnection:
		topic := h.get("topic")
		sum := connectionSum(topic, data)
		n := r.channelNumber(h.conn)
		if r.Contents.Channels[n] == nil {
			r.Contents.Channels[n], r.sums[h.conn] = newChannel(string(topic), data), sum
		}
		if r.sums[h.conn] != sum {
			return fmt.Errorf("the record of connection %d differs from an earlier one", h.conn)
		}
	case opDefinition:
		if definition := h.get("def"); definition != nil {
			r.definitions[string(h.get("type"))+" "+string(h.get("md5"))] = slices.Clone(definition)
		}
	}
	return nil
}

// channelNumber returns the channel number of a connection. The connection's record may be missing.
func (r *reader) channelNumber(conn uint32) int {
	n, ok := r.numbers[conn]
	if !ok {
		n = len(r.Contents.Channels)
		r.numbers[conn] = n
		r.Contents.Channels = append(r.Contents.Channels, nil)
	}
	return n
}

// messageChannel returns the channel number of a message.
func (r *reader) messageChannel(h *header) int {
	if h.has&hasConn != 0 {
		return r.channelNumber(h.conn)
	}
	r.key = r.key[:0]
	for _, field := range []string{"topic", "type", "md5", keyCaller, keyLatching} {
		r.key = append(append(r.key, h.get(field)...), 0)
	}
	n, ok := r.names[string(r.key)]
	if !ok {
		n = len(r.Contents.Channels)
		r.names[string(r.key)] = n
		r.Contents.Channels = append(r.Contents.Channels, r.oldChannel(h))
	}
	return n
}

// oldChannel returns the channel that a message of version 1.2 describes.
func (d *connectionTable) oldChannel(h *header) *codec.Channel {
	c := &codec.Channel{
		Topic: string(h.get("topic")), Type: string(h.get("type")), Encoding: codec.EncodingROS1,
		Metadata: map[string]string{},
	}
	if definition, ok := d.definitions[c.Type+" "+string(h.get("md5"))]; ok {
		c.Schema = codec.Schema{Encoding: codec.SchemaROS1Msg, Data: definition}
	}
	if md5 := h.get("md5"); md5 != nil {
		c.Metadata[keyMD5] = string(md5)
	}
	if caller := h.get(keyCaller); caller != nil {
		c.Metadata[keyCaller] = string(caller)
	}
	if string(h.get(keyLatching)) == "1" {
		c.Metadata[keyLatching] = "true"
		c.QoS = latched()
	}
	return c
}
