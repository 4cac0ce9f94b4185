package ulog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rcl_interfaces"
)

const (
	segmentSize = 1 << 20
	bootLimit   = uint64(1e15)         // µs: smaller times are since boot
	validTime   = uint64(1234567890e6) // µs: a GPS receiver that sends a smaller time does not know it
	latestTime  = uint64(4102444800e6) // µs: the year 2100
	shownDamage = 1000                 // damaged places that are reported one by one
)

// appendedData is the one incompatible flag that this package knows.
const appendedData = 1

// state is the knowledge about times at a position in a log.
type state struct {
	clock
	// invented are the times that were given to the last messages without a time, by channel, in ns without log.offset.
	// The channel's next message is not earlier.
	invented map[int]int64
}

// untimed returns the time for a message without a time: the time of the message before, of any channel.
func (s *state) untimed(channel int) int64 {
	t := s.ordered(channel, s.now())
	s.invented[channel] = t
	return t
}

// ordered returns t, or the invented time of the channel's last message if that is a little later.
func (s *state) ordered(channel int, t int64) int64 {
	if last, ok := s.invented[channel]; ok && t < last && t > last-longestGap {
		return last
	}
	return t
}

// Numbers of the channels that are not topics of PX4.
const (
	logChannel = iota
	parameterChannel
	eventChannel
)

// log is the result of the scan of a log.
type log struct {
	details     Details
	start       uint64 // of the header, in µs
	definitions int64  // position of their end; 0: not found yet
	subscribed  map[uint16][]subscription
	ends        []int64
	offset      int64           // ns added to all times
	before      map[int64]state // by offset of a segment: the state at its beginning
	parameters  []rcl_interfaces.Parameter
	records     []codec.MetadataRecord
	attachments []codec.Attachment
	complete    bool
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
	s = newScan(r) // again, as the time in the header is damaged
	s.ignoreStart = true
	err := s.run()
	r.Contents.Event(codec.EventDamage, fmt.Sprintf("the header says that the log begins at %d µs, behind its end",
		start))
	r.log.complete = false
	return err
}

func newScan(r *reader) *scan {
	return &scan{reader: r, topics: map[instance]int{}, formats: formats{}, multi: map[string][][]byte{},
		info: map[string]string{}, defaults: map[string][]byte{}, binary: map[string][][]byte{},
		misfits: map[uint16]misfits{}, state: state{invented: map[int]int64{}}}
}

func (r *reader) Describe() *codec.Info {
	info := r.Contents.Info(Name, r.Size, r.Loader())
	info.Complete, info.Extra = r.log.complete, r.log.details
	info.Records, info.Attachments = r.log.records, r.log.attachments
	return info
}

// instance is one of the instances of a topic.
type instance struct {
	topic  string
	number uint8
}

// misfits are messages that fit no topic.
type misfits struct {
	count uint64
	at    int64 // position of the first one
}

// scan scans a log.
type scan struct {
	*reader
	w        walker
	topics   map[instance]int // numbers of channels
	formats  formats
	layouter layouter
	state
	before      state // before the current message, if a segment begins with it
	latest      int64 // the latest time at which a message was published, in ns
	segment     chunked.Segment
	counts      map[int]uint64
	info        map[string]string
	defaults    map[string][]byte
	multi       map[string][][]byte // texts by name, one for each message or row of continued messages
	binary      map[string][][]byte // other values by name, as multi
	ignoreStart bool                // do not use the time in the header
	fixed       bool                // log.offset is of a receiver with a fix
	misfits     map[uint16]misfits  // by id
	pendingAt   int64               // position of the clock's first pending message
	strayAt     int64               // position of the clock's first stray
	damages     int
	moreAt      int64 // position of the first damage that is not reported by itself
}

