package record

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/output"
)

const (
	// chunkHead is an upper bound of the bytes before a chunk's messages: the header and the start of the body's
	// section.
	chunkHead = 2*sectionSize + 4*(1+binary.MaxVarintLen64) + checksumSize
	// checksumSize is the size of the checksum field in a chunk header.
	checksumSize = 3 + 4
	// openBody is the size that the file gives for a chunk's body until the chunk is complete.
	openBody = maxPayload
)

// chunk has records that are not yet written completely.
type chunk struct {
	body   output.Body // the messages
	span   output.Span
	raw    uint64  // bytes of the payloads alone
	places []place // messages of located channels
	at     int64   // offset of the messages in the file
	pos    int64   // offset of the header's section in the file

	// Set when the chunk is closed, or when its first piece is written:
	encoder     *encoder
	channels    []*writerChannel // to be written in front of the chunk
	checksummed bool
	widths      *recordpb.ChunkHeader // numbers with the lengths that the header needs; nil: any lengths

	entries   []indexEntry // of the channels
	indexSize int64        // upper bound for the file's index, with this chunk
	beside    bool         // messages are appended to another chunk while this one is written
}

func (c *chunk) Span() output.Span  { return c.span }
func (c *chunk) Body() *output.Body { return &c.body }

// Encode returns the channels and the chunk, if there are messages in it.
func (c *chunk) Encode(offset int64) (output.Block, error) {
	var head []byte
	head, c.entries = encodeChannels(c.channels, offset)
	c.indexSize = c.encoder.indexSize + int64(len(head)+len(c.channels)*channelCost)
	if c.span.Messages > 0 {
		c.pos = offset + int64(len(head))
		head = c.appendHead(head, newChunkHeader(c.span, c.raw), c.body.Sum(), c.body.Size())
		c.at = offset + int64(len(head))
		c.indexSize += int64(chunkCost + 8*len(c.places))
	}
	return output.Block{Head: head, Reserve: c.indexSize + finalReserve}, nil
}

// Keep adds the channels and the chunk to the index and to the counts in the file's header.
func (c *chunk) Keep() error {
	e := c.encoder
	e.indexSize = c.indexSize
	e.index = append(e.index, c.entries...)
	e.declared += len(c.channels)
	h := e.header
	*h.ChannelNumber += uint64(len(c.channels))
	if c.span.Messages == 0 {
		return nil
	}
	if *h.ChunkNumber == 0 {
		*h.BeginTime = uint64(c.span.Start)
	}
	*h.EndTime = uint64(c.span.End)
	*h.ChunkNumber++
	*h.MessageNumber += uint64(c.span.Messages)
	e.index = append(e.index, indexEntry{span: c.span, raw: c.raw, position: c.pos, body: c.at - sectionSize})
	for _, p := range c.places {
		if len(p.channel.places) == maxPlaces {
			p.channel.located, p.channel.places = false, nil
		}
		if p.channel.located {
			p.channel.places = append(p.channel.places, c.at+p.at)
		}
	}
	return nil
}

func (c *chunk) Release() {
	if c.beside {
		c.body.Reset()
		c.encoder.spare = c.body
	}
}

// place is the start of a message of a located channel in the body of a chunk.
type place struct {
	channel *writerChannel
	at      int64
}

// appendHead appends the header and the start of the section of a body of size bytes.
func (c *chunk) appendHead(b []byte, h *recordpb.ChunkHeader, sum uint32, size int64) []byte {
	if c.checksummed {
		h.Checksum = &sum
	}
	header := encode(h)
	if c.widths != nil {
		header = appendWide(nil, 1, h.GetBeginTime(), c.widths.GetBeginTime())
		header = appendWide(header, 2, h.GetEndTime(), c.widths.GetEndTime())
		header = appendWide(header, 3, h.GetMessageNumber(), c.widths.GetMessageNumber())
		header = appendWide(header, 4, h.GetRawSize(), c.widths.GetRawSize())
		header = append(header, encode(&recordpb.ChunkHeader{Checksum: h.Checksum})...)
	}
	b = append(section{chunkHeaderSection, int64(len(header))}.append(b), header...)
	return section{chunkBodySection, size}.append(b)
}

// appendWide appends a field with the number v, in as many bytes as wide takes. wide must be at least v.
func appendWide(b []byte, number protowire.Number, v, wide uint64) []byte {
	b = protowire.AppendTag(b, number, protowire.VarintType)
	for range protowire.SizeVarint(wide) - 1 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func newChunkHeader(s output.Span, raw uint64) *recordpb.ChunkHeader {
	return &recordpb.ChunkHeader{
		BeginTime: new(uint64(s.Start)), EndTime: new(uint64(s.End)), MessageNumber: new(uint64(s.Messages)),
		RawSize: &raw,
	}
}
