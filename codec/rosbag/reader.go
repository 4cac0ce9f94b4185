package rosbag

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// Reader reads a bag.
//
// It finds its way by the index of a bag that was closed. Any other, also one of version 1.2, is gone through once
// before the first message is read or Info answers: what a killed writer left is read up to its last whole message,
// also in the chunk that was open. Reading holds the chunks that overlap in time, up to 256 MiB of them or a single
// larger one; what is beyond that is read again when its time comes.
type Reader struct {
	file     codec.File
	path     string
	size     int64
	version1 bool

	definer
	contents chunked.Contents
	indexed  bool
	complete bool
	beheaded bool // the file has records, but does not begin as a bag

	info    *codec.Info
	infoErr error
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

func newReader(file codec.File, size int64, path string) (*Reader, error) {
	head := make([]byte, min(size, int64(len(version2))))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, chunked.Unexpected(err))
	}
	r := &Reader{file: file, path: path, size: size, version1: string(head) == version1}
	if err := checkVersion(string(head)); err != nil {
		w := walker{Window: chunked.Window{File: file, Size: size}, to: size}
		if r.beheaded = !strings.HasPrefix(string(head), magic) && w.resync(0) < size; !r.beheaded {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return r, nil
}

// index finds the segments of the file, at the first call.
func (r *Reader) index() error {
	if r.info != nil || r.infoErr != nil {
		return r.infoErr
	}
	r.reset()
	var err error
	if r.beheaded {
		r.contents.Damaged(0, errors.New("the beginning of the bag is missing or damaged"))
		err = r.scan(false)
	} else {
		err = r.readIndex()
	}
	var useless *noIndex
	if errors.As(err, &useless) {
		definitions, channels := r.definer, r.contents.Channels
		if r.reset(); useless.damaged {
			// They help where those in front of the messages are damaged.
			r.definer, r.contents.Channels = definitions, channels
			r.contents.Event(codec.EventDamage, fmt.Sprintf("read without the index: %v", useless))
		}
		_, _, _, open := r.fileHeader()
		err = r.scan(open == nil)
	} else {
		r.indexed = !r.beheaded
	}
	if err != nil {
		r.infoErr = fmt.Errorf("read %s: %w", r.path, err)
		return r.infoErr
	}
	r.contents.Sort()
	r.info = r.describe()
	return nil
}

func (r *Reader) reset() {
	*r = Reader{
		file: r.file, path: r.path, size: r.size, version1: r.version1, beheaded: r.beheaded,
		definer: newDefiner(), contents: chunked.Contents{Path: r.path},
	}
}

func (r *Reader) loader() *loader { return &loader{file: r.file, reader: r, number: chunked.None} }

// Extra is Info.Extra of a bag.
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
	for i := range r.contents.Segments {
		if s := &r.contents.Segments[i]; s.Chunk {
			if extra.Chunks++; extra.Chunks == 1 {
				w := walker{Window: chunked.Window{File: r.file, Size: r.size}, to: s.Offset + s.Size}
				rec, _ := w.record(s.Offset)
				extra.Compression = string(rec.get("compression"))
			}
		}
	}
	info := r.contents.Info(Name, r.size, r.loader())
	info.Complete, info.Extra = r.complete, extra
	return info
}

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
	return r.contents.Read(r.loader(), q), nil
}

// Latest implements codec.LatestReader.
func (r *Reader) Latest(q codec.Query, keep func(*codec.Channel) int) (codec.Iterator, error) {
	if err := r.index(); err != nil {
		return nil, err
	}
	return r.contents.Latest(r.loader(), q, keep), nil
}

// Close implements codec.Reader.
func (r *Reader) Close() error {
	if err := r.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
