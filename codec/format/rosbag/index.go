package rosbag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
)

// fileHeader reads the first record. It returns the offset of the index, and the numbers of connections and chunks.
func (r *reader) fileHeader() (index int64, conns, chunks uint32, err error) {
	w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, to: r.Size}
	rec, _ := w.record(int64(len(magic) + len("2.0\n")))
	if w.Err != nil {
		return 0, 0, 0, w.Err
	}
	if rec.op != opFile {
		return 0, 0, 0, chunked.Wrong("there is no file header")
	}
	if name := string(rec.get("encryptor")); name != "" {
		return 0, 0, 0, fmt.Errorf("the bag is encrypted with %s; decrypt it with ROS's 'rosbag decrypt' first", name)
	}
	position, ok := rec.uint64("index_pos")
	if !ok || position > uint64(r.Size) {
		return 0, 0, 0, chunked.Wrong("the file header says that the index begins at 0x%x", position)
	}
	if position == 0 {
		return 0, 0, 0, chunked.Missing("the writer did not close the bag")
	}
	conns, _ = rec.uint32("conn_count")
	chunks, _ = rec.uint32("chunk_count")
	return int64(position), conns, chunks, nil
}

// readIndex fills r.Contents from the index. The error is a *chunked.NoIndexError if the index cannot be used.
func (r *reader) readIndex() error {
	start, conns, chunks, err := r.fileHeader()
	if err != nil {
		return err
	}
	if r.version1 {
		return chunked.Missing("the index of version 1.2 is not used")
	}
	store.Prefetch(r.File, start, r.Size-start)
	w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, off: start, to: r.Size}
	for {
		rec, err := w.next()
		if w.Err != nil {
			return w.Err
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return chunked.Wrong("the index is %v", err)
		}
		switch rec.op {
		case opConnection:
			h, data := w.read(&rec)
			_ = r.define(&h, data) // the first record counts
		case opChunkInfo:
			if err := r.addChunk(&rec, &w.Window, start); err != nil {
				return err
			}
		default:
			return chunked.Wrong("the index has a %v at 0x%x", rec.op, rec.offset)
		}
	}
	segments := r.Contents.Segments
	for conn, n := range r.numbers {
		if !r.Contents.Known(n) {
			return chunked.Wrong("the index does not describe connection %d", conn)
		}
	}
	if len(r.numbers) != int(conns) || len(segments) != int(chunks) {
		return chunked.Wrong("the index has %d of %d connections and %d of %d chunks", len(r.numbers), conns,
			len(segments), chunks)
	}
	slices.SortFunc(segments, func(a, b chunked.Segment) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := range segments {
		s := &segments[i]
		end := start
		if i+1 < len(segments) {
			end = segments[i+1].Offset
		}
		s.Size = end - s.Offset
		if s.Size == 0 {
			return chunked.Wrong("the index has the chunk at 0x%x twice", s.Offset)
		}
	}
	r.complete = true
	return nil
}

// addChunk adds the segment that the chunk info rec describes. end is the offset of the end of the last chunk.
func (r *reader) addChunk(rec *record, w *chunked.Window, end int64) error {
	position, _ := rec.uint64("chunk_pos")
	first, last := rec.get("start_time"), rec.get("end_time")
	if position == 0 || position >= uint64(end) || len(first) != 8 || len(last) != 8 || rec.size%8 != 0 {
		return chunked.Wrong("the chunk info at 0x%x is damaged", rec.offset)
	}
	s := chunked.Segment{
		Offset: int64(position), Chunk: true, Start: parseTime(first), End: parseTime(last), Channels: []int{},
	}
	counts := w.At(rec.data, int64(rec.size))
	for ; len(counts) > 0; counts = counts[8:] {
		channel := r.channelNumber(le.Uint32(counts))
		s.Channels = append(s.Channels, channel)
		r.Contents.Count(channel, uint64(le.Uint32(counts[4:])))
	}
	if len(s.Channels) > 0 {
		r.Contents.Cover(s.Start, s.End)
	}
	r.Contents.Segments = append(r.Contents.Segments, s)
	return nil
}
