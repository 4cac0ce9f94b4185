package ulog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
	"tapedeck/msgs"
)

const (
	segmentSize = 1 << 20
	bootLimit   = uint64(1e15)         // µs: smaller times are since boot
	validTime   = uint64(1234567890e6) // µs: a GPS receiver that sends a smaller time does not know it
	shownDamage = 1000                 // damaged places that are reported one by one
)

// appendedData is the one incompatible flag that this package knows.
const appendedData = 1

// Numbers of the channels that are not topics of PX4.
const (
	logChannel = iota
	parameterChannel
	eventChannel
)

// scan reads a log from its beginning to its end and fills reader.log and reader.Contents.
type scan struct {
	*reader
	walker      walker
	formats     formats
	layouter    layouter
	channels    map[instance]int // numbers of the topics' channels
	information information
	segment     segment
	problems    problems

	state
	latest      int64 // the latest time at which a message was published, in ns
	ignoreStart bool  // do not use the time in the header
	offsetFixed bool  // log.utcOffset is from a GPS receiver with a fix
}

// instance is one of the instances of a topic.
type instance struct {
	topic  string
	number uint8
}

// segment is the open segment of a scan, to which messages are added.
type segment struct {
	chunked.Segment
	counts map[int]uint64 // messages by channel
	before state          // before the segment's first message
}

// problems are what is wrong with a log, as far as Contents does not have it yet.
type problems struct {
	misfits   map[uint16]misfits // by id
	pendingAt int64              // position of the clock's first pending message
	strayAt   int64              // position of the clock's first stray
	damages   int                // damaged places
	moreAt    int64              // position of the first damage that is not reported by itself
}

// misfits are messages that fit no topic.
type misfits struct {
	count uint64
	at    int64 // position of the first one
}

func newScan(r *reader) *scan {
	r.log = &log{subscriptions: map[uint16][]subscription{}, states: map[int64]state{}, complete: true}
	r.Contents = chunked.Contents{Path: r.Path, Scanned: true}
	s := &scan{reader: r, formats: formats{}, channels: map[instance]int{}, information: newInformation(),
		problems: problems{misfits: map[uint16]misfits{}}, state: state{invented: map[int]int64{}}}
	s.layouter = layouter{formats: s.formats, layouts: map[string]*layout{}, failed: map[string]*failure{}}
	s.walker = walker{Window: chunked.Window{File: r.File, Size: r.Size}, subscriptions: r.log.subscriptions,
		sectionEnds: []int64{r.Size}}
	return s
}

