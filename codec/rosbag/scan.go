package rosbag

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"tapedeck/codec"
)

// runSize is about how many bytes of messages outside of chunks make a segment.
const runSize = 1 << 20

// scan finds the segments by going through the whole file. closed says that the writer closed it.
func (r *Reader) scan(closed bool) error {
	content, err := contentEnd(r.file, r.size)
	if err != nil {
		return err
	}
	w := walker{window: window{r: r.file}, off: int64(len(version2)), to: r.size}
	if content < r.size {
		w.content = content
	}
	l := r.loader()
	runs := builder{r: r}
	var buf []byte
	cut := false
	for !cut {
		rec, err := w.next()
		if w.err != nil {
			return w.err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		cut = errors.Is(err, errCut)
		var broken *damage
		switch {
		case errors.As(err, &broken):
			runs.flush()
			r.damaged(broken.from, err)
		case rec.op == opChunk:
			runs.flush()
			s := segment{offset: rec.offset, size: rec.end() - rec.offset, chunk: true, cut: cut}
			switch {
			case cut:
				s.size = r.size - s.offset
			case rec.size == 0 && r.unfilled(&rec):
				// Its writer did not come back to the header. There is nothing behind it, unless that is damaged.
				w.off = w.behindChunk(rec.data)
				s.size, s.cut = w.off-s.offset, true
			}
			if w.content > 0 && s.offset+s.size > content && (s.cut || s.offset+s.size < r.size || l.broken(s, buf)) {
				// What a crash left of the last chunk is followed by zeros in place of the rest.
				s.size, s.cut = content-s.offset, true
			}
			buf = r.scanChunk(l, s, buf)
		case cut:
			runs.flush()
		case rec.op != opMessage:
			if rec.op == opConnection || rec.op == opDefinition {
				r.define(&rec.header, w.at(rec.data, int64(rec.size)))
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
	for _, conn := range slices.Sorted(maps.Keys(r.counts)) {
		if r.channels[conn] == nil {
			r.damaged(r.size, unknownConnection(conn))
			delete(r.counts, conn)
		}
	}
	r.complete = closed && !cut && len(r.damage) == 0
	if !closed || cut {
		r.event(codec.EventUnfinished, "the bag was not closed by its writer; everything up to its end was read")
	}
	return nil
}

// unfilled says whether the header of a chunk was written before its content, which is compressed: otherwise records follow.
func (r *Reader) unfilled(rec *record) bool {
	size, _ := rec.uint32("size")
	return size == 0 && string(rec.get("compression")) != "none" && rec.data < r.size
}

// behindChunk returns where behind off a record is that cannot be in a chunk: LZ4 leaves some of the others as they were.
func (w *walker) behindChunk(off int64) int64 {
	for off = w.resync(off); off < w.to; off = w.resync(off + 1) {
		if r, _ := w.record(off); r.op == opChunk || r.op == opIndex {
			break
		}
	}
	return off
}

// contentEnd returns where the zeros begin that the first size bytes of a file end with.
func contentEnd(file io.ReaderAt, size int64) (int64, error) {
	b := make([]byte, windowSize)
	for end := size; ; end -= windowSize {
		part := b[:min(end, windowSize)]
		if _, err := file.ReadAt(part, end-int64(len(part))); err != nil {
			return 0, unexpected(err)
		}
		if n := len(bytes.TrimRight(part, "\x00")); n > 0 || end <= windowSize {
			return end - int64(len(part)-n), nil
		}
	}
}

// damaged takes note of damage that is found without an index.
func (r *Reader) damaged(offset int64, err error) {
	r.damage = append(r.damage, damageAt{offset, fmt.Errorf("read %s: %w", r.path, err)})
	r.event(codec.EventDamage, err.Error())
}

// scanChunk adds a chunk that no index describes. The records are loaded to buf, if they fit there, and returned.
func (r *Reader) scanChunk(l *loader, s segment, buf []byte) []byte {
	records, errs := l.load(&s, buf)
	for _, err := range errs {
		r.damaged(s.offset, err)
	}
	counts := map[uint32]uint64{}
	s.start, s.end = math.MaxInt64, math.MinInt64
	for _, h := range messages(records) {
		s.start, s.end = min(s.start, h.time), max(s.end, h.time)
		counts[r.connection(&h)]++
	}
	if len(counts) > 0 {
		r.addSegment(s, counts)
	}
	return records
}

// addSegment adds a segment with so many messages of each connection.
func (r *Reader) addSegment(s segment, counts map[uint32]uint64) {
	s.conns = slices.Sorted(maps.Keys(counts))
	for conn, n := range counts {
		r.counts[conn] += n
	}
	r.cover(s.start, s.end)
	r.segments = append(r.segments, s)
}

// builder makes segments of the messages outside of chunks.
type builder struct {
	r      *Reader
	run    segment
	counts map[uint32]uint64
}

// add takes the next message.
func (b *builder) add(rec *record) {
	if b.run.size > 0 && rec.end()-b.run.offset > runSize {
		b.flush()
	}
	if b.run.size == 0 {
		b.run = segment{offset: rec.offset, start: rec.time, end: rec.time}
		b.counts = map[uint32]uint64{}
	}
	b.run.unsorted = b.run.unsorted || rec.time < b.run.end
	b.run.size = rec.end() - b.run.offset
	b.run.start, b.run.end = min(b.run.start, rec.time), max(b.run.end, rec.time)
	b.counts[b.r.connection(&rec.header)]++
}

// flush ends the open run.
func (b *builder) flush() {
	if b.run.size > 0 {
		b.r.addSegment(b.run, b.counts)
	}
	b.run = segment{}
}

func unknownConnection(conn uint32) error {
	return fmt.Errorf("messages of connection %d, which nothing describes, were left out", conn)
}
