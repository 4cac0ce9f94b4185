package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/foxglove/mcap/go/mcap"
)

// runSize is about how many bytes of messages outside of chunks make a segment.
const runSize = 1 << 20

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
	w := walker{window: window{r: r.file}, off: int64(len(magic)), to: to, known: r.known}
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
			buf = r.scanChunk(l, segment{offset: rec.offset, size: rec.end() - rec.offset, chunk: true}, buf)
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
		r.event("unfinished", 0, "the file was not closed by its writer; everything up to its end was read")
	}
	return nil
}

// damaged takes note of damage between segments.
func (r *Reader) damaged(offset int64, err error) {
	r.damage = append(r.damage, damageAt{offset, fmt.Errorf("read %s: %w", r.path, err)})
	r.event("damage", 0, err.Error())
}

func (r *Reader) loader() *loader {
	return &loader{file: r.file, define: r.define, known: r.known}
}

// scanChunk adds a chunk that no index describes. The records are loaded to buf, if they fit there, and returned.
func (r *Reader) scanChunk(l *loader, s segment, buf []byte) []byte {
	records, errs := l.load(&s, buf)
	for _, err := range errs {
		r.event("damage", 0, err.Error())
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
			r.event("damage", counts[id], fmt.Sprintf("%v: %v", &s, unknownChannel(id)))
			errs = append(errs, unknownChannel(id))
		}
	}
	if len(errs) > 0 {
		// Every reading comes here, to say so.
		s.channels = nil
	}
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
