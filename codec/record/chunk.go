package record

import (
	"encoding/binary"
	"hash/crc32"

	"tapedeck/codec/internal/output"
	"tapedeck/codec/record/internal/recordpb"
)

const (
	// chunkHead is more than what precedes the messages of a chunk: the header's section and that of the body.
	chunkHead = 2*sectionSize + 4*(1+binary.MaxVarintLen64) + checksumSize
	// checksumSize is the size of the checksum field in a chunk header.
	checksumSize = 3 + 4
)

// chunk is a chunk that is to be written.
type chunk struct {
	buf    []byte // chunkHead bytes, then the messages
	tail   []byte // the content of the last message, if that is not in buf
	span   output.Span
	raw    uint64 // bytes of the contents alone
	places []place
	pos    int64 // in the file, of the header's section
	body   int64 // likewise, of the messages

	// Set when the chunk is closed:
	encoder     *encoder
	channels    []*writerChannel // to be written in front of it
	entries     []indexEntry     // of channels
	indexSize   int64            // of the file, at most, with this chunk
	checksummed bool
	beside      bool // the encoder has another buffer
}

// Span returns the messages of the chunk.
func (c *chunk) Span() output.Span { return c.span }

// Encode returns the channels and the chunk, if there are messages in it.
func (c *chunk) Encode(offset int64) (output.Block, error) {
	var sections, body []byte
	sections, c.entries = encodeChannels(c.channels, offset)
	c.indexSize = c.encoder.indexSize + int64(len(sections)+len(c.channels)*channelCost)
	if c.span.Messages > 0 {
		head := c.encodeHead()
		body = c.buf[chunkHead-len(head):]
		copy(body, head)
		c.pos = offset + int64(len(sections))
		c.body = c.pos + int64(len(head))
		c.indexSize += int64(chunkCost + 8*len(c.places))
	}
	return output.Block{Parts: [][]byte{sections, body, c.tail}, Reserve: c.indexSize + finalReserve}, nil
}

// Keep adds the channels and the chunk to the index and to the header of the file.
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
	e.index = append(e.index, indexEntry{span: c.span, raw: c.raw, position: c.pos, body: c.body - sectionSize})
	for _, p := range c.places {
		if len(p.own.places) == maxPlaces {
			p.own.located, p.own.places = false, nil
		}
		if p.own.located {
			p.own.places = append(p.own.places, c.body+int64(p.at-chunkHead))
		}
	}
	return nil
}

// Release keeps the buffer for another chunk.
func (c *chunk) Release() {
	if c.beside {
		c.encoder.spare = c.buf[:chunkHead]
	}
}

// place is where in the buffer of a chunk a message of a located channel begins.
type place struct {
	own *writerChannel
	at  int
}

// encodeHead returns what precedes the messages.
func (c *chunk) encodeHead() []byte {
	messages := c.buf[chunkHead:]
	h := newChunkHeader(c.span, c.raw)
	if c.checksummed {
		h.Checksum = new(crc32.Update(crc32.ChecksumIEEE(messages), crc32.IEEETable, c.tail))
	}
	header := encode(h)
	head := append(section{chunkHeaderSection, int64(len(header))}.append(nil), header...)
	return section{chunkBodySection, int64(len(messages) + len(c.tail))}.append(head)
}

func newChunkHeader(s output.Span, raw uint64) *recordpb.ChunkHeader {
	return &recordpb.ChunkHeader{
		BeginTime: new(uint64(s.Start)), EndTime: new(uint64(s.End)), MessageNumber: new(uint64(s.Messages)), RawSize: &raw,
	}
}
