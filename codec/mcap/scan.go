package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
)

// runSize is about how many bytes of messages outside of chunks make a segment.
const runSize = 1 << 20

// zeroEnd is how many bytes at the end of a record may be zero when nothing is wrong: the lengths of what it does not have.
const zeroEnd = 8

// scan finds the segments by going through the whole file.
func (r *Reader) scan() error {
	to := r.size
	magic := make([]byte, len(mcap.Magic))
	if _, err := r.file.ReadAt(magic, max(r.size-int64(len(magic)), 0)); err != nil {
		return unexpected(err)
	}
	closed := r.size >= int64(2*len(magic)) && bytes.Equal(magic, mcap.Magic)
	if closed {
		to -= int64(len(magic))
	}
	content := to
	if !closed {
		var err error
		if content, err = contentEnd(r.file, to); err != nil {
			return err
		}
	}
	w := walker{window: window{r: r.file}, off: int64(len(magic)), to: to, known: r.known}
	if content < to {
		w.content = content
	}
	l := r.loader()
	defer l.close()
	runs := builder{r: r, counting: true}
	var buf []byte
	dataEnd, footer := false, false
	for {
		rec, err := w.next()
		if w.err != nil {
			return w.err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *damage
		switch {
		case errors.As(err, &broken):
			runs.flush()
			r.damaged(broken.from, err)
		case errors.Is(err, errCut):
			runs.flush()
			if rec.op == mcap.OpChunk {
				buf = r.scanChunk(l, segment{offset: rec.offset, size: to - rec.offset, chunk: true, cut: true}, buf)
			}
			closed = false
		case rec.op == mcap.OpChunk:
			runs.flush()
			s := segment{offset: rec.offset, size: rec.end() - rec.offset, chunk: true}
			if rec.end() > content && l.broken(s, buf) {
				// What a crash left of the last chunk is followed by zeros in place of the rest.
				s.size, s.cut = content-rec.offset, true
			}
			buf = r.scanChunk(l, s, buf)
		case rec.end()-zeroEnd > content:
			runs.flush() // likewise
		default:
			dataEnd = dataEnd || rec.op == mcap.OpDataEnd
			footer = rec.op == mcap.OpFooter
			var content []byte
			switch rec.op {
			case mcap.OpMessage:
				content = w.at(rec.offset+recordHead, messageHead)
			case mcap.OpHeader, mcap.OpSchema, mcap.OpChannel, mcap.OpMetadata:
				content = w.at(rec.offset+recordHead, min(rec.size, maxRecord))
			}
			if err := runs.add(rec, content); err != nil {
				r.damaged(rec.offset, fmt.Errorf("%s record at 0x%x: %w", rec.op, rec.offset, err))
			}
		}
	}
	runs.flush()
	r.complete = closed && dataEnd && footer && len(r.damage) == 0
	if !closed || !dataEnd || !footer {
		r.event(codec.EventUnfinished, 0, "the file was not closed by its writer; everything up to its end was read")
	}
	return nil
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
	r.event(codec.EventDamage, 0, err.Error())
}

func (r *Reader) loader() *loader {
	return &loader{file: r.file, define: r.define, known: r.known}
}

// scanChunk adds a chunk that no index describes. The records are loaded to buf, if they fit there, and returned.
func (r *Reader) scanChunk(l *loader, s segment, buf []byte) []byte {
	records, errs := l.load(&s, buf)
	for _, err := range errs {
		r.damaged(s.offset, err)
	}
	counts := map[uint16]uint64{}
	s.start, s.end = math.MaxInt64, math.MinInt64
	for off := 0; off < len(records); {
		op, content, next := cutRecord(records, off)
		if op == mcap.OpMessage {
			s.start, s.end = min(s.start, messageTime(content)), max(s.end, messageTime(content))
			counts[messageChannel(content)]++
		}
		off = next
	}
	r.cover(s.start, s.end)
	s.channels = sortedKeys(counts)
	for _, id := range s.channels {
		if r.known(id) {
			r.count(id, counts[id])
		} else {
			r.damaged(s.offset, fmt.Errorf("%v: %w", &s, unknownChannel(id)))
		}
	}
	s.told = true
	if s.start > s.end {
		s.start, s.end = r.end, r.end
	}
	r.segments = append(r.segments, s)
	return records
}

// builder makes segments of the messages outside of chunks.
type builder struct {
	r        *Reader
	counting bool // the messages are not in the statistics
	run      segment
	counts   map[uint16]uint64
}

// add takes the next record, with what walk gives of its content.
func (b *builder) add(rec record, content []byte) error {
	switch rec.op {
	case mcap.OpMessage:
		id, t := messageChannel(content), messageTime(content)
		if !b.r.known(id) {
			b.flush()
			return unknownChannel(id)
		}
		if b.run.size > 0 && rec.end()-b.run.offset > runSize {
			b.flush()
		}
		if b.run.size == 0 {
			b.run = segment{offset: rec.offset, start: t, end: t}
			b.counts = map[uint16]uint64{}
		}
		b.run.unsorted = b.run.unsorted || t < b.run.end
		b.run.size = rec.end() - b.run.offset
		b.run.start, b.run.end = min(b.run.start, t), max(b.run.end, t)
		b.counts[id]++
		return nil
	case mcap.OpSchema, mcap.OpChannel:
	case mcap.OpAttachment:
		b.r.attachments++
		b.flush()
	default:
		b.flush()
	}
	return b.r.define(rec.op, content)
}

// flush ends the open run.
func (b *builder) flush() {
	if b.run.size == 0 {
		return
	}
	b.run.channels = sortedKeys(b.counts)
	if b.counting {
		for id, n := range b.counts {
			b.r.count(id, n)
		}
	}
	b.r.cover(b.run.start, b.run.end)
	b.r.segments = append(b.r.segments, b.run)
	b.run = segment{}
}

func messageChannel(content []byte) uint16 { return binary.LittleEndian.Uint16(content) }

func messageTime(content []byte) int64 { return int64(binary.LittleEndian.Uint64(content[6:])) }

func unknownChannel(id uint16) error {
	return fmt.Errorf("messages of channel %d, which nothing describes, were left out", id)
}
