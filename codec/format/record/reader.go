package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"tapedeck/codec"
	"tapedeck/codec/format/record/internal/recordpb"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/store"
)

// maxEvent is the size of the largest payload that is parsed as an event.
const maxEvent = 1 << 20

// Details is Info.Extra of a record file.
type Details struct {
	Version string `json:"version"`           // of the format: "1.0"
	Chunks  int    `json:"chunks"`            // readable chunks
	Closed  bool   `json:"closed"`            // the header says that the writer closed the file
	Indexed bool   `json:"indexed"`           // the index is there
	Map     string `json:"map,omitempty"`     // name of the map, which Apollo 10 may write
	Vehicle string `json:"vehicle,omitempty"` // name of the vehicle, which Apollo 10 may write
	Header  Header `json:"header"`
}

// Header is the header of a record file, which Apollo's tools print. It is zero in a file that was not closed. Its
// times are wrong if chunks are not in order: they are the times of the first and the last chunk in the file.
type Header struct {
	BeginTime     uint64 `json:"begin_time"` // ns since the Unix epoch
	EndTime       uint64 `json:"end_time"`   // ns since the Unix epoch
	MessageNumber uint64 `json:"message_number"`
	ChannelNumber uint64 `json:"channel_number"`
	ChunkNumber   uint64 `json:"chunk_number"`
	Size          uint64 `json:"size"` // bytes of the file
}

// reader implements codec.Reader.
type reader struct {
	path string
	file codec.File
	size int64

	content int64 // offset of the zeros that end the file; 0 if unknown

	window chunked.Window // for walks
	probe  chunked.Window // for looking ahead

	header      recordpb.Header
	headerError error // why the header could not be read

	channels     []*codec.Channel
	byName       map[string]int
	names        []string // by channel: name in the file
	last         int      // channel that find returned last
	located      []bool   // by channel
	eventChannel int      // -1 if there is none

	shallow  *layout
	unwalked bool         // shallow was made from the index alone
	deep     *layout      // nil before it is needed
	sums     map[int]bool // by chunk: whether its checksum is right; only chunks that were compared
	info     *codec.Info
}

func open(files *store.Files, path string) (*reader, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, codec.Pathless(err))
	}
	// Read the header before the size: if the writer closes the file now, an older header with a newer size is
	// harmless.
	head := make([]byte, firstSection)
	n, err := file.ReadAt(head, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	var stat fs.FileInfo
	if err == nil {
		stat, err = file.Stat()
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("open %s: %w", path, codec.Pathless(err))
	}
	r, err := newReader(path, file, stat.Size(), head[:n])
	if err != nil {
		file.Close()
		return nil, err
	}
	return r, nil
}

// newReader returns a reader of a file. head is the first firstSection bytes of the file, or all if it is shorter.
func newReader(path string, file codec.File, size int64, head []byte) (*reader, error) {
	r := &reader{
		path: path, file: file, size: size, byName: map[string]int{}, eventChannel: -1,
		sums:   map[int]bool{},
		window: chunked.Window{File: file, Size: size}, probe: chunked.Window{File: file, Size: size},
	}
	r.headerError = r.parseHeader(head)
	var err error
	if store.IsURL(path) {
		r.shallow, err = r.layoutOfIndex()
		if err != nil {
			return nil, fmt.Errorf("read %s: index: %w", path, codec.Pathless(err))
		}
		r.unwalked = r.shallow != nil
	}
	if r.shallow == nil {
		r.shallow, err = r.walk(false)
		if err != nil {
			return nil, err
		}
	}
	if len(r.shallow.damage) > 0 {
		if err := r.channelsOfIndex(); err != nil {
			return nil, fmt.Errorf("read %s: index: %w", r.path, codec.Pathless(err))
		}
	}
	return r, nil
}

func (r *reader) parseHeader(b []byte) error {
	if len(b) < sectionSize {
		return errors.New("the file ends within the header")
	}
	s := parseSection(b)
	if s.typ != headerSection || s.size <= 0 || s.size > headerArea {
		return errors.New("there is no header")
	}
	payload := b[sectionSize:min(int64(len(b)), sectionSize+s.size)]
	if err := decodeBeginning(payload, s.size, &r.header); err != nil && int64(len(payload)) == s.size {
		return fmt.Errorf("the header cannot be read: %w", codec.Plain(err))
	}
	return nil
}

