package mcap

import (
	"cmp"
	"encoding/binary"
	"io"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec/internal/chunked"
)

const (
	recordHead  = 1 + 8                 // opcode and length
	messageHead = 2 + 4 + 8 + 8         // bytes before a message's payload
	chunkHead   = 8 + 8 + 8 + 4 + 4 + 8 // a chunk's fields without the compression's name and the records
	maxName     = 16                    // longest name of a compression
	privateOp   = mcap.OpCode(0x80)     // the first opcode for private use
	maxRecord   = 64 << 20              // longest record, except messages, chunks and attachments
	maxChunk    = 1 << 30               // longest chunk, uncompressed
	maxOpcode   = mcap.OpDataEnd        // the last opcode of the specification
)

// record is the position of a record.
type record struct {
	op     mcap.OpCode
	offset int64 // of the opcode
	size   int64 // of the content
	exact  bool  // the lengths within the content make up size
}

func (r record) end() int64 { return r.offset + recordHead + r.size }

// walker reads the records of a range of a file in order, and finds the next whole record behind a damaged place.
type walker struct {
	chunked.Window
	far     chunked.Window // for reads far ahead, which must not move Window
	off, to int64
	content int64                     // offset of the zeros that end an unfinished file; 0 if there are none
	ahead   int64                     // offset of the next known record, behind unknown ones
	known   func(channel uint16) bool // reports whether the file described the channel
	last    int64                     // log time of the last message; 0 before the first
}

// next returns the next record. After a *chunked.GapError it continues behind the gap. After chunked.ErrCut, io.EOF or
// an error of reading it does not continue.
func (w *walker) next() (record, error) {
	if w.off >= w.to {
		return record{}, io.EOF
	}
	r, sane := w.record(w.off)
	// If the length is wrong, no plausible record follows.
	if sane && (r.exact || w.plausible(r.end())) {
		w.off = r.end()
		if r.op == mcap.OpMessage {
			w.last = w.time(r.offset + recordHead + 6)
		}
		return r, w.Err
	}
	start := w.off
	if r.op == mcap.OpChunk && r.end() > w.to && w.begun(r) {
		w.off = w.to
		return r, chunked.ErrCut
	}
	found := w.ahead
	if found <= start {
		found = w.resync(start + 1)
	}
	switch {
	case w.Err != nil:
		return record{}, w.Err
	case sane && found >= r.end():
		w.off = r.end()
		if r.op > maxOpcode { // unknown records are skipped; there may be many in a row
			w.ahead = found
		}
		return r, nil
	case found < w.to:
		w.off = found
		return record{}, &chunked.GapError{From: start, To: found}
	}
	w.off = w.to
	known, end := r.op >= mcap.OpHeader && r.op <= maxOpcode, w.to
	if w.content > 0 {
		end = w.content
	}
	if w.to-start < recordHead || known && r.end() > end || end <= start+recordHead {
		return r, chunked.ErrCut
	}
	return record{}, &chunked.GapError{From: start, To: w.to}
}

// record returns the record at off, and whether it is whole and plausible.
func (w *walker) record(off int64) (record, bool) {
	r := record{offset: off, size: w.to}
	head := w.At(off, min(recordHead, w.to-off))
	if len(head) > 0 {
		r.op = mcap.OpCode(head[0])
	}
	if len(head) < recordHead {
		return r, false
	}
	size := binary.LittleEndian.Uint64(head[1:])
	r.size = int64(min(size, 1<<62))
	if r.end() > w.to {
		return r, false
	}
	return r, w.sane(&r)
}

// contentOf returns the content of a record. For messages and attachments it returns the fields before the payload. For
// chunks, message indexes and records that are not read it returns nothing.
func (w *walker) contentOf(r record) []byte {
	size := min(r.size, maxRecord)
	switch r.op {
	case mcap.OpMessage:
		size = messageHead
	case mcap.OpAttachment:
		size = min(size, maxAttachmentHead)
	case mcap.OpHeader, mcap.OpSchema, mcap.OpChannel, mcap.OpMetadata, mcap.OpStatistics, mcap.OpChunkIndex,
		mcap.OpDataEnd:
	default:
		return nil
	}
	return w.At(r.offset+recordHead, size)
}

// begun reports whether the lengths in the chunk r agree although r exceeds the file: then the file was cut off.
func (w *walker) begun(r record) bool {
	content := r.offset + recordHead
	if content > w.to {
		return false
	}
	c, err := parseChunk(w.At(content, min(w.to-content, chunkHead+maxName)), r.size)
	return err == nil && int64(c.head)+c.records == r.size
}