func (s *scan) run() error {
	l := &log{subscribed: map[uint16][]subscription{}, before: map[int64]state{}, complete: true}
	s.log = l
	s.Contents = chunked.Contents{Path: s.Path, Scanned: true}
	s.layouter = layouter{formats: s.formats, layouts: map[string]*layout{}, failed: map[string]*failure{}}
	s.w = walker{Window: chunked.Window{File: s.File, Size: s.Size}, subscribed: l.subscribed, ends: []int64{s.Size}}
	for _, c := range []struct{ topic, kind string }{{LogTopic, "rcl_interfaces/msg/Log"},
		{ParameterTopic, "rcl_interfaces/msg/ParameterEvent"}} {
		channel, err := codec.NewChannel(msgs.Release(""), c.topic, c.kind)
		if err != nil {
			return err
		}
		s.Contents.Channels = append(s.Contents.Channels, channel)
	}
	event, err := codec.EventMessage(codec.Event{})
	if err != nil {
		return err
	}
	s.Contents.Channels = append(s.Contents.Channels, event.Channel)
	if err := s.header(); err != nil {
		return err
	}
	for {
		m, err := s.w.next()
		var gap *chunked.GapError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, chunked.ErrCut):
			if errors.Is(err, chunked.ErrCut) {
				l.complete = false
				s.Contents.Event(codec.EventUnfinished, "the log ends within a message; everything before it was read")
			}
			s.finish()
			return nil
		case errors.As(err, &gap):
			s.report(gap.From, gap)
			continue
		case err != nil:
			return err
		}
		if err := s.add(&m); err != nil {
			return err
		}
	}
}

// header reads the header.
func (s *scan) header() error {
	b, err := s.w.View(0, headerSize)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		s.Contents.DamagedHead()
		s.log.complete = false
		s.w.pos = min(headerSize, s.Size) // the messages follow, even if the header is damaged
		return nil
	}
	if len(b) < headerSize {
		s.log.complete = false
		s.Contents.Event(codec.EventUnfinished, "the log ends within its header")
		s.w.pos = s.Size
		return nil
	}
	s.log.details.Version, s.log.start = b[7], binary.LittleEndian.Uint64(b[8:])
	if s.ignoreStart {
		s.log.start = 0
	}
	s.start = int64(min(s.log.start, latestTime)) * 1e3
	s.w.pos = headerSize
	return nil
}

// damaged reports that a message cannot be read.
func (s *scan) damaged(m *message, err error) {
	s.report(m.pos, fmt.Errorf("damaged at 0x%x: %w", m.pos, err))
}

// report notes damage at an offset.
func (s *scan) report(at int64, err error) {
	s.log.complete = false
	s.damages++
	switch {
	case s.damages <= shownDamage:
		s.Contents.Damaged(at, err)
	case s.damages == shownDamage+1:
		s.moreAt = at
	}
}

// add takes a message of the log. It returns an error only if the log cannot be read at all.
func (s *scan) add(m *message) error {
	if s.segment.Size == 0 || s.leaves(m) {
		s.before = state{s.clock, maps.Clone(s.invented)}
	}
	if strings.IndexByte("ALCD", m.kind) >= 0 && s.log.definitions == 0 {
		s.log.definitions = m.pos
	}
	switch m.kind {
	case 'B':
		return s.flags(m)
	case 'F':
		name, fields, err := parseFormat(string(m.data))
		if err != nil {
			s.damaged(m, err)
			return nil
		}
		s.formats[name] = fields
		delete(s.layouter.failed, name)
	case 'A':
		if err := s.subscribe(m); err != nil && !errors.Is(err, errFailedBefore) {
			s.damaged(m, err)
		}
	case 'I', 'M', 'Q':
		s.keep(m)
	case 'P':
		p, ok := parameter(m.data)
		switch {
		case !ok:
			s.damaged(m, errors.New("a parameter that is neither int32_t nor float"))
		case s.log.definitions == 0:
			s.log.parameters = append(s.log.parameters, p)
		default:
			s.log.details.Changes++
			s.message(m, parameterChannel, s.untimed(parameterChannel))
		}
	case 'O':
		ms := binary.LittleEndian.Uint16(m.data)
		s.log.details.Dropouts++
		s.log.details.DropoutTime += float64(ms) / 1e3
		s.message(m, eventChannel, s.untimed(eventChannel))
	case 'L', 'C', 'D':
		strays, pending := s.strays, s.pending
		channel, t, _, err := s.timed(m)
		if strays == 0 && s.strays > 0 {
			s.strayAt = s.pendingAt
		}
		if pending == 0 && s.pending > 0 {
			s.pendingAt = m.pos
		}
		if err != nil {
			s.damaged(m, err)
			return nil
		}
		if channel != chunked.None {
			s.message(m, channel, t)
		}
	}
	return nil
}

