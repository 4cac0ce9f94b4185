package record

import (
	"encoding/binary"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/record/internal/recordpb"
)

// Upper bounds of entries in bytes, without names and definitions.
const (
	chunkCost   = 128 // for a chunk
	channelCost = 64  // for a channel
)

// maxPlaces bounds the messages of a channel whose places the index has.
const maxPlaces = 1 << 16

// located reports whether the index lists the positions of a channel's messages: events and latched messages, which
// readers look for in the whole file. Channels that Apollo's recorder could have written get nothing added.
func located(c *codec.Channel) bool {
	return codec.IsEvents(c) || codec.LatchedDepth(c) > 0 && (c.Encoding != codec.EncodingProtobuf || c.QoS != nil)
}

// indexEntry is the entry of a channel, or the two of a chunk.
type indexEntry struct {
	channel  *writerChannel // nil for a chunk
	position int64          // of the section
	body     int64          // of the section of a chunk's body
	span     output.Span    // of a chunk
	raw      uint64         // likewise: bytes of the contents alone
}

// encodeChannels returns the sections of channels, from pos on, and their entries in the index.
func encodeChannels(channels []*writerChannel, pos int64) (sections []byte, entries []indexEntry) {
	for _, own := range channels {
		entries = append(entries, indexEntry{channel: own, position: pos + int64(len(sections))})
		payload := encode(own.wire)
		sections = section{channelSection, int64(len(payload))}.append(sections)
		sections = append(sections, payload...)
	}
	return sections, entries
}

// encodeIndex returns the index as it comes behind everything else.
func (e *encoder) encodeIndex() []byte {
	b := make([]byte, sectionSize, sectionSize+e.indexSize)
	for i := range e.index {
		b = e.index[i].append(b)
	}
	copy(b, section{indexSection, int64(len(b) - sectionSize)}.append(nil))
	return b
}

// append appends the entry as field of Index: one for a channel, two for a chunk.
func (e *indexEntry) append(dst []byte) []byte {
	if own := e.channel; own != nil {
		cache := &recordpb.ChannelCache{
			MessageNumber: new(own.Written()), Name: own.wire.Name, MessageType: own.wire.MessageType,
			ProtoDesc: own.wire.ProtoDesc,
		}
		if own.located {
			cache.Positions = []byte{}
			for _, pos := range own.places {
				cache.Positions = binary.LittleEndian.AppendUint64(cache.Positions, uint64(pos))
			}
		}
		return appendIndex(dst, channelSection, e.position, &recordpb.SingleIndex{ChannelCache: cache})
	}
	h := newChunkHeader(e.span, e.raw)
	dst = appendIndex(dst, chunkHeaderSection, e.position, &recordpb.SingleIndex{
		ChunkHeaderCache: &recordpb.ChunkHeaderCache{
			MessageNumber: h.MessageNumber, BeginTime: h.BeginTime, EndTime: h.EndTime, RawSize: h.RawSize,
		},
	})
	return appendIndex(dst, chunkBodySection, e.body, &recordpb.SingleIndex{
		ChunkBodyCache: &recordpb.ChunkBodyCache{MessageNumber: h.MessageNumber},
	})
}

// appendIndex appends an entry about the section at pos.
func appendIndex(dst []byte, typ sectionType, pos int64, s *recordpb.SingleIndex) []byte {
	s.Type, s.Position = new(uint64(typ)), new(uint64(pos))
	return appendBytes(dst, 1, encode(s))
}

// positions returns where the messages of a channel are, nil when that is not known.
func positions(c *recordpb.ChannelCache) []int64 {
	packed := c.GetPositions()
	if uint64(len(packed)) != 8*c.GetMessageNumber() {
		return nil
	}
	var positions []int64
	for last := int64(0); len(packed) > 0; packed = packed[8:] {
		pos := int64(binary.LittleEndian.Uint64(packed))
		if pos <= last {
			return nil
		}
		positions, last = append(positions, pos), pos
	}
	return positions
}
