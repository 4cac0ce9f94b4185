package rosbag

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"tapedeck/codec"
)

// Reader reads a bag.
//
// It finds its way by the index of a bag that was closed. Any other, also one of version 1.2, is gone through once before the
// first message is read or Info answers: what a killed writer left is read up to its last whole message, also in the chunk that
// was open. Reading holds the chunks that overlap in time, up to 256 MiB of them or a single larger one; what is beyond that is
// read again when its time comes.
type Reader struct {
	file     file
	path     string
	size     int64
	version1 bool

	definer
	segments   []segment         // in the order of the file
	counts     map[uint32]uint64 // messages, by connection
	start, end int64             // LogTime of the earliest and the latest message; start > end: there is none
	damage     []damageAt        // that was found without an index, in the order of the file
	events     []codec.Event
	indexed    bool
	complete   bool

	info    *codec.Info
	infoErr error
}

// file is what a reader reads from.
type file interface {
	io.ReaderAt
	io.Closer
}

// damageAt is damage to a chunk, or to the records between segments.
type damageAt struct {
	offset int64
	err    error
}

// Open opens the bag at path.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	stat, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	r, err := newReader(file, stat.Size(), path)
	if err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

func newReader(file file, size int64, path string) (*Reader, error) {
	head := make([]byte, min(size, int64(len(version2))))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, unexpected(err))
	}
	if err := checkVersion(string(head)); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return &Reader{file: file, path: path, size: size, version1: string(head) == version1}, nil
}

// index finds the segments of the file, at the first call.
func (r *Reader) index() error {
	if r.info != nil || r.infoErr != nil {
		return r.infoErr
	}
	r.reset()
	err := r.readIndex()
	var useless *noIndex
	if errors.As(err, &useless) {
		definitions := r.definer
		if r.reset(); useless.damaged {
			// They help where those in front of the messages are damaged.
			r.definer = definitions
			r.event(codec.EventDamage, fmt.Sprintf("read without the index: %v", useless))
		}
		_, _, _, open := r.fileHeader()
		err = r.scan(open == nil)
	} else {
		r.indexed = true
	}
	if err != nil {
		r.infoErr = fmt.Errorf("read %s: %w", r.path, err)
		return r.infoErr
	}
	r.info = r.describe()
	return nil
}

func (r *Reader) reset() {
	*r = Reader{
		file: r.file, path: r.path, size: r.size, version1: r.version1,
		definer: newDefiner(), counts: map[uint32]uint64{}, start: math.MaxInt64, end: math.MinInt64,
	}
}

func (r *Reader) event(kind, text string) {
	r.events = append(r.events, codec.Event{Kind: kind, Text: text})
}

func (r *Reader) loader() *loader { return &loader{file: r.file, define: r.define} }

// Extra is what Info tells of a bag beside what it tells of any recording.
type Extra struct {
	Version string `json:"version"`
	Indexed bool   `json:"indexed"`
	Chunks  int    `json:"chunks"`
	// Compression is that of the first chunk, as a rule of all of them.
	Compression string `json:"compression,omitempty"`
}

func (r *Reader) describe() *codec.Info {
	extra := Extra{Version: "2.0", Indexed: r.indexed}
	if r.version1 {
		extra.Version = "1.2"
	}
	for i := range r.segments {
		if s := &r.segments[i]; s.chunk {
			if extra.Chunks++; extra.Chunks == 1 {
				w := walker{window: window{r: r.file, size: smallWindow}, to: s.offset + s.size}
				rec, _ := w.record(s.offset)
				extra.Compression = string(rec.get("compression"))
			}
		}
	}
	info := &codec.Info{Format: Name, Path: r.path, Size: r.size, Complete: r.complete, Events: r.events, Extra: extra}
	for _, conn := range r.order {
		info.MessageCount += r.counts[conn]
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: r.channels[conn], MessageCount: r.counts[conn]})
	}
	if r.start <= r.end {
		info.StartTime, info.EndTime = r.start, r.end
	}
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	info.Files = []codec.FileInfo{{
		Path: r.path, Size: r.size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}

// cover adds the time from start to end to that of the messages.
func (r *Reader) cover(start, end int64) { r.start, r.end = min(r.start, start), max(r.end, end) }

// Info implements codec.Reader. Its Extra is an Extra.
func (r *Reader) Info() (*codec.Info, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	return r.info, nil
}

// Read implements codec.Reader.
func (r *Reader) Read(q codec.Query) (codec.Iterator, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	return newIterator(r, q), nil
}

// Close implements codec.Reader.
func (r *Reader) Close() error {
	if err := r.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
