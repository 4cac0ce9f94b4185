package carla

import (
	"errors"
	"fmt"
	"io"
	"math"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
)

// The profile is detected from the first frames of a log, up to these limits.
const (
	detectFrames = 256
	detectBytes  = 16 << 20
)

// Details is the type of Info.Extra for a log.
type Details struct {
	Version  uint16            `json:"version"` // version in the header
	Profile  string            `json:"profile"` // name of the Profile
	Map      string            `json:"map"`
	Date     int64             `json:"date"`     // s since the Unix epoch
	Duration float64           `json:"duration"` // s of simulation to the last frame, as CARLA counts it
	Packets  map[string]uint64 `json:"packets"`  // number of packets, by PacketName
	Actors   map[string]uint64 `json:"actors"`   // number of actors that appeared, by ActorType.Name

	Log *Reader `json:"-"` // reader of the log, or of the first of several logs
}

var _ codec.Reader = (*Reader)(nil)

// Reader reads a log. It implements codec.Reader.
type Reader struct {
	path    string
	file    codec.File
	size    int64
	header  Header
	begin   int64 // offset of the first frame
	profile Profile
	channel *codec.Channel
	index   *index // nil before loadIndex

	// repeated is the packets with which this log's first frame repeats the state at the end of the previous log. It is
	// nil if there is no previous log, or if the frame does not begin with that state. previousEnd is the LogTime of
	// the previous log's last frame.
	repeated    []byte
	previousEnd int64

	info *codec.Info // nil before Info
}

// Open opens the log at path.
func Open(files *store.Files, path string) (*Reader, error) {
	return chunked.Open(files, path, newReader)
}

func newReader(file codec.File, size int64, path string) (*Reader, error) {
	r := &Reader{path: path, file: file, size: size}
	w := r.walker()
	head, err := w.View(0, 14+len(magicString)+math.MaxUint16)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, codec.Pathless(err))
	}
	header, begin, err := parseHeader(head)
	if err != nil {
		return nil, fmt.Errorf("open %s: cannot read the header of a CARLA log: %w", path, err)
	}
	r.header, r.begin = header, int64(begin)
	r.profile, err = r.detect()
	if err != nil {
		return nil, err
	}
	r.channel = newChannel(header, r.profile)
	return r, nil
}

// walker returns a walker at the first frame.
func (r *Reader) walker() *walker {
	return &walker{Window: chunked.Window{File: r.file, Size: r.size}, path: r.path, header: r.header, pos: r.begin}
}

// detect detects the profile from the first frames.
func (r *Reader) detect() (Profile, error) {
	d := detector{version: r.header.Version}
	w := r.walker()
	for range detectFrames {
		f, err := w.next()
		if err != nil && !errors.Is(err, ErrDamaged) {
			if errors.Is(err, io.EOF) || errors.Is(err, errCut) {
				break
			}
			return Profile{}, err
		}
		d.add(f.data)
		if w.pos-r.begin > detectBytes {
			break
		}
	}
	p := d.profile()
	p.Version = r.header.Version
	return p, nil
}

// Header returns the header of the log.
func (r *Reader) Header() Header { return r.header }

// Profile returns the layout of the log's packets. Its version is the version in the header.
func (r *Reader) Profile() Profile { return r.profile }

// loadIndex returns the index. The first call makes it.
func (r *Reader) loadIndex() (*index, error) {
	if r.index == nil {
		x, err := newIndex(r.walker(), r.profile)
		if err != nil {
			return nil, err
		}
		r.index = x
	}
	return r.index, nil
}

// Info implements codec.Reader.
func (r *Reader) Info() (*codec.Info, error) {
	if r.info != nil {
		return r.info, nil
	}
	x, err := r.loadIndex()
	if err != nil {
		return nil, err
	}
	count := uint64(len(x.frames))
	info := &codec.Info{
		Format: Name, Path: r.path, Size: r.size, MessageCount: count, Complete: x.complete,
		Topics: []codec.TopicInfo{{Channel: r.channel, MessageCount: count}},
		Events: x.events, Metadata: r.channel.Metadata,
	}
	if count > 0 {
		info.StartTime, info.EndTime = x.frames[0].time, x.last.time
	}
	info.Files = []codec.FileInfo{{Path: r.path, Size: r.size, MessageCount: count, StartTime: info.StartTime,
		EndTime: info.EndTime}}
	details := Details{
		Version: r.header.Version, Profile: r.profile.Name, Map: r.header.Map, Date: r.header.Date,
		Duration: x.last.Elapsed, Packets: map[string]uint64{}, Actors: map[string]uint64{}, Log: r,
	}
	for t, n := range x.actors {
		if n > 0 {
			details.Actors[ActorType(t).Name()] += n
		}
	}
	for id, n := range x.packets {
		if n > 0 {
			details.Packets[r.profile.PacketName(uint8(id))] = n
		}
	}
	info.Extra, info.Continue = details, r.continueLog
	r.info = info
	return info, nil
}

// Read implements codec.Reader.
func (r *Reader) Read(q codec.Query) (codec.Iterator, error) {
	it := &iterator{walker: *r.walker(), query: q, channel: r.channel}
	if q.Depth(it.channel) == 0 {
		it.err = io.EOF
		return it, nil
	}
	if q.Last != nil {
		return r.seekLast(it)
	}
	if q.From() <= r.previousEnd { // the query also reads the state from the previous log
		it.repeated = r.repeated
	}
	earliest := r.header.logTime(&FrameStart{}) // no frame has an earlier LogTime
	if q.Start <= earliest {
		return it, nil
	}
	x, err := r.loadIndex()
	if err != nil {
		return nil, err
	}
	return r.seek(it, x.seek(q.Start))
}

// seek moves an iterator to the n-th frame, counted from 0, and returns the iterator. The iterator's first message has
// the packets of the frame and of the state before the frame.
func (r *Reader) seek(it *iterator, n int) (codec.Iterator, error) {
	x := r.index
	if n < 0 || n == len(x.frames) || !it.query.Covers(x.frames[n].time) {
		it.err = io.EOF
		return it, nil
	}
	if n > 0 {
		s, err := x.state(&it.walker, r.profile, n)
		if err == nil {
			it.state, err = s.AppendPackets(nil)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: state before the frame at %#x: %w", r.path, x.frames[n].pos, err)
		}
	}
	x.place(&it.walker, n)
	return it, nil
}

// seekLast makes an iterator return only the last frame of the query's time range, with the state before this frame.
// It ignores the number of messages that Query.Last returns, because this state replaces all earlier frames.
func (r *Reader) seekLast(it *iterator) (codec.Iterator, error) {
	x, err := r.loadIndex()
	if err != nil {
		return nil, err
	}
	n := len(x.frames) - 1
	if it.query.End != 0 {
		n = x.seek(it.query.End) - 1
	}
	return r.seek(it, n)
}

// Close implements codec.Reader.
func (r *Reader) Close() error {
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", r.path, codec.Pathless(err))
	}
	return nil
}
