package record

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
)

// Upper bounds of entries in bytes, without names and definitions.
const (
	chunkCost   = 128 // for a chunk
	channelCost = 64  // for a channel
)

// maxPlaces is the highest number of messages of a channel whose positions the index lists.
const maxPlaces = 1 << 16

// located reports whether the index lists the positions of a channel's messages: events and latched messages, because
// readers look for them in the whole file. Channels that Apollo's recorder could have written get no positions.
func located(c *codec.Channel) bool {
	return codec.IsEvents(c) || codec.LatchedDepth(c) > 0 && (c.Encoding != codec.EncodingProtobuf || c.QoS != nil)
}

// indexEntry is the index entry of a channel, or the two entries of a chunk.
type indexEntry struct {
	channel  *writerChannel // nil for a chunk
	position int64          // position of the section
	body     int64          // position of the section of a chunk's body
	span     output.Span    // span of a chunk
	raw      uint64         // bytes of a chunk's payloads alone
}

// encodeChannels returns the sections of channels, which begin at pos, and the channels' entries in the index.
func encodeChannels(channels []*writerChannel, pos int64) (sections []byte, entries []indexEntry) {
	for _, own := range channels {
		entries = append(entries, indexEntry{channel: own, position: pos + int64(len(sections))})
		payload := encode(own.wire)
		sections = section{channelSection, int64(len(payload))}.append(sections)
		sections = append(sections, payload...)
	}
	return sections, entries
}

// encodeIndex returns the section of the index, the last one of the file.
func (e *encoder) encodeIndex() []byte {
	b := make([]byte, sectionSize, sectionSize+e.indexSize)
	for i := range e.index {
		b = e.index[i].append(b)
	}
	copy(b, section{indexSection, int64(len(b) - sectionSize)}.append(nil))
	return b
}

// append appends fields of Index: one for a channel, two for a chunk.
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

// positions returns the positions of a channel's messages, or nil if the index does not list all of them in order.
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

// readIndex calls found with each entry of the index, whose payload is between start and end.
func readIndex(w *chunked.Window, start, end int64, found func(*recordpb.SingleIndex) error) error {
	for pos := start; pos < end; {
		f, err := readField(w, pos, end)
		if err != nil {
			return err
		}
		pos = f.end
		if f.number != 1 || f.typ != protowire.BytesType || f.value > maxChannel {
			return errNoMessage("the index cannot be read")
		}
		b, err := w.View(f.at, int(f.value))
		if err != nil {
			return err
		}
		var entry recordpb.SingleIndex
		if proto.Unmarshal(b[:f.value], &entry) != nil {
			return errNoMessage("the index cannot be read")
		}
		if err := found(&entry); err != nil {
			return err
		}
	}
	return nil
}

// findIndex returns the offsets of the payload of the index that the header points to. end is 0 if there is no index.
func (r *reader) findIndex() (start, end int64, err error) {
	pos := int64(r.header.GetIndexPosition())
	if pos < firstSection || pos > r.size-sectionSize {
		return 0, 0, nil
	}
	b, err := r.window.View(pos, sectionSize)
	if err != nil || len(b) < sectionSize {
		return 0, 0, err
	}
	s, start := parseSection(b), pos+sectionSize
	if s.typ != indexSection || s.size < 0 || s.size > r.size-start {
		return 0, 0, nil
	}
	return start, start + s.size, nil
}

const (
	maxHeader = 1 << 10  // bytes of a chunk's header that layoutOfIndex accepts
	maxIndex  = 64 << 20 // bytes of an index that layoutOfIndex reads into memory
)

// layoutOfIndex returns the layout of a file by its index alone. It returns nil unless the index ends a closed file and
// lists all sections without a gap, as Apollo's writer does since 2019. A walk from chunk to chunk would need a request
// for each chunk of a file in a store. Damage elsewhere in the file is found when the damaged place is read.
func (r *reader) layoutOfIndex() (*layout, error) {
	if r.headerError != nil || r.unfinished() {
		return nil, nil
	}
	start, end, err := r.findIndex()
	if err != nil || end != r.size || end-start > maxIndex {
		return nil, err
	}
	store.Prefetch(r.file, start, end-start)
	var sections []*recordpb.SingleIndex
	if err := readIndex(&r.window, start, end, func(e *recordpb.SingleIndex) error {
		e.ChannelCache = nil // the second pass reads channels
		sections = append(sections, e)
		return nil
	}); err != nil {
		return nil, ignoreProblem(err)
	}
	w := &walk{reader: r, layout: layout{places: map[int][]int64{}, finished: true}}
	sections = append(sections, &recordpb.SingleIndex{Position: proto.Uint64(uint64(start - sectionSize))})
	pos, messages := int64(firstSection), uint64(0)
	for i, e := range sections[:len(sections)-1] {
		next := int64(sections[i+1].GetPosition())
		size := next - pos - sectionSize
		if int64(e.GetPosition()) != pos || size < 0 {
			return nil, nil
		}
		follows := sectionType(sections[i+1].GetType()) == chunkBodySection && i+2 < len(sections)
		switch h := e.GetChunkHeaderCache(); sectionType(e.GetType()) {
		case channelSection:
			if follows || size > maxChannel {
				return nil, nil
			}
		case chunkHeaderSection:
			if !follows || size > maxHeader || h == nil || h.BeginTime == nil || h.GetBeginTime() > h.GetEndTime() ||
				h.GetEndTime() > math.MaxInt64 {
				return nil, nil
			}
			w.chunk.number++
			w.pieces = append(w.pieces, piece{min: int64(h.GetBeginTime()), max: int64(h.GetEndTime()),
				count: h.GetMessageNumber(), chunk: w.chunk.number})
			messages += h.GetMessageNumber()
		case chunkBodySection:
			if follows || len(w.pieces) == 0 || w.pieces[len(w.pieces)-1].end > 0 {
				return nil, nil
			}
			p := &w.pieces[len(w.pieces)-1]
			p.start, p.end = pos+sectionSize, next
		default:
			return nil, nil
		}
		pos = next
	}
	if pos != start-sectionSize || messages != r.header.GetMessageNumber() {
		return nil, nil
	}
	if err := w.index(start, end); err != nil {
		return nil, ignoreProblem(err)
	}
	if w.counts == nil {
		return nil, nil
	}
	return &w.layout, nil
}

// ignoreProblem returns err, or nil if err is about the content of the file.
func ignoreProblem(err error) error {
	if isProblem(err) {
		return nil
	}
	return err
}
