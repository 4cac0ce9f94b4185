package rosbag

import (
	"bytes"
	"io"

	"tapedeck/codec/internal/chunked"
)

const (
	mostBegun   = 64 << 10 // bytes of a header that is cut off that are looked at
	maxHeader   = 1 << 20  // bytes of a record's header; a definition is part of it in version 1.2
	maxConnect  = 64 << 20 // bytes of the data of records that are neither messages nor chunks
	indexEntry  = 12       // bytes that the index has for a message
	leastRecord = 4 + 4 + len("op=x") + 4
)

// record is a record's place.
type record struct {
	header        // valid until the walker moves
	offset int64  // of the record
	data   int64  // of its data
	size   uint32 // of its data
}

func (r *record) end() int64 { return r.data + int64(r.size) }

// walker reads the records of a part of a file in order and finds the next whole one behind a damaged place.
type walker struct {
	chunked.Window
	off, to int64
	content int64 // where the zeros begin that an unfinished file ends with; 0 when it does not
}

// next returns the next record. Errors are a *chunked.GapError, after which next goes on behind it, chunked.ErrCut and
// io.EOF, after which it does not, and those of reading.
func (w *walker) next() (record, error) {
	if w.off >= w.to {
		return record{}, io.EOF
	}
	r, whole := w.record(w.off)
	if whole && (w.content > 0 && r.end() >= w.content || w.plausible(r.end())) {
		r, _ = w.record(w.off) // the window has moved
		w.off = r.end()
		return r, w.Err
	}
	start := w.off
	if r.op == opChunk && r.end() > w.to {
		w.off = w.to
		r, _ = w.record(start)
		return r, chunked.ErrCut
	}
	found := w.resync(start + 1)
	r, whole = w.record(start)
	switch {
	case w.Err != nil:
		return record{}, w.Err
	case whole && found >= r.end():
		w.off = r.end()
		return r, nil
	case found < w.to:
		w.off = found
		return record{}, &chunked.GapError{From: start, To: found}
	}
	w.off = w.to
	limit := w.to
	if w.content > 0 {
		limit = w.content
	}
	if r.op != 0 && r.end() > limit || start >= limit || w.begun(start, limit) {
		return r, chunked.ErrCut
	}
	return record{}, &chunked.GapError{From: start, To: w.to}
}

// record returns the record at off, and whether it is whole and can be one. Its op is 0 if not even the header is
// whole.
func (w *walker) record(off int64) (record, bool) {
	r := record{offset: off, data: w.to}
	if w.to-off < int64(leastRecord) {
		return r, false
	}
	n := int64(le.Uint32(w.At(off, 4)))
	if n > maxHeader || n > w.to-off-8 {
		return r, false
	}
	b := w.At(off, n+8)[4:]
	h, ok := parseHeader(b[:n])
	if !ok || !sane(&h) {
		return r, false
	}
	r.header, r.data, r.size = h, off+4+n+4, le.Uint32(b[n:])
	if count, ok := h.uint32("count"); ok && h.op == opIndex && h.has&hasConn != 0 && count <= maxConnect/indexEntry {
		r.size = count * indexEntry // ROS C Turtle wrote a wrong one
	}
	return r, r.end() <= w.to && (h.op == opMessage || h.op == opChunk || r.size <= maxConnect)
}

// sane reports whether a header has all that its record needs.
func sane(h *header) bool {
	switch h.op {
	case opDefinition:
		return h.get("topic") != nil && h.get("type") != nil
	case opMessage:
		return h.isMessage()
	case opFile:
		return h.get("index_pos") != nil
	case opIndex:
		return h.get("count") != nil
	case opChunk:
		return h.get("compression") != nil && h.get("size") != nil
	case opChunkInfo:
		return h.get("chunk_pos") != nil
	case opConnection:
		return h.has&hasConn != 0
	}
	return false
}

// plausible reports whether a record, whole or cut off by the end, or the end itself can be at off.
func (w *walker) plausible(off int64) bool {
	if off == w.to {
		return true
	}
	r, whole := w.record(off)
	return whole || r.op != 0 || w.begun(off, w.to)
}

// resync returns where the first whole record at or behind off is, or where they end.
func (w *walker) resync(off int64) int64 {
	for ; off <= w.to-int64(leastRecord) && w.Err == nil; off++ {
		head := w.At(off, 8)
		n, first := le.Uint32(head), le.Uint32(head[4:])
		if first < 4 || n < 8 || n > maxHeader || first > n-4 {
			continue
		}
		// Nothing else looks like these two, though what follows them may be damaged, too.
		if r, whole := w.record(off); whole && (r.op == opChunk || r.op == opMessage || w.plausible(r.end())) {
			return off
		}
	}
	return w.to
}

// begun reports whether what there is from off to end is how a record begins whose header is cut off.
func (w *walker) begun(off, end int64) bool {
	b := w.At(off, min(end-off, mostBegun))
	if len(b) < 4 {
		return true
	}
	n := le.Uint32(b)
	if n > maxHeader || int64(n) <= end-off-8 {
		return false
	}
	for b = b[4:]; len(b) > 4; {
		_, _, rest, ok := cutField(b)
		if !ok {
			// A field that is cut has its name in front of "=" as far as that is there.
			size := le.Uint32(b)
			return size >= 2 && size <= n && uint64(size) > uint64(len(b)-4) &&
				(len(b) < 64 || bytes.IndexByte(b[4:64], '=') > 0)
		}
		b = rest
	}
	return true
}
