package ulog

import (
	"fmt"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/msgs/rcl_interfaces"
)

// reader reads a log. Info.Extra is a Details.
//
// The log is scanned once, before the first message is read or Info answers. Damage ends at the next consecutive whole
// messages.
type reader struct {
	chunked.Reader
	log *log // nil before the scan
}

// log is the result of the scan of a log.
type log struct {
	details       Details
	start         uint64 // time in the header, in µs
	utcOffset     int64  // ns added to all times
	definitions   int64  // position where the definitions end; 0: not found yet
	subscriptions map[uint16][]subscription
	sectionEnds   []int64
	states        map[int64]state // at the beginning of each segment, by the segment's position
	parameters    []rcl_interfaces.Parameter
	records       []codec.MetadataRecord
	attachments   []codec.Attachment
	complete      bool
}

func newReader(file codec.File, size int64, path string) (*reader, error) {
	head := make([]byte, min(size, headerSize))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, chunked.Unexpected(err))
	}
	if isEncrypted(head) {
		return nil, fmt.Errorf("open %s: %w", path, ErrEncrypted)
	}
	r := &reader{Reader: chunked.Reader{File: file, Path: path, Size: size}}
	r.Layout = r
	return r, nil
}

func (r *reader) Loader() chunked.Loader { return &loader{reader: r} }

func (r *reader) Index() error {
	s := newScan(r)
	if err := s.run(); err != nil || s.log.start <= uint64(s.latest)/1e3 || s.latest == 0 {
		return err
	}
	start := s.log.start
	s = newScan(r) // the time in the header is damaged: scan again without it
	s.ignoreStart = true
	err := s.run()
	r.Contents.Event(codec.EventDamage, fmt.Sprintf("the header says that the log begins at %d µs, behind its end",
		start))
	r.log.complete = false
	return err
}

func (r *reader) Describe() *codec.Info {
	info := r.Contents.Info(Name, r.Size, r.Loader())
	info.Complete, info.Extra = r.log.complete, r.log.details
	info.Records, info.Attachments = r.log.records, r.log.attachments
	return info
}
