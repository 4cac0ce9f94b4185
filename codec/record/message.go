package record

import (
	"errors"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// errShort says that the last field of a message runs over its end.
var errShort = errors.New("a field runs over the end")

// message is a protobuf message of record.proto that is encoded by hand: Apollo's reader wants the very size, and zeros
// that were set are written.
type message interface {
	fields() []field // in ascending order
	given() *presence
}

// field ties a number to the variable that holds the value, one of the two.
type field struct {
	number protowire.Number
	varint *uint64 // numbers, enums and bools
	bytes  *[]byte // strings, bytes and embedded messages
}

// presence is what a decoded message holds beyond its values, for encoding it to the same bytes.
type presence struct {
	set     uint32 // bit i is for the i-th of the fields
	unknown []byte // the fields that are not known, as they came
}

func (p *presence) given() *presence { return p }

// all says that every field is set, as Apollo's writer has it.
const all = 1<<32 - 1

// decode reads m from b. The byte slices of m share b.
func decode(b []byte, m message) error {
	fields, given := m.fields(), m.given()
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeField(b)
		if n < 0 {
			return wireError(n)
		}
		_, _, tag := protowire.ConsumeTag(b)
		value := b[tag:n]
		known := false
		for i, f := range fields {
			if f.number != number {
				continue
			}
			switch {
			case f.varint != nil && typ == protowire.VarintType:
				*f.varint, _ = protowire.ConsumeVarint(value)
			case f.bytes != nil && typ == protowire.BytesType:
				*f.bytes, _ = protowire.ConsumeBytes(value)
			default:
				continue
			}
			given.set |= 1 << i
			known = true
		}
		if !known {
			given.unknown = append(given.unknown, b[:n]...)
		}
		b = b[n:]
	}
	return nil
}

// wireError is protowire.ParseError, with errShort for what could become valid with more bytes.
func wireError(n int) error {
	err := protowire.ParseError(n)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errShort
	}
	return err
}

// encode returns m as it is in a file.
func encode(m message) []byte {
	var dst []byte
	given := m.given()
	for i, f := range m.fields() {
		switch {
		case given.set&(1<<i) == 0:
		case f.varint != nil:
			dst = protowire.AppendTag(dst, f.number, protowire.VarintType)
			dst = protowire.AppendVarint(dst, *f.varint)
		default:
			dst = appendBytes(dst, f.number, *f.bytes)
		}
	}
	return append(dst, given.unknown...)
}

// appendBytes appends a string, bytes or an embedded message.
func appendBytes[T ~string | ~[]byte](dst []byte, number protowire.Number, value T) []byte {
	dst = protowire.AppendTag(dst, number, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(len(value)))
	return append(dst, value...)
}

// header is Header of record.proto. Times are ns since the Unix epoch, sizes bytes.
type header struct {
	majorVersion, minorVersion     uint64
	compress                       uint64
	chunkInterval, segmentInterval uint64
	indexPosition                  uint64 // of the section, not its payload
	chunkNumber, channelNumber     uint64
	beginTime, endTime             uint64 // of the first and the last chunk written
	messageNumber                  uint64
	size                           uint64 // of the file
	isComplete                     uint64
	chunkRawSize, segmentRawSize   uint64
	mapInfo, vehicleInfo           []byte // Apollo 10
	presence
}

func (h *header) fields() []field {
	numbers := []*uint64{
		&h.majorVersion, &h.minorVersion, &h.compress, &h.chunkInterval, &h.segmentInterval, &h.indexPosition, &h.chunkNumber,
		&h.channelNumber, &h.beginTime, &h.endTime, &h.messageNumber, &h.size, &h.isComplete, &h.chunkRawSize,
		&h.segmentRawSize,
	}
	fields := make([]field, 0, len(numbers)+2)
	for i, v := range numbers {
		fields = append(fields, field{number: protowire.Number(i + 1), varint: v})
	}
	return append(fields, field{number: 16, bytes: &h.mapInfo}, field{number: 17, bytes: &h.vehicleInfo})
}

// headerFields are those that Apollo's writer sets, all but mapInfo and vehicleInfo.
const headerFields = 1<<15 - 1

// channel is Channel of record.proto.
type channel struct {
	name, messageType, protoDesc []byte
	presence
}

func (c *channel) fields() []field {
	return []field{{number: 1, bytes: &c.name}, {number: 2, bytes: &c.messageType}, {number: 3, bytes: &c.protoDesc}}
}

// chunkHeader is ChunkHeader of record.proto.
type chunkHeader struct {
	beginTime, endTime uint64
	messageNumber      uint64
	rawSize            uint64 // of the contents alone
	presence
}

func (c *chunkHeader) fields() []field {
	return []field{
		{number: 1, varint: &c.beginTime}, {number: 2, varint: &c.endTime},
		{number: 3, varint: &c.messageNumber}, {number: 4, varint: &c.rawSize},
	}
}

// singleIndex is an entry of Index of record.proto, about one section. One of the caches is set.
type singleIndex struct {
	typ              uint64
	position         uint64
	channelCache     []byte
	chunkHeaderCache []byte
	chunkBodyCache   []byte
	presence
}

func (s *singleIndex) fields() []field {
	return []field{
		{number: 1, varint: &s.typ}, {number: 2, varint: &s.position}, {number: 101, bytes: &s.channelCache},
		{number: 102, bytes: &s.chunkHeaderCache}, {number: 103, bytes: &s.chunkBodyCache},
	}
}

// Bits of presence for each kind of entry.
const (
	channelEntry     = 0b00111
	chunkHeaderEntry = 0b01011
	chunkBodyEntry   = 0b10011
)

// channelCache is ChannelCache of record.proto.
type channelCache struct {
	messageNumber                uint64
	name, messageType, protoDesc []byte
	presence
}

func (c *channelCache) fields() []field {
	return []field{
		{number: 1, varint: &c.messageNumber}, {number: 2, bytes: &c.name},
		{number: 3, bytes: &c.messageType}, {number: 4, bytes: &c.protoDesc},
	}
}

// chunkHeaderCache is ChunkHeaderCache of record.proto.
type chunkHeaderCache struct {
	messageNumber      uint64
	beginTime, endTime uint64
	rawSize            uint64
	presence
}

func (c *chunkHeaderCache) fields() []field {
	return []field{
		{number: 1, varint: &c.messageNumber}, {number: 2, varint: &c.beginTime},
		{number: 3, varint: &c.endTime}, {number: 4, varint: &c.rawSize},
	}
}

// chunkBodyCache is ChunkBodyCache of record.proto.
type chunkBodyCache struct {
	messageNumber uint64
	presence
}

func (c *chunkBodyCache) fields() []field { return []field{{number: 1, varint: &c.messageNumber}} }