// run scans the log. It returns an error only if the log cannot be read at all.
func (s *scan) run() error {
	if err := s.addFixedChannels(); err != nil {
		return err
	}
	if err := s.header(); err != nil {
		return err
	}
	for {
		m, err := s.walker.next()
		var gap *chunked.GapError
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, chunked.ErrCut):
			if errors.Is(err, chunked.ErrCut) {
				s.log.complete = false
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

// addFixedChannels adds the channels that are not topics of PX4, in the order of their numbers.
func (s *scan) addFixedChannels() error {
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
	return nil
}

// header reads the header.
func (s *scan) header() error {
	b, err := s.walker.View(0, headerSize)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(b, []byte(magic)) {
		s.Contents.DamagedHead()
		s.log.complete = false
		s.walker.pos = min(headerSize, s.Size) // the messages follow, even if the header is damaged
		return nil
	}
	if len(b) < headerSize {
		s.log.complete = false
		s.Contents.Event(codec.EventUnfinished, "the log ends within its header")
		s.walker.pos = s.Size
		return nil
	}
	s.log.details.Version, s.log.start = b[7], binary.LittleEndian.Uint64(b[8:])
	if s.ignoreStart {
		s.log.start = 0
	}
	s.start = int64(min(s.log.start, latestTime)) * 1e3
	s.walker.pos = headerSize
	return nil
}

// damaged reports that a message cannot be read.
func (s *scan) damaged(m *message, err error) {
	s.report(m.pos, fmt.Errorf("damaged at 0x%x: %w", m.pos, err))
}

// report reports damage at an offset, or only counts it if there is much damage already.
func (s *scan) report(at int64, err error) {
	s.log.complete = false
	p := &s.problems
	p.damages++
	switch {
	case p.damages <= shownDamage:
		s.Contents.Damaged(at, err)
	case p.damages == shownDamage+1:
		p.moreAt = at
	}
}

// add adds a message of the log. It returns an error only if the log cannot be read at all.
func (s *scan) add(m *message) error {
	if s.segment.Size == 0 || !s.fitsSegment(m) {
		s.segment.before = s.clone()
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
		if !s.information.add(m) {
			s.damaged(m, errors.New("information without a name"))
		}
	case 'P':
		s.addParameter(m)
	case 'O':
		s.log.details.Dropouts++
		s.log.details.DropoutTime += float64(dropoutMillis(m)) / 1e3
		s.addToSegment(m, eventChannel, s.untimed(eventChannel))
	case 'L', 'C', 'D':
		s.addStamped(m)
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
	w := &s.walker
	for i := range 3 {
		offset := binary.LittleEndian.Uint64(m.data[16+8*i:])
		switch earlier := w.sectionEnds[:len(w.sectionEnds)-1]; {
		case offset == 0:
		case offset > uint64(s.Size) || int64(offset) <= w.pos ||
			len(earlier) > 0 && int64(offset) <= earlier[len(earlier)-1]:
			s.damaged(m, fmt.Errorf("data are said to be appended at 0x%x", offset))
		case int64(offset) < s.Size:
			w.sectionEnds = slices.Insert(w.sectionEnds, len(earlier), int64(offset))
			s.log.details.Appended++
		}
	}
	return nil
}

// subscribe adds a subscription, and the topic's channel if there is none yet.
func (s *scan) subscribe(m *message) error {
	number, id, name := m.data[0], binary.LittleEndian.Uint16(m.data[1:]), string(m.data[3:])
	layout, err := s.layouter.layout(name, m.pos)
	if err != nil {
		return fmt.Errorf("topic %q is left out: %w", name, err)
	}
	key := instance{name, number}
	channel, known := s.channels[key] // a topic may be announced again
	if !known {
		channel = len(s.Contents.Channels)
		s.channels[key] = channel
		s.Contents.Channels = append(s.Contents.Channels, layout.channel(name, number))
	}
	s.log.subscriptions[id] = append(s.log.subscriptions[id], subscription{m.pos, channel, layout})
	return nil
}

// addParameter adds a parameter at the start, or a change of a parameter.
func (s *scan) addParameter(m *message) {
	p, ok := parameter(m.data)
	switch {
	case !ok:
		s.damaged(m, errors.New("a parameter that is neither int32_t nor float"))
	case s.log.definitions == 0:
		s.log.parameters = append(s.log.parameters, p)
	default:
		s.log.details.Changes++
		s.addToSegment(m, parameterChannel, s.untimed(parameterChannel))
	}
}

// addStamped adds a message of data or text.
func (s *scan) addStamped(m *message) {
	if m.misfit {
		id := binary.LittleEndian.Uint16(m.data)
		known := s.problems.misfits[id]
		s.problems.misfits[id] = misfits{known.count + 1, cmp.Or(known.at, m.pos)}
		return
	}
	channel, timestamp := s.walker.timestamp(m)
	if m.kind == 'D' {
		s.learnOffset(m, timestamp)
	}
	strays, pending := s.strays, s.pending
	t, published, err := s.times(channel, timestamp)
	if strays == 0 && s.strays > 0 {
		s.problems.strayAt = s.problems.pendingAt
	}
	if pending == 0 && s.pending > 0 {
		s.problems.pendingAt = m.pos
	}
	if err != nil {
		s.damaged(m, err)
		return
	}
	s.latest = max(s.latest, published)
	s.addToSegment(m, channel, t)
}

// learnOffset learns log.utcOffset if m has data of a GPS receiver. timestamp is the timestamp of m in µs.
func (s *scan) learnOffset(m *message, timestamp uint64) {
	data, layout := m.data[2:], s.walker.subscriptionOf(m).layout
	if layout.utc < 0 || s.offsetFixed || timestamp == 0 || timestamp > bootLimit {
		return
	}
	utc := binary.LittleEndian.Uint64(data[layout.utc:])
	if utc < validTime || utc > latestTime {
		return
	}
	moment := int64(timestamp)
	if layout.utcMoment >= 0 {
		moment += int64(int32(binary.LittleEndian.Uint32(data[layout.utcMoment:])))
	}
	const fix3D = 3
	s.offsetFixed = layout.fix >= 0 && data[layout.fix] >= fix3D
	if s.log.utcOffset == 0 || s.offsetFixed {
		s.log.utcOffset = (int64(utc) - moment) * 1e3
	}
}

// fitsSegment reports whether a message fits into the open segment.
func (s *scan) fitsSegment(m *message) bool {
	begin := s.segment.Offset
	return m.end()-begin <= segmentSize && s.walker.sectionEnd(begin) == s.walker.sectionEnd(m.pos)
}

// addToSegment adds a message to the open segment, or to a new one if it does not fit.
func (s *scan) addToSegment(m *message, channel int, t int64) {
	g := &s.segment
	if g.Size > 0 && !s.fitsSegment(m) {
		s.endSegment()
	}
	if g.Size == 0 {
		g.Segment = chunked.Segment{Offset: m.pos, Start: t, End: t, Reported: true}
		g.counts = map[int]uint64{}
		s.log.states[m.pos] = g.before
	}
	g.Unsorted = g.Unsorted || t < g.End
	g.Size = m.end() - g.Offset
	g.Start, g.End = min(g.Start, t), max(g.End, t)
	g.counts[channel]++
}

// endSegment adds the open segment to the contents.
func (s *scan) endSegment() {
	g := &s.segment
	if g.Size == 0 {
		return
	}
	g.Channels = slices.Sorted(maps.Keys(g.counts))
	for id, n := range g.counts {
		s.Contents.Count(id, n)
	}
	s.Contents.Segments = append(s.Contents.Segments, g.Segment)
	g.Segment = chunked.Segment{}
}

// finish completes the contents and the log.
func (s *scan) finish() {
	s.endSegment()
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
		g.Start, g.End = g.Start+l.utcOffset, g.End+l.utcOffset
		s.Contents.Cover(g.Start, g.End)
		l.details.UTC = l.details.UTC || g.End > int64(bootLimit)*1e3
	}
	s.reportProblems()
	for i, c := range s.Contents.Channels {
		if i >= len(s.Contents.Counts) || s.Contents.Counts[i] == 0 {
			s.Contents.Channels[i] = nil
		} else if strings.HasPrefix(c.Type, "px4_msgs/") {
			l.details.Px4Msgs++
		}
	}
	l.details.UTCOffset, l.sectionEnds = l.utcOffset, s.walker.sectionEnds
	values := s.information.values
	l.details.System, l.details.Hardware, l.details.Software = values["sys_name"], values["ver_hw"], values["ver_sw"]
	l.records, l.attachments = s.information.records(), s.information.attachments()
}

// reportProblems reports the problems that were counted, and sorts the damage by position.
func (s *scan) reportProblems() {
	p := &s.problems
	for _, id := range slices.Sorted(maps.Keys(p.misfits)) {
		m := p.misfits[id]
		s.report(m.at, fmt.Errorf("damaged at 0x%x: left out %s with the id %d, which fit no topic of the log", m.at,
			plural.Count(m.count, "message"), id))
	}
	if n := s.strays; n > 0 {
		// An event, not damage: PX4 wrote these times, and nothing is missing.
		s.Contents.Event(codec.EventTimes, fmt.Sprintf("%s, the first at 0x%x, with times more than %d s ahead of "+
			"the others", plural.Count(n, "message"), p.strayAt, int64(longestGap/1e9)))
	}
	for _, topic := range slices.Sorted(maps.Keys(s.layouter.failed)) {
		if f := s.layouter.failed[topic]; f.repeats > 0 {
			s.report(f.at, fmt.Errorf("damaged at 0x%x: topic %q, which is left out, is announced %s more", f.at, topic,
				plural.Count(f.repeats, "time")))
		}
	}
	if more := p.damages - shownDamage; more > 0 {
		s.Contents.Damaged(p.moreAt, fmt.Errorf("damaged at 0x%x: and at %s more", p.moreAt,
			plural.Count(more, "place")))
	}
	slices.SortStableFunc(s.Contents.Damage, func(a, b chunked.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
}
