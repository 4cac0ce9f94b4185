package rosbag

import (
	"errors"
	"fmt"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
)

// reader reads a bag.
//
// The reader uses the index of a bag that was closed. It scans any other bag, also a bag of version 1.2, once before
// the first message is read or Info returns, up to the last whole message, which may be in an open chunk. Reading holds
// up to 256 MiB of chunks that overlap in time, or a single larger chunk. Other chunks are read again when their time
// comes.
//
// Info.Extra is an Extra.
type reader struct {
	chunked.Reader
	connectionTable
	version1    bool // the bag has version 1.2
	indexed     bool // the index was used
	complete    bool // the bag was closed and has no damage
	headDamaged bool // the file has records, but does not begin as a bag
}

func newReader(file codec.File, size int64, path string) (*reader, error) {
	head := make([]byte, min(size, int64(len(version2))))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, chunked.Unexpected(err))
	}
	r := &reader{Reader: chunked.Reader{File: file, Path: path, Size: size}, version1: string(head) == version1}
	r.Layout = r
	if err := checkVersion(string(head)); err != nil {
		w := walker{Window: chunked.Window{File: file, Size: size}, to: size}
		r.headDamaged = !strings.HasPrefix(string(head), magic) && w.resync(0) < size
		if !r.headDamaged {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return r, nil
}

// Loader implements chunked.Layout.
func (r *reader) Loader() chunked.Loader { return r.loader() }

// Index implements chunked.Layout. It uses the index of the bag, or scans the bag.
func (r *reader) Index() error {
	r.reset()
	if r.headDamaged {
		err := r.scan(false)
		r.complete = false
		r.Contents.DamagedHead()
		return err
	}
	err := r.readIndex()
	var noIndex *chunked.NoIndexError
	if !errors.As(err, &noIndex) {
		r.indexed = true
		return err
	}
	connections, channels := r.connectionTable, r.Contents.Channels
	r.reset()
	if noIndex.Damaged {
		// Keep the connections of the index, which the chunks may lack.
		r.connectionTable, r.Contents.Channels = connections, channels
		r.Contents.Event(codec.EventDamage, fmt.Sprintf("read without the index: %v", noIndex))
	}
	_, _, _, headerErr := r.fileHeader()
	return r.scan(headerErr == nil)
}

// reset forgets the contents of the bag.
func (r *reader) reset() {
	*r = reader{Reader: r.Reader, version1: r.version1, headDamaged: r.headDamaged, connectionTable: connectionTable{
		numbers: map[uint32]int{}, sums: map[uint32]uint32{}, names: map[string]int{},
		definitions: map[string][]byte{}}}
	r.Contents = chunked.Contents{Path: r.Path}
}

func (r *reader) loader() *loader { return &loader{file: r.File, reader: r, number: chunked.None} }

// Extra is Info.Extra of a bag.
type Extra struct {
	Version string `json:"version"`
	Indexed bool   `json:"indexed"` // read by the index, not by a scan
	Chunks  int    `json:"chunks"`
	// Compression is the compression of the first chunk. Usually all chunks have one compression.
	Compression string `json:"compression,omitempty"`
}

// Describe implements chunked.Layout.
func (r *reader) Describe() *codec.Info {
	extra := Extra{Version: "2.0", Indexed: r.indexed}
	if r.version1 {
		extra.Version = "1.2"
	}
	for i := range r.Contents.Segments {
		if s := &r.Contents.Segments[i]; s.Chunk {
			extra.Chunks++
			if extra.Chunks == 1 {
				w := walker{Window: chunked.Window{File: r.File, Size: r.Size}, to: s.Offset + s.Size}
				rec, _ := w.record(s.Offset)
				extra.Compression = string(rec.get("compression"))
			}
		}
	}
	info := r.Contents.Info(Name, r.Size, r.loader())
	info.Events = append(codec.DefineAll(r.Contents.Channels), info.Events...)
	info.Complete, info.Extra = r.complete, extra
	return info
}