// flags reads the flags of a log.
func (s *scan) flags(m *message) error {
	for i, b := range m.data[8:16] {
		if unknown := b &^ appendedData; i == 0 && unknown != 0 || i > 0 && b != 0 {
			return fmt.Errorf("the log needs features that this program does not know: incompatible flags %x",
				m.data[8:16])
		}
	}
	if m.data[8]&appendedData == 0 {
		return nil
	}
	for i := range 3 {
		offset := binary.LittleEndian.Uint64(m.data[16+8*i:])
		switch before := s.w.ends[:len(s.w.ends)-1]; {
		case offset == 0:
		case offset > uint64(s.Size) || int64(offset) <= s.w.pos ||
			len(before) > 0 && int64(offset) <= before[len(before)-1]:
			s.damaged(m, fmt.Errorf("data are said to be appended at 0x%x", offset))
		case int64(offset) < s.Size:
			s.w.ends = slices.Insert(s.w.ends, len(s.w.ends)-1, int64(offset))
			s.log.details.Appended++
		}
	}
	return nil
}

// subscribe begins a topic.
func (s *scan) subscribe(m *message) error {
	number, id, name := m.data[0], binary.LittleEndian.Uint16(m.data[1:]), string(m.data[3:])
	layout, err := s.layouter.layout(name, m.pos)
	if err != nil {
		return fmt.Errorf("topic %q is left out: %w", name, err)
	}
	key := instance{name, number}
	channel, known := s.topics[key] // a topic may be announced again
	if !known {
		channel = len(s.Contents.Channels)
		s.topics[key] = channel
		s.Contents.Channels = append(s.Contents.Channels, layout.channel(name, number))
	}
	s.w.subscribed[id] = append(s.w.subscribed[id], subscription{m.pos, channel, layout})
	return nil
}

// timed returns the channel of a message of data or text, and when it was logged and published, in ns without
// log.offset. The times differ for messages that PX4 published before the log began, or did not stamp.
func (s *scan) timed(m *message) (channel int, t, published int64, err error) {
	var micros uint64
	switch {
	case m.misfit:
		id := binary.LittleEndian.Uint16(m.data)
		first := cmp.Or(s.misfits[id].at, m.pos)
		s.misfits[id] = misfits{s.misfits[id].count + 1, first}
		return chunked.None, 0, 0, nil
	case m.kind == 'D':
		topic := s.w.subscription(binary.LittleEndian.Uint16(m.data), m.pos)
		channel = topic.channel
		micros = topic.layout.time(m.data[2:])
		s.noteUTC(topic.layout, m.data[2:], micros)
	default:
		channel = logChannel
		micros = binary.LittleEndian.Uint64(m.data[1+tagSize(m):])
	}
	if micros > latestTime {
		return channel, 0, 0, fmt.Errorf("a time of %d µs", micros)
	}
	if micros == 0 {
		return channel, s.untimed(channel), 0, nil
	}
	published = int64(micros) * 1e3
	s.latest = max(s.latest, published)
	t = s.ordered(channel, s.observe(published))
	if t != s.invented[channel] {
		delete(s.invented, channel)
	}
	return channel, t, published, nil
}

// tagSize returns the size of the tag before the time of a text.
func tagSize(m *message) int {
	if m.kind == 'C' {
		return 2
	}
	return 0
}

// noteUTC learns log.offset from data of a GPS receiver, published at micros.
func (s *scan) noteUTC(l *layout, data []byte, micros uint64) {
	if l.utc < 0 || s.fixed || micros == 0 || micros > bootLimit {
		return
	}
	utc := binary.LittleEndian.Uint64(data[l.utc:])
	if utc < validTime || utc > latestTime {
		return
	}
	moment := int64(micros)
	if l.utcMoment >= 0 {
		moment += int64(int32(binary.LittleEndian.Uint32(data[l.utcMoment:])))
	}
	const fix3D = 3
	s.fixed = l.fix >= 0 && data[l.fix] >= fix3D
	if s.log.offset == 0 || s.fixed {
		s.log.offset = (int64(utc) - moment) * 1e3
	}
}

// leaves reports whether a message does not fit into the open segment.
func (s *scan) leaves(m *message) bool {
	return m.end()-s.segment.Offset > segmentSize || s.w.limit(s.segment.Offset) != s.w.limit(m.pos)
}

// message adds a message to the open segment, or to a new one if it does not fit.
func (s *scan) message(m *message, channel int, t int64) {
	g := &s.segment
	end := m.end()
	if g.Size > 0 && s.leaves(m) {
		s.flush()
	}
	if g.Size == 0 {
		*g = chunked.Segment{Offset: m.pos, Start: t, End: t, Reported: true}
		s.counts = map[int]uint64{}
		s.log.before[m.pos] = s.before
	}
	g.Unsorted = g.Unsorted || t < g.End
	g.Size = end - g.Offset
	g.Start, g.End = min(g.Start, t), max(g.End, t)
	s.counts[channel]++
}