// sane reports whether the lengths within a record fit its length.
func (w *walker) sane(r *record) bool {
	content := r.offset + recordHead
	used := int64(-1) // bytes of size; -1: unknown
	switch r.op {
	case mcap.OpReserved:
		return false
	case mcap.OpMessage:
		return r.size >= messageHead
	case mcap.OpChunk:
		c, err := parseChunk(w.At(content, min(r.size, chunkHead+maxName)), r.size)
		if err != nil {
			return false
		}
		used = int64(c.head) + c.records
	case mcap.OpMessageIndex:
		used = 6
		if r.size >= used {
			used += int64(binary.LittleEndian.Uint32(w.At(content+2, 4)))
		}
		// A message that lost its end covers the next records.
		if first, last := content+6, r.end()-16; used == r.size && last > first && !near(w.time(first), w.time(last)) {
			used = -1
		}
	case mcap.OpHeader, mcap.OpMetadata:
		used = w.prefixed(content, r.size, 0, 2)
	case mcap.OpSchema:
		used = w.prefixed(content, r.size, 2, 3)
	case mcap.OpChannel:
		used = w.prefixed(content, r.size, 4, 3)
	case mcap.OpChunkIndex:
		used = w.prefixed(content, r.size, 4*8, 1)
		used = w.prefixed(content, r.size, used+8, 1) + 2*8
	case mcap.OpAttachment:
		used = w.prefixed(content, r.size, 2*8, 2) + 8 + 4
		if used <= r.size {
			used += int64(min(binary.LittleEndian.Uint64(w.At(content+used-8-4, 8)), 1<<62))
		}
	case mcap.OpAttachmentIndex:
		used = w.prefixed(content, r.size, 5*8, 2)
	case mcap.OpStatistics:
		used = w.prefixed(content, r.size, 8+2+4*4+2*8, 1)
	case mcap.OpMetadataIndex:
		used = w.prefixed(content, r.size, 2*8, 1)
	case mcap.OpSummaryOffset:
		used = 1 + 2*8
	case mcap.OpFooter:
		return r.size >= 20
	case mcap.OpDataEnd:
		return r.size >= 4
	}
	r.exact = used == r.size
	long := r.op == mcap.OpChunk || r.op == mcap.OpMessageIndex || r.op == mcap.OpAttachment
	return used <= r.size && (used < 0 || long || r.size <= maxRecord)
}

// prefixed returns the size of a record's first used bytes and of the n items that follow. Each item begins with the
// item's length. The content has size bytes. The result is more than size if the items do not fit.
func (w *walker) prefixed(content, size, used int64, n int) int64 {
	for range n {
		if size-used < 4 {
			return size + 1
		}
		used += 4 + int64(binary.LittleEndian.Uint32(w.At(content+used, 4)))
	}
	return used
}

// plausible reports whether off is the end, or may be the beginning of a record.
func (w *walker) plausible(off int64) bool {
	if off == w.to {
		return true
	}
	if !w.Holds(off, recordHead+chunkHead+maxName) {
		w.far.File, w.far.Size = w.File, w.Size
		w.Window, w.far = w.far, w.Window
		defer func() {
			w.Window, w.far = w.far, w.Window
			w.Err = cmp.Or(w.Err, w.far.Err)
		}()
	}
	r, sane := w.record(off)
	return sane && (r.op <= maxOpcode || r.op >= privateOp)
}

// resync returns the offset of the first whole record at or behind off, or the end.
func (w *walker) resync(off int64) int64 {
	for ; off < w.to-recordHead && w.Err == nil; off++ {
		// The high half of every real length is zero.
		head := w.At(off, recordHead)
		if head[0] == 0 || head[0] > byte(maxOpcode) || binary.LittleEndian.Uint32(head[5:]) != 0 {
			continue
		}
		r, sane := w.record(off)
		switch {
		case !sane,
			r.op == mcap.OpMessage && !w.known(binary.LittleEndian.Uint16(w.At(off+recordHead, 2))):
		case r.op == mcap.OpChunk,
			// A message with a time near the previous one is accepted, even if damage follows it.
			r.op == mcap.OpMessage && w.last > 0 && near(w.last, w.time(off+recordHead+6)),
			w.plausible(r.end()):
			return off
		}
	}
	return w.to
}

// time returns the time at off.
func (w *walker) time(off int64) int64 { return int64(binary.LittleEndian.Uint64(w.At(off, 8))) }

// near reports whether two times may belong to messages of one chunk.
func near(a, b int64) bool {
	const most = int64(time.Hour)
	return a > 0 && b > 0 && max(a, b)-min(a, b) < most
}
