package mcap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"github.com/foxglove/mcap/go/mcap"

	"tapedeck/codec"
)

// Reader reads an MCAP file.
//
// It finds its way by the summary when that holds indexes, statistics and all channels. Any other file is gone through
// once before the first message is read or Info answers. Reading holds the chunks that overlap in time, up to 256 MiB of
// them or a single larger one; what is beyond that is read again when its time comes.
type Reader struct {
	file File
	path string
	size int64

	profile, library string
	schemas          map[uint16]*mcap.Schema
	channels         []*codec.Channel // by number; nil where there is none
	metadata         map[string]string
	attachments      int
	segments         []segment  // in the order of the file
	byStart          []*segment // by the time of their first message
	latest           []int64    // the time of the latest message of that segment and those before it
	byEnd            []*segment // the latest first
	counts           []uint64   // messages, by channel
	start, end       int64      // LogTime of the earliest and the latest message; start > end: there is none
	damage           []damageAt // that was found without an index, in the order of the file
	events           []codec.Event
	complete         bool
	proven           bool // the summary has all channels, and a checksum

	info    *codec.Info
	infoErr error
}

// damageAt is damage to a chunk, or to the records between segments.
type damageAt struct {
	offset int64
	err    error
}

// Open opens the MCAP file at path.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	stat, err := file.Stat()
	var r *Reader
	if err == nil {
		r, err = NewReader(file, stat.Size(), path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// File is what a Reader reads from.
type File interface {
	io.ReaderAt
	io.Closer
}

// NewReader reads an MCAP file of size bytes, and closes it in the end. Errors and Info name it path.
func NewReader(file File, size int64, path string) (*Reader, error) {
	r := &Reader{file: file, path: path, size: size}
	magic := make([]byte, len(mcap.Magic))
	n, err := file.ReadAt(magic, 0)
	switch {
	case n < len(magic):
		return nil, fmt.Errorf("read %s: not an MCAP file: %w", path, unexpected(err))
	case bytes.Equal(magic, mcap.Magic):
	case bytes.HasPrefix(magic, mcap.Magic[:5]):
		return nil, fmt.Errorf("read %s: MCAP of version %q; this program reads version 0", path, magic[5])
	default:
		return nil, fmt.Errorf("read %s: not an MCAP file: it begins with %q", path, magic)
	}
	return r, nil
}

// index finds the segments of the file, at the first call.
func (r *Reader) index() error {
	if r.info != nil || r.infoErr != nil {
		return r.infoErr
	}
	r.reset()
	err := r.readSummary()
	var useless *noIndex
	if errors.As(err, &useless) {
		schemas, channels, proven := r.schemas, r.channels, r.proven
		if r.reset(); proven {
			// They help where those in front of the messages are damaged.
			r.schemas, r.channels = schemas, channels
		}
		if useless.damaged {
			r.event(codec.EventDamage, 0, fmt.Sprintf("read without the index: %v", useless))
		}
		err = r.scan()
	}
	if err != nil {
		r.infoErr = fmt.Errorf("read %s: %w", r.path, err)
		return r.infoErr
	}
	r.sort()
	r.info = r.describe()
	return nil
}

// sort arranges the segments for finding a time.
func (r *Reader) sort() {
	for i := range r.segments {
		r.byStart = append(r.byStart, &r.segments[i])
	}
	r.byEnd = slices.Clone(r.byStart)
	slices.SortStableFunc(r.byStart, byStart)
	slices.SortStableFunc(r.byEnd, func(a, b *segment) int { return cmp.Compare(b.end, a.end) })
	latest := int64(math.MinInt64)
	for _, s := range r.byStart {
		latest = max(latest, s.end)
		r.latest = append(r.latest, latest)
	}
}

func byStart(a, b *segment) int { return cmp.Compare(a.start, b.start) }

// firstUntil returns where the segments in byStart begin of which one has messages at or behind t.
func (r *Reader) firstUntil(t int64) int {
	i, _ := slices.BinarySearch(r.latest, t)
	return i
}

func (r *Reader) reset() {
	*r = Reader{
		file: r.file, path: r.path, size: r.size,
		schemas: map[uint16]*mcap.Schema{}, metadata: map[string]string{},
		start: math.MaxInt64, end: math.MinInt64,
	}
}

func (r *Reader) event(kind string, count uint64, text string) {
	r.events = append(r.events, codec.Event{Kind: kind, Count: count, Text: text})
}

// define takes note of a schema, a channel, a metadata record or the header.
func (r *Reader) define(op mcap.OpCode, content []byte) error {
	switch op {
	case mcap.OpHeader:
		header, err := mcap.ParseHeader(content)
		if err != nil {
			return err
		}
		r.profile, r.library = header.Profile, header.Library
	case mcap.OpSchema:
		schema, err := mcap.ParseSchema(content)
		if err != nil {
			return err
		}
		if _, ok := r.schemas[schema.ID]; !ok {
			r.schemas[schema.ID] = schema
		}
	case mcap.OpChannel:
		channel, err := mcap.ParseChannel(content)
		if err != nil {
			return err
		}
		if r.known(channel.ID) {
			return nil
		}
		if n := int(channel.ID) + 1; n > len(r.channels) {
			r.channels = append(r.channels, make([]*codec.Channel, n-len(r.channels))...)
		}
		r.channels[channel.ID] = newChannel(channel, r.schemas[channel.SchemaID])
	case mcap.OpMetadata:
		metadata, err := mcap.ParseMetadata(content)
		if err != nil {
			return err
		}
		for key, value := range metadata.Metadata {
			switch {
			case metadata.Name == "rosbag2" && key == "serialized_metadata":
				continue // says what the file itself says
			case metadata.Name != ownMetadata:
				key = metadata.Name + "/" + key
			}
			r.metadata[key] = value
		}
	}
	return nil
}

func (r *Reader) known(channel uint16) bool {
	return int(channel) < len(r.channels) && r.channels[channel] != nil
}

func newChannel(c *mcap.Channel, s *mcap.Schema) *codec.Channel {
	channel := &codec.Channel{Topic: c.Topic, Encoding: c.MessageEncoding, TypeHash: c.Metadata[keyTypeHash], Metadata: c.Metadata}
	delete(channel.Metadata, keyTypeHash)
	// Profiles that cannot be read stay in the metadata.
	if qos, err := codec.ParseQoSProfiles(c.Metadata[keyQoS]); err == nil {
		channel.QoS = qos
		delete(channel.Metadata, keyQoS)
	}
	if len(channel.Metadata) == 0 {
		channel.Metadata = nil
	}
	if s != nil {
		channel.Type = s.Name
		channel.Schema.Encoding = s.Encoding
		if len(s.Data) > 0 {
			channel.Schema.Data = s.Data
		}
	}
	return channel
}

// Extra is what Info tells of an MCAP file beside what it tells of any recording.
type Extra struct {
	Profile     string         `json:"profile"`
	Library     string         `json:"library"`
	Chunks      map[string]int `json:"chunks"` // how many chunks have each compression
	Attachments int            `json:"attachments"`
}

func (r *Reader) describe() *codec.Info {
	chunks := map[string]int{}
	for _, s := range r.segments {
		if s.chunk {
			chunks[cmp.Or(s.compression.String(), "none")]++
		}
	}
	info := &codec.Info{
		Format: Name, Path: r.path, Size: r.size, Complete: r.complete, Events: append(r.storedEvents(), r.events...),
		Extra: Extra{Profile: r.profile, Library: r.library, Chunks: chunks, Attachments: r.attachments},
	}
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	if len(r.metadata) > 0 {
		info.Metadata = r.metadata
	}
	for id, channel := range r.channels {
		if channel == nil {
			continue
		}
		var count uint64
		if id < len(r.counts) {
			count = r.counts[id]
		}
		info.MessageCount += count
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: channel, MessageCount: count})
	}
	if r.start <= r.end {
		info.StartTime, info.EndTime = r.start, r.end
	}
	info.Files = []codec.FileInfo{{
		Path: r.path, Size: r.size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	return info
}

// storedEvents returns the events that a recorder kept.
func (r *Reader) storedEvents() []codec.Event {
	if !slices.ContainsFunc(r.channels, func(c *codec.Channel) bool { return c != nil && codec.IsEvents(c) }) {
		return nil
	}
	var events []codec.Event
	it := newIterator(r, codec.Query{Topics: codec.IsEvents, Damaged: func(error) {}})
	defer it.Close()
	for {
		m, err := it.Next()
		if err != nil {
			return events
		}
		if e, ok := codec.ParseEvent(m); ok {
			events = append(events, e)
		}
	}
}

// count adds n messages of a channel.
func (r *Reader) count(channel uint16, n uint64) {
	if missing := int(channel) + 1 - len(r.counts); missing > 0 {
		r.counts = append(r.counts, make([]uint64, missing)...)
	}
	r.counts[channel] += n
}

// cover adds the time from start to end to that of the messages.
func (r *Reader) cover(start, end int64) { r.start, r.end = min(r.start, start), max(r.end, end) }

// Info implements codec.Reader. Its Extra is an Extra. Keys of metadata records that tapedeck did not write have the
// record's name and a slash in front.
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

// sortedKeys returns the keys of m in order.
func sortedKeys[V any](m map[uint16]V) []uint16 {
	keys := make([]uint16, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