// flush ends the open segment.
func (s *scan) flush() {
	if s.segment.Size == 0 {
		return
	}
	s.segment.Channels = slices.Sorted(maps.Keys(s.counts))
	for id, n := range s.counts {
		s.Contents.Count(id, n)
	}
	s.Contents.Segments = append(s.Contents.Segments, s.segment)
	s.segment = chunked.Segment{}
}

// finish completes the contents, and moves times to UTC.
func (s *scan) finish() {
	s.flush()
	l := s.log
	if n := len(l.parameters); n > 0 {
		l.details.Parameters = n
		first := int64(min(l.start, latestTime)) * 1e3
		s.Contents.Segments = slices.Insert(s.Contents.Segments, 0, chunked.Segment{Size: 1, Start: first, End: first,
			Channels: []int{parameterChannel}, Reported: true})
		s.Contents.Count(parameterChannel, 1)
	}
	for i := range s.Contents.Segments {
		g := &s.Contents.Segments[i]
		g.Start, g.End = g.Start+l.offset, g.End+l.offset
		s.Contents.Cover(g.Start, g.End)
		l.details.UTC = l.details.UTC || g.End > int64(bootLimit)*1e3
	}
	for _, id := range slices.Sorted(maps.Keys(s.misfits)) {
		m := s.misfits[id]
		s.report(m.at, fmt.Errorf("damaged at 0x%x: left out %s with the id %d, which fit no topic of the log", m.at,
			plural.Count(m.count, "message"), id))
	}
	if n := s.strays; n > 0 {
		// An event, not damage: PX4 wrote these times, and nothing is missing.
		s.Contents.Event(codec.EventTimes, fmt.Sprintf("%s, the first at 0x%x, with times more than %d s ahead of "+
			"the others", plural.Count(n, "message"), s.strayAt, int64(longestGap/1e9)))
	}
	for _, topic := range slices.Sorted(maps.Keys(s.layouter.failed)) {
		if f := s.layouter.failed[topic]; f.repeats > 0 {
			s.report(f.at, fmt.Errorf("damaged at 0x%x: topic %q, which is left out, is announced %s more", f.at, topic,
				plural.Count(f.repeats, "time")))
		}
	}
	if more := s.damages - shownDamage; more > 0 {
		s.Contents.Damaged(s.moreAt, fmt.Errorf("damaged at 0x%x: and at %s more", s.moreAt,
			plural.Count(more, "place")))
	}
	slices.SortStableFunc(s.Contents.Damage, func(a, b chunked.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	for i, c := range s.Contents.Channels {
		if i >= len(s.Contents.Counts) || s.Contents.Counts[i] == 0 {
			s.Contents.Channels[i] = nil
		} else if strings.HasPrefix(c.Type, "px4_msgs/") {
			l.details.Px4Msgs++
		}
	}
	l.details.UTCOffset, l.ends = l.offset, s.w.ends
	l.details.System, l.details.Hardware, l.details.Software = s.info["sys_name"], s.info["ver_hw"], s.info["ver_sw"]
	s.records()
}

// records makes the metadata of the recording.
func (s *scan) records() {
	multi, defaults := map[string]string{}, map[string]string{}
	for key, texts := range s.multi {
		multi[key] = string(bytes.Join(texts, []byte("\n")))
	}
	for key, text := range s.defaults {
		defaults[key] = string(text)
	}
	for _, r := range []codec.MetadataRecord{{Name: "ulog.info", Values: s.info},
		{Name: "ulog.multi_info", Values: multi}, {Name: "ulog.default_parameters", Values: defaults}} {
		if len(r.Values) > 0 {
			s.log.records = append(s.log.records, r)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.binary)) {
		for i, b := range s.binary[name] {
			a := codec.Attachment{Name: name, MediaType: "application/octet-stream", Size: int64(len(b)),
				Open: func(func(error)) io.Reader { return bytes.NewReader(b) }}
			if i > 0 {
				a.Name = fmt.Sprintf("%s (%d)", name, i+1)
			}
			s.log.attachments = append(s.log.attachments, a)
		}
	}
}

// linesKey begins the names of information, such as perf_counter_preflight, that PX4 continues with one line in each
// message. Other information continues in the next message where a message is full.
const linesKey = "perf_"

// keep keeps information and default parameters.
func (s *scan) keep(m *message) {
	data, first := m.data, byte(0)
	if m.kind != 'I' {
		first, data = data[0], data[1:]
	}
	kind, key, value, ok := keyed(data)
	if !ok {
		s.damaged(m, errors.New("information without a name"))
		return
	}
	text, printable := format(kind, value)
	switch {
	case m.kind == 'Q':
		for bit, name := range []string{"system", "airframe"} {
			if first&(1<<bit) != 0 {
				s.defaults[name] = fmt.Appendf(s.defaults[name], "%s=%s\n", key, text)
			}
		}
	case m.kind == 'I' && printable:
		s.info[key] = text
	case printable:
		if strings.HasPrefix(key, linesKey) && first&1 != 0 && len(s.multi[key]) > 0 {
			text = "\n" + text
		}
		addValue(s.multi, key, []byte(text), first)
	default:
		addValue(s.binary, key, value, first)
	}
}

// addValue adds a value of a name, or continues its last one if bit 0 of first, the message's first byte, is set.
func addValue(values map[string][][]byte, key string, value []byte, first byte) {
	if list := values[key]; first&1 != 0 && len(list) > 0 {
		list[len(list)-1] = append(list[len(list)-1], value...)
		return
	}
	values[key] = append(values[key], bytes.Clone(value))
}

// keyed splits data with a name: a length, a type and name of this length, and the value.
func keyed(data []byte) (kind, key string, value []byte, ok bool) {
	n := 1 + int(data[0])
	if n > len(data) {
		return "", "", nil, false
	}
	kind, key, ok = strings.Cut(string(data[1:n]), " ")
	return kind, strings.ToValidUTF8(key, "�"), data[n:], ok && key != "" && isName(kind, "[]")
}

// format returns a number or text as text; printable is false for other values.
func format(kind string, value []byte) (text string, printable bool) {
	base, _, array := strings.Cut(kind, "[")
	if base == "char" {
		return strings.ToValidUTF8(string(bytes.TrimRight(value, "\x00")), "�"), true
	}
	if t := basicTypes[base]; array || t.size == 0 || t.size != len(value) {
		return "", false
	}
	bits := binary.LittleEndian.Uint64(append(bytes.Clone(value), make([]byte, 8-len(value))...))
	switch shift := 64 - 8*len(value); base {
	case "float":
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32), true
	case "double":
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64), true
	case "int8_t", "int16_t", "int32_t", "int64_t":
		return strconv.FormatInt(int64(bits<<shift)>>shift, 10), true
	}
	return strconv.FormatUint(bits, 10), true
}

