package record

import (
	"cmp"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// A piece ends behind the message with which it reaches maxPieceSize bytes or maxPieceCount messages.
const (
	maxPieceSize  = 4 << 20
	maxPieceCount = 1 << 16
)

// piece is a range of a file that consists of messages: the body of a chunk, or a part of the body.
type piece struct {
	start, end int64
	min, max   int64  // smallest and largest LogTime
	count      uint64 // messages; 0 if unknown; wrong if the chunk's header is wrong
	chunk      int    // number of the chunk, from 1
	exact      bool   // min, max and count are from the messages; otherwise from the chunk's header
}

// overlaps reports whether p can hold messages in the window of q.
func (p *piece) overlaps(q codec.Query) bool {
	return p.max >= q.From() && (q.End == 0 || p.min < q.End)
}

// layout lists the message ranges of a file and its damage.
type layout struct {
	pieces []piece  // in the order of the file
	counts []uint64 // messages by channel; nil if unknown
	// places holds the positions of messages by located channel. A channel's positions are complete if counts has their
	// number.
	places   map[int][]int64
	damage   []*damage
	bodies   map[int]body // bodies with a checksum, by chunk
	indexed  []uint64     // messages by channel according to the index; nil without an index
	finished bool         // the file ends with an index
	cut      bool         // the writer was killed, and the file ends within a section

	contents *chunked.Contents // the result of describe; nil before it is needed
}

// body is the position of a chunk's body, and the checksum that it should have.
type body struct {
	start, end int64
	sum        uint32
}

// add adds a message that is behind all other messages.
func (l *layout) add(m *singleMessage, chunk int) {
	if n := len(l.pieces); n > 0 {
		p := &l.pieces[n-1]
		if p.end == m.pos && p.chunk == chunk && p.end-p.start < maxPieceSize && p.count < maxPieceCount {
			p.end, p.count = m.end, p.count+1
			p.min, p.max = min(p.min, m.time), max(p.max, m.time)
			return
		}
	}
	l.pieces = append(l.pieces, piece{
		start: m.pos, end: m.end, min: m.time, max: m.time, count: 1, chunk: chunk, exact: true,
	})
}

// within returns the pieces that lie in a segment.
func (l *layout) within(s *chunked.Segment) []piece {
	begin := func(p piece, at int64) int { return cmp.Compare(p.start, at) }
	i, _ := slices.BinarySearchFunc(l.pieces, s.Offset, begin)
	j, _ := slices.BinarySearchFunc(l.pieces, s.Offset+s.Size, begin)
	return l.pieces[i:j]
}

// replace replaces the piece that begins at start with smaller pieces.
func (l *layout) replace(start int64, smaller []piece) {
	i := slices.IndexFunc(l.pieces, func(p piece) bool { return p.start == start })
	l.pieces = slices.Replace(slices.Clone(l.pieces), i, i+1, smaller...)
	l.contents = nil
}

// describe returns the contents for package chunked: a segment for each piece, or one for each chunk if checksums are
// compared.
func (l *layout) describe(path string, chunks bool) *chunked.Contents {
	c := &chunked.Contents{Path: path, Counts: l.counts, Scanned: true, Heads: true}
	count := uint64(0)
	for i, p := range l.pieces {
		count += p.count
		if chunks && i > 0 && p.chunk == l.pieces[i-1].chunk && count <= maxHeads {
			s := &c.Segments[len(c.Segments)-1]
			s.Size, s.Start, s.End = p.end-s.Offset, min(s.Start, p.min), max(s.End, p.max)
			continue
		}
		c.Segments = append(c.Segments,
			chunked.Segment{Offset: p.start, Size: p.end - p.start, Start: p.min, End: p.max, Chunk: true})
		count = p.count
	}
	c.Sort()
	return c
}

// knowsPlaces reports whether l has the places of all messages of a channel.
func (l *layout) knowsPlaces(channel int) bool {
	return channel < len(l.counts) && uint64(len(l.places[channel])) == l.counts[channel]
}

// checkPlaces removes the positions of a channel if one of them is outside of all pieces.
func (l *layout) checkPlaces() {
	for channel, places := range l.places {
		for _, p := range l.pieces {
			for len(places) > 0 && places[0] >= p.start && places[0] < p.end {
				places = places[1:]
			}
		}
		if len(places) > 0 {
			delete(l.places, channel)
		}
	}
}
