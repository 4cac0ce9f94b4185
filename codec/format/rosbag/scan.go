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

// scan finds the segments by reading the whole file. closed reports that the writer closed it.
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
	cut := false
	for !cut {
		rec, err := w.next()
		if w.Err != nil {
			return w.Err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		cut = errors.Is(err, chunked.ErrCut)
		var broken *chunked.GapError
		switch {
		case errors.As(err, &broken):
			runs.Flush()
			r.Contents.Damaged(broken.From, err)
		case rec.op == opChunk:
			runs.Flush()
			s := chunked.Segment{Offset: rec.offset, Size: rec.end() - rec.offset, Chunk: true, Cut: cut}
			if cut {
				packed := string(rec.get("compression")) != "none"
				if behind := w.behindChunk(rec.data); behind < w.to {
					// Its size is wrong: it covers other records.
					r.Contents.Damaged(rec.offset, &chunked.GapError{From: rec.offset, To: behind})
					cut = false
					if !packed {
						w.off = rec.data // scan its records like any others
						break
					}
					w.off = behind
					s.Size, s.Cut = behind-rec.offset, true
					buf = r.scanChunk(l, s, buf)
					break
				}
			}
			switch {
			case cut:
				s.Size = r.Size - s.Offset
			case rec.size == 0 && r.lacksSize(&rec):
				// Its writer was killed before it wrote the size. Nothing follows it, unless the header is damaged.
				w.off = w.behindChunk(rec.data)
				s.Size, s.Cut = w.off-s.Offset, true
			}
			if w.content > 0 && s.Offset+s.Size > content && (s.Cut || s.Offset+s.Size < r.Size || l.isDamaged(s, buf)) {
				// After a crash, zeros replace the end of the last chunk.
				s.Size, s.Cut = content-s.Offset, true
			}
			buf = r.scanChunk(l, s, buf)
		case cut:
			runs.Flush()
		case rec.op != opMessage:
			if rec.op == opConnection || rec.op == opDefinition {
				r.define(&rec.header, w.At(rec.data, int64(rec.size)))
			} else {
				runs.Flush()
			}
		case w.content > 0 && rec.end() > content && rec.end() < r.Size:
			runs.Flush() // after a crash, zeros replace its end
		default:
			runs.Add(rec.offset, rec.end(), r.messageChannel(&rec.header), rec.time)
		}
	}
	runs.Flush()
	for _, conn := range slices.Sorted(maps.Keys(r.numbers)) {
		n := r.numbers[conn]
		if !r.Contents.Known(n) && n < len(r.Contents.Counts) && r.Contents.Counts[n] > 0 {
			r.Contents.Damaged(r.Size, fmt.Errorf("left out messages of connection %d, which the bag does not describe",
				conn))
		}
	}
	r.Contents.Scanned = true
	r.complete = closed && !cut && len(r.Contents.Damage) == 0
	if !closed || cut {
		text := "the bag was not closed by its writer; everything up to its end was read"
		if all, found := r.chunks(); all > found {
			text = fmt.Sprintf("the bag is cut off: its header counts %s, %d were found; nothing tells how many "+
				"messages the others had", plural.Count(all, "chunk"), found)
		}
		r.Contents.Event(codec.EventUnfinished, text)
	}
	return nil
}

// chunks returns the number of chunks by the file header, 0 in a bag that was not closed, and the number found.
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

// behindChunk returns the offset of the first record at or behind off that cannot be in a chunk. Other records may be
// part of the chunk: LZ4 leaves some uncompressed.
func (w *walker) behindChunk(off int64) int64 {
	for off = w.resync(off); off < w.to; off = w.resync(off + 1) {
		if r, _ := w.record(off); r.op == opChunk || r.op == opIndex {
			break
		}
	}
	return off
}

// scanChunk adds a chunk that no index describes. It returns the loaded records, in buf if they fit.
func (r *reader) scanChunk(l *loader, s chunked.Segment, buf []byte) []byte {
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