// parameter returns the parameter in a message.
func parameter(data []byte) (p rcl_interfaces.Parameter, ok bool) {
	kind, key, value, ok := keyed(data)
	if !ok || len(value) != 4 {
		return p, false
	}
	bits := binary.LittleEndian.Uint32(value)
	p.Name = key
	switch kind {
	case "int32_t":
		p.Value.Type, p.Value.IntegerValue = rcl_interfaces.ParameterType_PARAMETER_INTEGER, int64(int32(bits))
	case "float":
		p.Value.Type = rcl_interfaces.ParameterType_PARAMETER_DOUBLE
		p.Value.DoubleValue = float64(math.Float32frombits(bits))
	default:
		return p, false
	}
	return p, true
}

// loader implements chunked.Loader. Its records are messages of ROS 2, each behind a head: size, channel, time of
// logging, time of publishing.
type loader struct {
	chunked.Plain
	reader *reader
}

// recordHead is the size of a record's head, in bytes.
const recordHead = 24

func (l *loader) Load(g *chunked.Segment, buf []byte) ([]byte, []error) {
	r := l.reader
	records := buf[:0]
	if g.Offset == 0 { // made by finish
		return l.append(records, parameterChannel, g.Start, 0, &rcl_interfaces.ParameterEvent{
			Stamp: builtin_interfaces.TimeAt(g.Start), Node: strings.TrimSuffix(namespace, "/"),
			NewParameters: r.log.parameters,
		})
	}
	before := r.log.before[g.Offset]
	s := scan{reader: r, state: state{before.clock, maps.Clone(before.invented)}, fixed: true,
		misfits: map[uint16]misfits{}}
	s.w = walker{Window: chunked.Window{File: r.File, Size: r.Size}, subscribed: r.log.subscribed,
		ends: r.log.ends, pos: g.Offset}
	var errs []error
	last := int64(math.MinInt64)
	for s.w.pos < g.Offset+g.Size {
		m, err := s.w.next()
		var gap *chunked.GapError
		if errors.As(err, &gap) {
			continue // the scan reported it
		}
		if err != nil {
			return records, append(errs, chunked.Unexpected(err))
		}
		var t int64
		var more []error
		switch m.kind {
		case 'D', 'L', 'C':
			var channel int
			var published int64
			channel, t, published, err = s.timed(&m)
			if err != nil || channel == chunked.None {
				continue
			}
			if published != 0 {
				published += r.log.offset
			}
			t += r.log.offset
			if m.kind == 'D' {
				head := appendHead(records, channel, t, published)
				start := len(records)
				records = s.w.subscription(binary.LittleEndian.Uint16(m.data), m.pos).layout.convert(head, m.data[2:])
				setSize(records, start)
			} else {
				records, more = l.append(records, channel, t, published, text(&m, t))
			}
		case 'P':
			p, ok := parameter(m.data)
			if !ok {
				continue
			}
			t = s.untimed(parameterChannel) + r.log.offset
			records, more = l.append(records, parameterChannel, t, 0, &rcl_interfaces.ParameterEvent{
				Stamp: builtin_interfaces.TimeAt(t), Node: strings.TrimSuffix(namespace, "/"),
				ChangedParameters: []rcl_interfaces.Parameter{p},
			})
		case 'O':
			ms := binary.LittleEndian.Uint16(m.data)
			t = s.untimed(eventChannel) + r.log.offset
			event, err := codec.EventMessage(codec.Event{Kind: codec.EventDrop, Time: t, Until: t + int64(ms)*1e6,
				Text: "PX4's logger dropped messages"})
			if err != nil {
				errs = append(errs, err)
				continue
			}
			start := len(records)
			records = append(appendHead(records, eventChannel, t, 0), event.Data...)
			setSize(records, start)
		default:
			continue
		}
		errs = append(errs, more...)
		g.Unsorted = g.Unsorted || t < last
		last = t
	}
	return records, errs
}

