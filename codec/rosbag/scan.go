package rosbag

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// runSize is about how many bytes of messages outside of chunks make a segment.
const runSize = 1 << 20

// scan finds the segments by going through the whole file. closed says that the writer closed it.
func (r *Reader) scan(closed bool) error {
	content, err := chunked.ContentEnd(r.file, r.size)
	if err != nil {
		return err
	}
	w := walker{Window: chunked.Window{File: r.file, Size: r.size}, off: int64(len(version2)), to: r.size}
	if content < r.size {
		w.content = content
	}
	if r.beheaded {
		w.off = 0
	}
	l := r.loader()
	runs := builder{r: r}
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
		cut = errors.Is(err, errCut)
		var broken *damage
		switch {
		case errors.As(err, &broken):
			runs.flush()
			r.contents.Damaged(broken.from, err)
		case rec.op == opChunk:
			runs.flush()
			s := chunked.Segment{Offset: rec.offset, Size: rec.end() - rec.offset, Chunk: true, Cut: cut}
			if cut {
				packed := string(rec.get("compression")) != "none"
				if behind := w.behindChunk(rec.data); behind < w.to {
					// Its size is wrong: it runs over others.
					r.contents.Damaged(rec.offset, &damage{rec.offset, behind})
					cut = false
					if !packed {
						w.off = rec.data // its records are found as any others
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
				s.Size = r.size - s.Offset
			case rec.size == 0 && r.unfilled(&rec):
				// Its writer did not come back to the header. There is nothing behind it, unless that is damaged.
				w.off = w.behindChunk(rec.data)
				s.Size, s.Cut = w.off-s.Offset, true
			}
			if w.content > 0 && s.Offset+s.Size > content && (s.Cut || s.Offset+s.Size < r.size || l.broken(s, buf)) {
				// What a crash left of the last chunk is followed by zeros in place of the rest.
				s.Size, s.Cut = content-s.Offset, true
			}
			buf = r.scanChunk(l, s, buf)
		case cut:
			runs.flush()
		case rec.op != opMessage:
			if rec.op == opConnection || rec.op == opDefinition {
				r.define(&rec.header, w.At(rec.data, int64(rec.size)))
			} else {
				runs.flush()
			}
		case w.content > 0 && rec.end() > content && rec.end() < r.size:
			runs.flush() // a crash left zeros in place of its end
		default:
			runs.add(&rec)
		}
	}
	runs.flush()
	for _, conn := range slices.Sorted(maps.Keys(r.numbers)) {
		n := r.numbers[conn]
		if !r.contents.Known(n) && n < len(r.contents.Counts) && r.contents.Counts[n] > 0 {
			r.contents.Damaged(r.size, fmt.Errorf("messages of connection %d, which nothing describes, were left out", conn))
		}
	}
	r.contents.Scanned = true
	r.complete = closed && !cut && len(r.contents.Damage) == 0
	if !closed || cut {
		r.contents.Event(codec.EventUnfinished, "the bag was not closed by its writer; everything up to its end was read")
	}
	return nil
}

// unfilled reports whether the header of a chunk was written before its content, which is compressed: otherwise
// records follow.
func (r *Reader) unfilled(rec *record) bool {
	size, _ := rec.uint32("size")
	return size == 0 && string(rec.get("compression")) != "none" && rec.data < r.size
}

// behindChunk returns where behind off a record is that cannot be in a chunk: LZ4 leaves some of the others as they
// were.
func (w *walker) behindChunk(off int64) int64 {
	for off = w.resync(off); off < w.to; off = w.resync(off + 1) {
		if r, _ := w.record(off); r.op == opChunk || r.op == opIndex {
			break
		}
	}
	return off
}

// scanChunk adds a chunk that no index describes. The records are loaded to buf, if they fit there, and returned.
func (r *Reader) scanChunk(l *loader, s chunked.Segment, buf []byte) []byte {
	records, errs := l.Load(&s, buf)
	for _, err := range errs {
		r.contents.Damaged(s.Offset, err)
	}
	counts := map[int]uint64{}
	s.Told = true
	s.Start, s.End = math.MaxInt64, math.MinInt64
	for _, m := range chunked.Messages(l, records) {
		s.Start, s.End = min(s.Start, m.Time), max(s.End, m.Time)
		counts[m.Channel]++
	}
	if len(counts) > 0 {
		r.addSegment(s, counts)
	}
	return records
}

// addSegment adds a segment with so many messages of each channel.
func (r *Reader) addSegment(s chunked.Segment, counts map[int]uint64) {
	s.Channels = slices.Sorted(maps.Keys(counts))
	for id, n := range counts {
		r.contents.Count(id, n)
	}
	r.contents.Cover(s.Start, s.End)
	r.contents.Segments = append(r.contents.Segments, s)
}

// builder makes segments of the messages outside of chunks.
type builder struct {
	r      *Reader
	run    chunked.Segment
	counts map[int]uint64
}

// add takes the next message.
func (b *builder) add(rec *record) {
	if b.run.Size > 0 && rec.end()-b.run.Offset > runSize {
		b.flush()
	}
	if b.run.Size == 0 {
		b.run = chunked.Segment{Offset: rec.offset, Start: rec.time, End: rec.time}
		b.counts = map[int]uint64{}
	}
	b.run.Unsorted = b.run.Unsorted || rec.time < b.run.End
	b.run.Size = rec.end() - b.run.Offset
	b.run.Start, b.run.End = min(b.run.Start, rec.time), max(b.run.End, rec.time)
	b.counts[b.r.channel(&rec.header)]++
}

// flush ends the open run.
func (b *builder) flush() {
	if b.run.Size > 0 {
		b.r.addSegment(b.run, b.counts)
	}
	b.run = chunked.Segment{}
}
