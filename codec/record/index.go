package record

import (
	"encoding/binary"

	"tapedeck/codec"
)

// What the index takes at most, without names and definitions.
const (
	chunkCost   = 128 // for a chunk
	channelCost = 64  // for a channel
)

// maxPlaces bounds the messages of a channel whose places the index has.
const maxPlaces = 1 << 16

// located says whether the index has the places of a channel's messages: those that are looked for wherever they are.
// In what Apollo's recorder could have written nothing is added.
func located(c *codec.Channel) bool {
	return codec.IsEvents(c) || codec.LatchedDepth(c) > 0 && (c.Encoding != codec.EncodingProtobuf || c.QoS != nil)
}

// indexEntry is what the index says about a channel, or about a chunk.
type indexEntry struct {
	channel  *writerChannel // nil for a chunk
	position int64          // of the section
	body     int64          // of the section of a chunk's body
	chunk    chunkHeader
}

// encodeChannels returns the sections of channels, from pos on, and their entries in the index.
func encodeChannels(channels []*writerChannel, pos int64) (sections []byte, entries []indexEntry) {
	for _, own := range channels {
		entries = append(entries, indexEntry{channel: own, position: pos + int64(len(sections))})
		payload := encode(&own.wire)
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
		cache := channelCache{
			messageNumber: own.Written(), name: own.wire.name, messageType: own.wire.messageType, protoDesc: own.wire.protoDesc,
			presence: presence{set: all},
		}
		if own.located {
			cache.unknown = encodePositions(own.places)
		}
		return appendIndex(dst, &singleIndex{
			typ: uint64(channelSection), position: uint64(e.position), channelCache: encode(&cache),
			presence: presence{set: channelEntry},
		})
	}
	header := chunkHeaderCache{
		messageNumber: e.chunk.messageNumber, beginTime: e.chunk.beginTime, endTime: e.chunk.endTime,
		rawSize:  e.chunk.rawSize,
		presence: presence{set: all},
	}
	dst = appendIndex(dst, &singleIndex{
		typ: uint64(chunkHeaderSection), position: uint64(e.position), chunkHeaderCache: encode(&header),
		presence: presence{set: chunkHeaderEntry},
	})
	body := chunkBodyCache{messageNumber: e.chunk.messageNumber, presence: presence{set: all}}
	return appendIndex(dst, &singleIndex{
		typ: uint64(chunkBodySection), position: uint64(e.body), chunkBodyCache: encode(&body),
		presence: presence{set: chunkBodyEntry},
	})
}

func appendIndex(dst []byte, s *singleIndex) []byte { return appendBytes(dst, 1, encode(s)) }

// encodePositions returns where messages are, as our field of a ChannelCache.
func encodePositions(positions []int64) []byte {
	var packed []byte
	for _, pos := range positions {
		packed = binary.LittleEndian.AppendUint64(packed, uint64(pos))
	}
	return appendBytes(nil, extension, packed)
}

// positions returns where the messages of a channel are, nil when that is not known.
func (c *channelCache) positions() []int64 {
	packed := findOption(c.unknown)
	if uint64(len(packed)) != 8*c.messageNumber {
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
