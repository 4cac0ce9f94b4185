package mcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// zeroEnd is the number of bytes at the end of a sound record that may be zero: the lengths of empty fields.
const zeroEnd = 8

// scan finds the segments by reading the whole file. With definitions it first reads only the channels, because the
// channels before their messages may be missing.
func (r *reader) scan(definitions bool) error {
	to := r.Size
	magic := make([]byte, len(mcap.Magic))
	if _, err := r.File.ReadAt(magic, max(r.Size-int64(len(magic)), 0)); err != nil {
		return chunked.Unexpected(err)
	}
	closed := r.Size >= int64(2*len(magic)) && bytes.Equal(magic, mcap.Magic)
	if closed {
		to -= int64(len(magic))
	}
	content := to
	if !closed {
		var err error
		content, err = chunked.ContentEnd(r.File, to)
		if err != nil {
			return err
		}
	}
	w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, off: int64(len(magic)), to: to, known: r.known}
	if content < to {
		w.content = content
	}
	if r.headDamaged {
		w.off = 0
	}
	if definitions {
		if err := r.scanDefinitions(w); err != nil {
			return err
		}
	}
	l := r.loader()
	defer l.Close()
	runs := builder{r, chunked.Run{Contents: &r.Contents}}
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
		var broken *chunked.GapError
		switch {
		case errors.As(err, &broken):
			runs.Flush()
			r.Contents.Damaged(broken.From, err)
		case errors.Is(err, chunked.ErrCut):
			runs.Flush()
			if rec.op == mcap.OpChunk && rec.size != chunkHead+openChunkSize { // an incomplete chunk cannot be trusted
				buf = r.scanChunk(l, chunked.Segment{Offset: rec.offset, Size: to - rec.offset, Chunk: true, Cut: true},
					buf)
			}
			if rec.op == mcap.OpAttachment {
				r.Contents.Event(codec.EventUnfinished, fmt.Sprintf("the attachment at 0x%x is cut off", rec.offset))
			}
			closed = false
		case rec.op == mcap.OpChunk:
			runs.Flush()
			s := chunked.Segment{Offset: rec.offset, Size: rec.end() - rec.offset, Chunk: true}
			if rec.end() <= content && !w.plausible(rec.end()) && l.broken(s, buf) {
				// The length of the record may be wrong and cover other records.
				if within := w.resync(rec.offset + recordHead); within < rec.end() {
					r.Contents.Damaged(rec.offset, &chunked.GapError{From: rec.offset, To: within})
					w.off = within
					s.Size = within - rec.offset
					if s.Size > recordHead+chunkHead+maxName {
						s.Cut = true
						buf = r.scanChunk(l, s, buf)
					}
					break
				}
			}
			if rec.end() > content && l.broken(s, buf) {
				// After a crash, zeros replace the end of the last chunk.
				s.Size, s.Cut = content-rec.offset, true
			}
			buf = r.scanChunk(l, s, buf)
		case rec.end()-zeroEnd > content:
			runs.Flush() // after a crash, zeros replace the end of the last message
		default:
			dataEnd = dataEnd || rec.op == mcap.OpDataEnd
			footer = rec.op == mcap.OpFooter
			if err := runs.add(rec, w.contentOf(rec)); err != nil {
				r.Contents.Damaged(rec.offset, fmt.Errorf("%s record at 0x%x: %w", rec.op, rec.offset, err))
			}
		}
	}
	runs.Flush()
	r.Contents.Scanned = true
	r.complete = closed && dataEnd && footer && len(r.Contents.Damage) == 0
	if !closed || !dataEnd || !footer {
		r.Contents.Event(codec.EventUnfinished, "the file was not closed by its writer; everything up to its end was "+
			"read")
	}
	return nil
}

// scanDefinitions reads all channels of the file, because the channels before the messages may be missing.
func (r *reader) scanDefinitions(w walker) error {
	for {
		rec, err := w.next()
		if w.Err != nil || errors.Is(err, io.EOF) || errors.Is(err, chunked.ErrCut) {
			return w.Err
		}
		if err == nil && (rec.op == mcap.OpSchema || rec.op == mcap.OpChannel) {
			_ = r.define(rec.op, w.contentOf(rec)) // the scan reports the error
		}
	}
}

func (r *reader) loader() *loader {
	return &loader{file: r.File, define: r.define, known: r.known}
}

// scanChunk adds a chunk that no index describes. It returns the loaded records, in buf if they fit.
func (r *reader) scanChunk(l *loader, s chunked.Segment, buf []byte) []byte {
	records, counts := r.Contents.LoadNew(l, &s, buf)
	if len(counts) > 0 {
		r.Contents.Cover(s.Start, s.End)
	}
	for _, id := range s.Channels {
		if r.Contents.Known(id) {
			r.Contents.Count(id, counts[id])
		} else {
			r.Contents.Damaged(s.Offset, fmt.Errorf("%v: %w", &s, chunked.UnknownChannel(id)))
		}
	}
	if len(counts) == 0 {
		_, s.Start, _ = r.Contents.Covered()
		s.End = s.Start
	}
	r.Contents.Segments = append(r.Contents.Segments, s)
	return records
}

// builder collects the records outside of chunks.
type builder struct {
	r *reader
	chunked.Run
}

// add adds the next record. content is its walker.contentOf.
func (b *builder) add(rec record, content []byte) error {
	switch rec.op {
	case mcap.OpMessage:
		id, t := messageChannel(content), messageTime(content)
		if !b.r.known(id) {
			b.Flush()
			return chunked.UnknownChannel(int(id))
		}
		b.Add(rec.offset, rec.end(), int(id), t)
		return nil
	case mcap.OpSchema, mcap.OpChannel:
	case mcap.OpAttachment:
		b.Flush()
		return b.r.attach(rec, content)
	case mcap.OpDataEnd: // of at least four bytes
		b.r.dataEnd, b.r.dataSum = rec.offset, binary.LittleEndian.Uint32(content)
	default:
		b.Flush()
	}
	return b.r.define(rec.op, content)
}

func messageChannel(content []byte) uint16 { return binary.LittleEndian.Uint16(content) }

func messageTime(content []byte) int64 { return int64(binary.LittleEndian.Uint64(content[6:])) }
