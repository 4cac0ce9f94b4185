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
	"tapedeck/codec/internal/chunked"
)

// runSize is about how many bytes of messages outside of chunks make a segment.
const runSize = 1 << 20

// zeroEnd is how many bytes at the end of a record may be zero when nothing is wrong: the lengths of what it does not
// have.
const zeroEnd = 8

// scan finds the segments by going through the whole file, at first for its channels alone if those may be missing in
// front of their messages.
func (r *Reader) scan(definitions bool) error {
	to := r.size
	magic := make([]byte, len(mcap.Magic))
	if _, err := r.file.ReadAt(magic, max(r.size-int64(len(magic)), 0)); err != nil {
		return chunked.Unexpected(err)
	}
	closed := r.size >= int64(2*len(magic)) && bytes.Equal(magic, mcap.Magic)
	if closed {
		to -= int64(len(magic))
	}
	content := to
	if !closed {
		var err error
		if content, err = chunked.ContentEnd(r.file, to); err != nil {
			return err
		}
	}
	w := walker{Window: chunked.Window{File: r.file, Size: r.size}, off: int64(len(magic)), to: to, known: r.known}
	if content < to {
		w.content = content
	}
	if r.beheaded {
		w.off = 0
	}
	if definitions {
		if err := r.scanDefinitions(w); err != nil {
			return err
		}
	}
	l := r.loader()
	defer l.Close()
	runs := builder{r: r, counting: true}
	var buf []byte
	dataEnd, footer := false, false
	for {
		rec, err := w.next()
		if w.Err != nil {
			return w.Err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *damage
		switch {
		case errors.As(err, &broken):
			runs.flush()
			r.contents.Damaged(broken.from, err)
		case errors.Is(err, errCut):
			runs.flush()
			if rec.op == mcap.OpChunk {
				buf = r.scanChunk(l, chunked.Segment{Offset: rec.offset, Size: to - rec.offset, Chunk: true, Cut: true}, buf)
			}
			closed = false
		case rec.op == mcap.OpChunk:
			runs.flush()
			s := chunked.Segment{Offset: rec.offset, Size: rec.end() - rec.offset, Chunk: true}
			if rec.end() <= content && !w.plausible(rec.end()) && l.broken(s, buf) {
				// Its length may be wrong, so that it runs over others.
				if within := w.resync(rec.offset + recordHead); within < rec.end() {
					r.contents.Damaged(rec.offset, &damage{rec.offset, within})
					w.off = within
					if s.Size = within - rec.offset; s.Size > recordHead+chunkHead+maxName {
						s.Cut = true
						buf = r.scanChunk(l, s, buf)
					}
					break
				}
			}
			if rec.end() > content && l.broken(s, buf) {
				// What a crash left of the last chunk is followed by zeros in place of the rest.
				s.Size, s.Cut = content-rec.offset, true
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
				content = w.At(rec.offset+recordHead, messageHead)
			case mcap.OpHeader, mcap.OpSchema, mcap.OpChannel, mcap.OpMetadata:
				content = w.At(rec.offset+recordHead, min(rec.size, maxRecord))
			}
			if err := runs.add(rec, content); err != nil {
				r.contents.Damaged(rec.offset, fmt.Errorf("%s record at 0x%x: %w", rec.op, rec.offset, err))
			}
		}
	}
	runs.flush()
	r.contents.Scanned = true
	r.complete = closed && dataEnd && footer && len(r.contents.Damage) == 0
	if !closed || !dataEnd || !footer {
		r.contents.Event(codec.EventUnfinished, "the file was not closed by its writer; everything up to its end was read")
	}
	return nil
}

// scanDefinitions takes the channels from wherever they are, as those in front of the messages may be missing.
func (r *Reader) scanDefinitions(w walker) error {
	for {
		rec, err := w.next()
		if w.Err != nil || errors.Is(err, io.EOF) || errors.Is(err, errCut) {
			return w.Err
		}
		if err == nil && (rec.op == mcap.OpSchema || rec.op == mcap.OpChannel) {
			_ = r.define(rec.op, w.At(rec.offset+recordHead, min(rec.size, maxRecord))) // the scan reports the error
		}
	}
}

func (r *Reader) loader() *loader {
	return &loader{file: r.file, define: r.define, known: r.known}
}

// scanChunk adds a chunk that no index describes. The records are loaded to buf, if they fit there, and returned.
func (r *Reader) scanChunk(l *loader, s chunked.Segment, buf []byte) []byte {
	records, errs := l.Load(&s, buf)
	for _, err := range errs {
		r.contents.Damaged(s.Offset, err)
	}
	counts := map[uint16]uint64{}
	s.Start, s.End = math.MaxInt64, math.MinInt64
	for _, m := range chunked.Messages(l, records) {
		s.Start, s.End = min(s.Start, m.Time), max(s.End, m.Time)
		counts[uint16(m.Channel)]++
	}
	if len(counts) > 0 {
		r.contents.Cover(s.Start, s.End)
	}
	s.Channels = numbers(counts)
	for _, id := range s.Channels {
		if r.contents.Known(id) {
			r.contents.Count(id, counts[uint16(id)])
		} else {
			r.contents.Damaged(s.Offset, fmt.Errorf("%v: %w", &s, chunked.UnknownChannel(id)))
		}
	}
	s.Told = true
	if len(counts) == 0 {
		_, s.Start, _ = r.contents.Covered()
		s.End = s.Start
	}
	r.contents.Segments = append(r.contents.Segments, s)
	return records
}

// builder makes segments of the messages outside of chunks.
type builder struct {
	r        *Reader
	counting bool // the messages are not in the statistics
	run      chunked.Segment
	counts   map[uint16]uint64
}

// add takes the next record, with what walk gives of its content.
func (b *builder) add(rec record, content []byte) error {
	switch rec.op {
	case mcap.OpMessage:
		id, t := messageChannel(content), messageTime(content)
		if !b.r.known(id) {
			b.flush()
			return chunked.UnknownChannel(int(id))
		}
		if b.run.Size > 0 && rec.end()-b.run.Offset > runSize {
			b.flush()
		}
		if b.run.Size == 0 {
			b.run = chunked.Segment{Offset: rec.offset, Start: t, End: t}
			b.counts = map[uint16]uint64{}
		}
		b.run.Unsorted = b.run.Unsorted || t < b.run.End
		b.run.Size = rec.end() - b.run.Offset
		b.run.Start, b.run.End = min(b.run.Start, t), max(b.run.End, t)
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
	if b.run.Size == 0 {
		return
	}
	b.run.Channels = numbers(b.counts)
	if b.counting {
		for id, n := range b.counts {
			b.r.contents.Count(int(id), n)
		}
	}
	b.r.contents.Cover(b.run.Start, b.run.End)
	b.r.contents.Segments = append(b.r.contents.Segments, b.run)
	b.run = chunked.Segment{}
}

func messageChannel(content []byte) uint16 { return binary.LittleEndian.Uint16(content) }

func messageTime(content []byte) int64 { return int64(binary.LittleEndian.Uint64(content[6:])) }