// text returns the message of ROS 2 for a text that PX4 logged.
func text(m *message, t int64) *rcl_interfaces.Log {
	levels := [...]uint8{rcl_interfaces.Log_FATAL, rcl_interfaces.Log_FATAL, rcl_interfaces.Log_FATAL,
		rcl_interfaces.Log_ERROR, rcl_interfaces.Log_WARN, rcl_interfaces.Log_INFO, rcl_interfaces.Log_INFO,
		rcl_interfaces.Log_DEBUG}
	out := &rcl_interfaces.Log{Stamp: builtin_interfaces.TimeAt(t), Level: levels[m.data[0]-'0'], Name: "px4"}
	if m.kind == 'C' {
		out.Name = fmt.Sprintf("px4.tag_%d", binary.LittleEndian.Uint16(m.data[1:]))
	}
	out.Msg = strings.ToValidUTF8(string(bytes.TrimRight(m.data[9+tagSize(m):], "\x00")), "�")
	return out
}

func (l *loader) append(records []byte, channel int, t, published int64, m msgs.Message) ([]byte, []error) {
	start := len(records)
	out := appendHead(records, channel, t, published)
	payload, err := cdr.Marshal(m)
	if err != nil {
		return records, []error{err}
	}
	out = append(out, payload...)
	setSize(out, start)
	return out, nil
}

func appendHead(records []byte, channel int, t, published int64) []byte {
	records = binary.LittleEndian.AppendUint32(records, 0)
	records = binary.LittleEndian.AppendUint32(records, uint32(channel))
	records = binary.LittleEndian.AppendUint64(records, uint64(t))
	return binary.LittleEndian.AppendUint64(records, uint64(published))
}

// setSize sets the size of the last record, which begins at start.
func setSize(records []byte, start int) {
	binary.LittleEndian.PutUint32(records[start:], uint32(len(records)-start-recordHead))
}

func (l *loader) Cut(records []byte, off int, m *chunked.Message) int {
	m.Channel = chunked.None
	if len(records)-off < recordHead {
		return -1
	}
	end := off + recordHead + int(binary.LittleEndian.Uint32(records[off:]))
	if end > len(records) {
		return -1
	}
	m.Channel = int(binary.LittleEndian.Uint32(records[off+4:]))
	m.Time = int64(binary.LittleEndian.Uint64(records[off+8:]))
	m.Publish = int64(binary.LittleEndian.Uint64(records[off+16:]))
	m.Data = records[off+recordHead : end : end]
	return end
}
