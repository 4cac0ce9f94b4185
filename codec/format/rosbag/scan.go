package rosbag

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

// scan fills r.Contents by reading the whole file. closed is whether the writer closed the bag.
func (r *reader) scan(closed bool) error {
	content, err := chunked.ContentEnd(r.File, r.Size)
	if err != nil {
		return err
	}
	w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, off: int64(len(version2)), to: r.Size}
	if content < r.Size {
		w.content = content
	}
	if r.headDamaged {
		w.off = 0
	}
	l := r.loader()
	runs := chunked.Run{Contents: &r.Contents}
	var buf []byte
	cut := false // the end of the file cuts off the last record
	for !cut {
		rec, err := w.next()
		if w.Err != nil {
			return w.Err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		cut = errors.Is(err, chunked.ErrCut)
		var gap *chunked.GapError
		switch {
		case errors.As(err, &gap):
			runs.Flush()
			r.Contents.Damaged(gap.From, err)
		case rec.op == opChunk:
			runs.Flush()
			buf, cut = r.scanChunk(&w, l, &rec, cut, buf)
		case cut:
			runs.Flush()
		case rec.op != opMessage:
			if rec.op == opConnection || rec.op == opDefinition {
				h, data := w.read(&rec)
				_ = r.define(&h, data) // after a crash, zeros may replace the end of the record
			} else {
				runs.Flush()
			}
		case w.content > 0 && rec.end() > content && rec.end() < r.Size:
			runs.Flush() // after a crash, zeros replace the end of the message
		default:
			runs.Add(rec.offset, rec.end(), r.messageChannel(&rec.header), rec.time)
		}
	}
	runs.Flush()
	r.reportUndescribed()
	r.Contents.Scanned = true
	r.complete = closed && !cut && len(r.Contents.Damage) == 0
	if !closed || cut {
		r.reportUnfinished()
	}
	return nil
}

// scanChunk adds the chunk rec, which w returned, and moves w to the next record. cut is whether the end of the file
// seems to cut off the chunk. The results are the loaded records, in buf if they fit, and whether the end of the file
// does cut off the chunk.
func (r *reader) scanChunk(w *walker, l *loader, rec *record, cut bool, buf []byte) ([]byte, bool) {
	s := chunked.Segment{Offset: rec.offset, Size: rec.end() - rec.offset, Chunk: true, Cut: cut}
	if cut {
		packed := string(rec.get("compression")) != "none"
		if next := w.behindChunk(rec.data); next < w.to {
			// The size of the chunk is wrong: it covers other records.
			r.Contents.Damaged(rec.offset, &chunked.GapError{From: rec.offset, To: next})
			if !packed {
				w.off = rec.data // scan the records of the chunk one by one
				return buf, false
			}
			w.off = next
			s.Size = next - rec.offset
			return r.addScanned(l, s, buf), false
		}
	}
	switch {
	case cut:
		s.Size = r.Size - s.Offset
	case rec.size == 0 && r.lacksSize(rec):
		// The writer was killed before it wrote the size. Nothing follows the chunk, unless its header is damaged.
		w.off = w.behindChunk(rec.data)
		s.Size, s.Cut = w.off-s.Offset, true
	}
	if content := w.content; content > 0 && s.Offset+s.Size > content &&
		(s.Cut || s.Offset+s.Size < r.Size || l.isDamaged(s, buf)) {
		// After a crash, zeros replace the end of the last chunk.
		s.Size, s.Cut = content-s.Offset, true
	}
	return r.addScanned(l, s, buf), cut
}

// reportUndescribed reports messages of connections that the bag does not describe.
func (r *reader) reportUndescribed() {
	for _, conn := range slices.Sorted(maps.Keys(r.numbers)) {
		n := r.numbers[conn]
		if !r.Contents.Known(n) && n < len(r.Contents.Counts) && r.Contents.Counts[n] > 0 {
			r.Contents.Damaged(r.Size, fmt.Errorf("left out messages of connection %d, which the bag does not describe",
				conn))
		}
	}
}

// reportUnfinished adds the event that the bag was not closed or is cut off.
func (r *reader) reportUnfinished() {
	text := "the bag was not closed by its writer; everything up to its end was read"
	if all, found := r.chunks(); all > found {
		text = fmt.Sprintf("the bag is cut off: the header counts %s, %d were found; the number of messages "+
			"in the others is unknown", plural.Count(all, "chunk"), found)
	}
	r.Contents.Event(codec.EventUnfinished, text)
}

// chunks returns the number of chunks that the file header counts, 0 in a bag that was not closed, and the number of
// chunks that were found.
func (r *reader) chunks() (all, found int) {
	w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, to: r.Size}
	rec, _ := w.record(int64(len(version2)))
	if position, _ := rec.uint64("index_pos"); rec.op == opFile && position > 0 {
		n, _ := rec.uint32("chunk_count")
		all = int(n)
	}
	for _, s := range r.Contents.Segments {
		if s.Chunk {
			found++
		}
	}
	return all, found
}

// lacksSize reports whether the writer of a compressed chunk was killed before it wrote the size to the header.
// Otherwise records follow.
func (r *reader) lacksSize(rec *record) bool {
	size, _ := rec.uint32("size")
	return size == 0 && string(rec.get("compression")) != "none" && rec.data < r.Size
}

// behindChunk returns the offset of the first record at off or later that cannot be in a chunk. Other records may be
// part of the chunk: LZ4 leaves some data uncompressed.
func (w *walker) behindChunk(off int64) int64 {
	for off = w.resync(off); off < w.to; off = w.resync(off + 1) {
		if r, _ := w.record(off); r.op == opChunk || r.op == opIndex {
			break
		}
	}
	return off
}

// addScanned adds a chunk that no index describes. It returns the loaded records, in buf if they fit.
func (r *reader) addScanned(l *loader, s chunked.Segment, buf []byte) []byte {
	records, counts := r.Contents.LoadNew(l, &s, buf)
	if len(counts) > 0 {
		for id, n := range counts {
			r.Contents.Count(id, n)
		}
		r.Contents.Cover(s.Start, s.End)
		r.Contents.Segments = append(r.Contents.Segments, s)
	}
	return records
}
