package rosbag

import (
	"bytes"
	"io"

	"tapedeck/codec/internal/chunked"
)

const (
	maxExamined   = 64 << 10 // bytes of a header that isCutHeader examines
	maxHeader     = 1 << 20  // bytes of a record's header; in version 1.2 the header has a definition
	maxOtherData  = 64 << 20 // bytes of the data of records that are neither messages nor chunks
	indexEntry    = 12       // bytes of an index entry of a message
	minRecordSize = 4 + 4 + len("op=x") + 4
)

// record is the header and the position of a record in a file.
type record struct {
	header        // valid until the walker moves
	offset int64  // of the record
	data   int64  // offset of the data
	size   uint32 // bytes of data
}

// end returns the offset of the end of the record.
func (r *record) end() int64 { return r.data + int64(r.size) }

// walker reads the records of a range of a file in order. After damage it continues at the next whole record.
type walker struct {
	chunked.Window
	off, to int64 // offsets of the next record and of the end of the range
	content int64 // offset of the zeros that end an unfinished file; 0 if there are none
}

// next returns the next record. After a *chunked.GapError, the next call returns the record after the gap. After
// chunked.ErrCut, io.EOF or an error of reading there are no more records.
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
	if r.op != 0 && r.end() > limit || start >= limit || w.isCutHeader(start, limit) {
		return r, chunked.ErrCut
	}
	return record{}, &chunked.GapError{From: start, To: w.to}
}

// record returns the record at off, and whether the record is whole and has a plausible size. The op is 0 if not even
// the header is whole.
func (w *walker) record(off int64) (record, bool) {
	r := record{offset: off, data: w.to}
	if w.to-off < int64(minRecordSize) {
		return r, false
	}
	n := int64(le.Uint32(w.At(off, 4)))
	if n > maxHeader || n > w.to-off-8 {
		return r, false
	}
	b := w.At(off, n+8)[4:]
	h, ok := parseHeader(b[:n])
	if !ok || !hasRequiredFields(&h) {
		return r, false
	}
	r.header, r.data, r.size = h, off+4+n+4, le.Uint32(b[n:])
	if count, ok := h.uint32("count"); ok && h.op == opIndex && h.has&hasConn != 0 && count <= maxOtherData/indexEntry {
		r.size = count * indexEntry // ROS C Turtle wrote a wrong size
	}
	return r, r.end() <= w.to && (h.op == opMessage || h.op == opChunk || r.size <= maxOtherData)
}

// read returns the header and the data of the record rec, both valid until the walker moves. The header of rec may have
// become invalid.
func (w *walker) read(rec *record) (header, []byte) {
	h, data, _ := cutRecord(w.At(rec.offset, rec.end()-rec.offset), 0)
	return h, data
}

// hasRequiredFields reports whether a header has all fields that its op requires.
func hasRequiredFields(h *header) bool {
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

// plausible reports whether off is the end of the range, or may be the beginning of a record, which the end of the
// range may cut off.
func (w *walker) plausible(off int64) bool {
	if off == w.to {
		return true
	}
	r, whole := w.record(off)
	return whole || r.op != 0 || w.isCutHeader(off, w.to)
}

// resync returns the offset of the first whole record at off or later, or the end of the range.
func (w *walker) resync(off int64) int64 {
	for ; off <= w.to-int64(minRecordSize) && w.Err == nil; off++ {
		head := w.At(off, 8)
		n, first := le.Uint32(head), le.Uint32(head[4:])
		if first < 4 || n < 8 || n > maxHeader || first > n-4 {
			continue
		}
		// Other data does not look like a chunk or a message. After other records there must be a plausible record.
		if r, whole := w.record(off); whole && (r.op == opChunk || r.op == opMessage || w.plausible(r.end())) {
			return off
		}
	}
	return w.to
}

// isCutHeader reports whether the bytes from off to end are the beginning of a record whose header is cut off.
func (w *walker) isCutHeader(off, end int64) bool {
	b := w.At(off, min(end-off, maxExamined))
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
			// A cut field has a name and "=", unless it is cut within the name.
			size := le.Uint32(b)
			return size >= 2 && size <= n && uint64(size) > uint64(len(b)-4) &&
				(len(b) < 64 || bytes.IndexByte(b[4:64], '=') > 0)
		}
		b = rest
	}
	return true
}