// declare adds a channel, unless it is known.
func (r *reader) declare(name, messageType string, protoDesc []byte) {
	if _, ok := r.byName[name]; ok {
		return
	}
	c := newChannel(name, messageType, protoDesc)
	if r.eventChannel < 0 && codec.IsEvents(c) {
		r.eventChannel = len(r.channels)
	}
	r.byName[name] = len(r.channels)
	r.names = append(r.names, name)
	r.channels = append(r.channels, c)
	r.located = append(r.located, located(c))
}

// find returns the index of a channel. It declares an unknown channel, without a type.
func (r *reader) find(name []byte) int {
	if r.last < len(r.names) && r.names[r.last] == string(name) { // often the channel of the previous message
		return r.last
	}
	i, ok := r.byName[string(name)]
	if !ok {
		i = len(r.channels)
		r.declare(string(name), "", nil)
	}
	r.last = i
	return i
}

// survey reads the heads of all messages, once.
func (r *reader) survey() (*layout, error) {
	if r.deep == nil {
		deep, err := r.walk(true)
		if err != nil {
			return nil, err
		}
		r.deep = deep
	}
	return r.deep, nil
}

func (r *reader) Info() (*codec.Info, error) {
	if r.info != nil {
		return r.info, nil
	}
	l := r.shallow
	if l.counts == nil || len(l.damage) > 0 || r.deep != nil || !r.knowsEvents(l) {
		var err error
		l, err = r.survey()
		if err != nil {
			return nil, err
		}
	}
	info := &codec.Info{
		Format: formatName, Path: r.path, Size: r.size, Indexed: l == r.shallow, Unsigned: true,
	}
	unread := codec.UnreadQoSEvents(r.channels)
	info.Complete = l.finished && len(l.damage) == 0 && len(unread) == 0
	chunks := 0
	for i, p := range l.pieces {
		if i == 0 || p.chunk != l.pieces[i-1].chunk {
			chunks++
		}
		if info.MessageCount == 0 {
			info.StartTime, info.EndTime = p.min, p.max
		}
		info.MessageCount += p.count
		info.StartTime, info.EndTime = min(info.StartTime, p.min), max(info.EndTime, p.max)
	}
	counts := append(slices.Clone(l.counts), make([]uint64, len(r.channels)-len(l.counts))...)
	for i, c := range r.channels {
		info.Topics = append(info.Topics, codec.TopicInfo{Channel: c, MessageCount: counts[i]})
	}
	info.Events = append(unread, r.storedEvents(l)...)
	for _, d := range l.damage {
		info.Events = append(info.Events, codec.Event{Kind: codec.EventDamage, Count: d.lost.Count(), Text: d.Error()})
	}
	if !l.finished && len(l.damage) == 0 {
		text := "the recording was not closed: it ends behind the last chunk that was written"
		if l.cut {
			text = "the recording was not closed: it ends in the midst of a chunk"
		}
		info.Events = append(info.Events, codec.Event{Kind: codec.EventUnfinished, Time: info.EndTime, Text: text})
	}
	slices.SortStableFunc(info.Events, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	info.Files = []codec.FileInfo{{
		Path: r.path, Size: r.size, MessageCount: info.MessageCount, StartTime: info.StartTime, EndTime: info.EndTime,
	}}
	h := &r.header
	info.Extra = Details{
		Version: fmt.Sprintf("%d.%d", h.GetMajorVersion(), h.GetMinorVersion()),
		Chunks:  chunks,
		Closed:  h.GetIsComplete() != 0,
		Indexed: l.finished,
		Map:     nameOf(h.MapInfo),
		Vehicle: nameOf(h.VehicleInfo),
		Header: Header{
			BeginTime: h.GetBeginTime(), EndTime: h.GetEndTime(), MessageNumber: h.GetMessageNumber(),
			ChannelNumber: h.GetChannelNumber(), ChunkNumber: h.GetChunkNumber(), Size: h.GetSize(),
		},
	}
	r.info = info
	return info, nil
}

// knowsEvents reports whether l has the positions of all events.
func (r *reader) knowsEvents(l *layout) bool {
	return r.eventChannel < 0 || r.eventChannel >= len(l.counts) || l.knowsPlaces(r.eventChannel)
}

// storedEvents returns the events that a recorder stored among the messages.
func (r *reader) storedEvents(l *layout) []codec.Event {
	var events []codec.Event
	var m singleMessage
	for _, pos := range l.places[r.eventChannel] {
		if readMessage(&r.probe, pos, &m) != nil || m.size > maxEvent {
			continue
		}
		data, err := r.probe.View(m.content, m.size)
		if err != nil || len(data) < m.size {
			continue
		}
		if e, ok := codec.ParseEvent(&codec.Message{Channel: r.channels[r.eventChannel], Data: data[:m.size]}); ok {
			events = append(events, e)
		}
	}
	return events
}

// nameOf returns the name in a MapInfo or VehicleInfo, or "" if there is none.
func nameOf(b []byte) string {
	var m recordpb.Named
	if proto.Unmarshal(b, &m) != nil {
		return ""
	}
	return m.GetName()
}

// Read implements codec.Reader.
func (r *reader) Read(q codec.Query) (codec.Iterator, error) {
	if !r.trusts() || q.Verify || q.Sound {
		return r.readWhole(q)
	}
	return &iterator{r.read(q, r.shallow), r, q, q.From()}, nil
}

// trusts reports whether no damage is known and all chunks have times, so that Read can rely on headers and index.
func (r *reader) trusts() bool {
	return r.deep == nil && len(r.shallow.damage) == 0 && !r.unfinished() &&
		!slices.ContainsFunc(r.shallow.pieces, func(p piece) bool { return p.min == math.MinInt64 })
}

// readWhole reads by the layout that a deep walk of the file finds.
func (r *reader) readWhole(q codec.Query) (codec.Iterator, error) {
	l, err := r.survey()
	if err != nil {
		return nil, err
	}
	return r.read(q, l), nil
}

func (r *reader) read(q codec.Query, l *layout) codec.Iterator {
	verify := q.Verify || q.Sound
	if l.contents == nil {
		l.contents = l.describe(r.path, false)
	}
	contents := *l.contents
	if verify {
		contents = *l.describe(r.path, true)
	}
	contents.Channels = r.channels
	for _, d := range l.damage {
		// The loader reports a wrong checksum. A file without its header may have all messages.
		if d.sum && verify || !q.Tolerates() && d.pos == 0 && l.finished {
			continue
		}
		contents.Damage = append(contents.Damage, chunked.Damage{Offset: d.pos, Err: d.withLost()})
	}
	loader := &loader{reader: r, layout: l, contents: &contents, query: q,
		scan: chunked.Window{File: r.file, Size: r.size}, data: newWindows(r.file, r.size)}
	if q.Last != nil {
		loader.findPlaces()
	}
	if store.IsURL(r.path) && !loader.sparse {
		contents.Remote = r.file
	}
	return contents.Read(loader, q)
}

// iterator reads by headers and index. If they are wrong, it continues with readWhole.
type iterator struct {
	codec.Iterator
	reader *reader
	query  codec.Query
	start  int64 // lower bound of LogTime to come: a chunk is only opened when the time advances
}

// Next implements codec.Iterator.
func (it *iterator) Next() (*codec.Message, error) {
	m, err := it.Iterator.Next()
	if err == nil {
		it.start = max(it.start, m.LogTime+1)
		return m, nil
	}
	if !errors.Is(err, errIndex) {
		return nil, err
	}
	it.query.Start = it.start
	rest, err := it.reader.readWhole(it.query)
	if err != nil {
		return nil, err
	}
	it.Close()
	it.Iterator = rest
	return rest.Next()
}

func (r *reader) Close() error {
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close %s: %w", r.path, codec.Pathless(err))
	}
	return nil
}
