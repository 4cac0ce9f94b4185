package tlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/codec"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/text/plural"
)

const (
	segmentSize = 1 << 20
	readSize    = 256 << 10
	// shownGaps is the number of damaged places that are reported one by one.
	shownGaps = 1000
	// longestRecord is the size of the longest frame with its time.
	longestRecord = StampSize + headerV2 + 255 + checksum + signature
)

// log is the result of scanning a log.
type log struct {
	details  Details
	clocks   map[int64]clock // at the beginning of segments, by offset
	offset   int64           // ns from boot to UTC
	complete bool
}

func newReader(file codec.File, size int64, path string) (*reader, error) {
	head := make([]byte, min(size, readSize))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, chunked.Unexpected(err))
	}
	formats, err := Formats()
	if err != nil {
		return nil, err
	}
	order, _, frames, _ := detect(head)
	if frames == 0 {
		return nil, fmt.Errorf("open %s: no frame of MAVLink found: not a telemetry log", path)
	}
	r := &reader{Reader: chunked.Reader{File: file, Path: path, Size: size}, order: order, formats: formats,
		channel: &codec.Channel{Topic: Topic, Type: Type, Encoding: Encoding}}
	r.Layout = r
	s := newLogScanner(formats, order)
	s.Write(head)
	for record, _, ok := s.Next(true); ok && order != nil; record, _, ok = s.Next(true) {
		if s.Stamped(record) {
			r.first = int64(order.Uint64(record)) * 1e3
			break
		}
	}
	return r, nil
}

func (r *reader) Loader() chunked.Loader { return &loader{reader: r} }

func (r *reader) Describe() *codec.Info {
	info := r.Contents.Info(Name, r.Size, r.Loader())
	info.Complete, info.Extra = r.log.complete, r.log.details
	return info
}

func (r *reader) Index() error {
	r.log = &log{complete: true, clocks: map[int64]clock{}, details: Details{Stamped: r.order != nil,
		Components: map[string]uint64{}, Messages: map[string]uint64{}}}
	r.Contents = chunked.Contents{Path: r.Path, Channels: []*codec.Channel{r.channel}, Scanned: true}
	s := scan{reader: r, scanner: newLogScanner(r.formats, r.order), clock: clock{now: r.first}}
	buf := make([]byte, readSize)
	for pos := int64(0); pos < r.Size; {
		n, err := r.File.ReadAt(buf[:min(readSize, r.Size-pos)], pos)
		if n == 0 && err != nil {
			return chunked.Unexpected(err)
		}
		pos += int64(n)
		s.scanner.Write(buf[:n])
		for record, h, ok := s.scanner.Next(pos == r.Size); ok; record, h, ok = s.scanner.Next(pos == r.Size) {
			s.add(record, &h)
		}
	}
	return s.finish()
}

// scan scans a log.
type scan struct {
	*reader
	scanner *Scanner
	clock   clock
	end     int64  // offset of the end of the last frame
	garbage uint64 // bytes of garbage before the last gap
	segment chunked.Segment
	frames  uint64 // of segment
	gaps    int
	badAt   int64 // offset of the first frame with a bad checksum
	bad     int   // gaps that contain only frames with a bad checksum
	moreAt  int64 // offset of the first gap that is not reported by itself
}

// add adds a frame to the segment.
func (s *scan) add(record []byte, h *Header) {
	offset := s.scanner.Offset - int64(len(record))
	if offset > s.end && !s.text(offset) {
		s.gap(offset)
	}
	s.end = s.scanner.Offset
	before := s.clock
	t := s.time(&s.clock, record, h)
	g := &s.segment
	if g.Size > 0 && s.end-g.Offset > segmentSize {
		s.flush()
	}
	if g.Size == 0 {
		*g = chunked.Segment{Offset: offset, Start: t, End: t, Channels: []int{0}, Reported: true}
		s.log.clocks[offset] = before
	}
	g.Unsorted = g.Unsorted || t < g.End
	g.Size = s.end - g.Offset
	g.Start, g.End = min(g.Start, t), max(g.End, t)
	s.frames++

	d := &s.log.details
	if s.order != nil && !s.scanner.Stamped(record) {
		d.BadTime++
	}
	if h.V2 {
		d.V2++
	} else {
		d.V1++
	}
	if h.Signed {
		d.Signed++
	}
	d.Components[fmt.Sprintf("%d/%d", h.System, h.Component)]++
	d.Messages[s.name(h.ID)]++
}

func (r *reader) name(id uint32) string {
	if f, ok := r.formats[id]; ok {
		return f.Name
	}
	return fmt.Sprintf("UNKNOWN_%d", id)
}

// text reports whether only text is between the last frame and the frame at to. An autopilot sends text while it boots.
// In a log with times, text counts as damage after the first frame. text adds its bytes to the details.
func (s *scan) text(to int64) bool {
	const longest = 1 << 20
	if s.order != nil && s.end > 0 || to-s.end > longest {
		return false
	}
	b := make([]byte, to-s.end)
	if _, err := s.File.ReadAt(b, s.end); err != nil || textSize(b) < len(b) {
		return false
	}
	s.scanner.Found.Garbage = s.garbage
	s.log.details.Text += uint64(len(b))
	return true
}

// gap registers the bytes between the last frame and the frame at to as damage.
func (s *scan) gap(to int64) {
	s.log.complete = false
	onlyBad := s.scanner.Found.Garbage == s.garbage
	s.garbage = s.scanner.Found.Garbage
	s.gaps++
	switch {
	case onlyBad:
		s.bad++
		if s.bad == 1 {
			s.badAt = s.end
		}
	case s.gaps-s.bad < shownGaps:
		s.Contents.Damaged(s.end, &chunked.GapError{From: s.end, To: to})
	case s.moreAt == 0:
		s.moreAt = s.end
	}
}

// flush ends the open segment.
func (s *scan) flush() {
	if s.segment.Size == 0 {
		return
	}
	s.Contents.Count(0, s.frames)
	s.Contents.Segments = append(s.Contents.Segments, s.segment)
	s.segment, s.frames = chunked.Segment{}, 0
}

// finish completes the contents after the last frame.
func (s *scan) finish() error {
	s.flush()
	found := &s.scanner.Found
	if rest := s.Size - s.end; rest > 0 {
		b := make([]byte, min(rest, longestRecord))
		if _, err := s.File.ReadAt(b, s.end); err != nil {
			return chunked.Unexpected(err)
		}
		content, err := chunked.ContentEnd(s.File, s.Size)
		if err != nil {
			return err
		}
		begun := max(content-s.end, 0) // bytes before the zeros
		zeros := begun == 0 || rest-begun > longestRecord && s.isBeginning(b[:min(begun, longestRecord)])
		switch {
		case zeros || s.isBeginning(b):
			s.log.complete = false
			found.Garbage = s.garbage
			what := "within a frame"
			if zeros {
				what = "in zeros"
			}
			s.Contents.Event(codec.EventUnfinished, "the log ends "+what+"; everything before it was read")
		case !s.text(s.Size):
			s.gap(s.Size)
		}
	}
	if n := s.log.details.BadTime; n > 0 {
		s.Contents.Event(codec.EventTimes, plural.Count(n, "frame")+" behind a time that is none, read with the time "+
			"of "+
			"the frame before")
	}
	s.log.details.BadChecksum, s.log.details.Garbage = found.BadChecksum, found.Garbage
	if s.bad > 0 {
		s.Contents.Damaged(s.badAt, fmt.Errorf("left out %s with a bad checksum, the first at 0x%x: damaged, or of "+
			"another dialect", plural.Count(found.BadChecksum, "frame"), s.badAt))
	}
	if s.moreAt > 0 {
		s.Contents.Damaged(s.moreAt, fmt.Errorf("damaged at %s more, the first at 0x%x",
			plural.Count(s.gaps-s.bad-shownGaps+1, "place"), s.moreAt))
	}
	s.log.offset = s.clock.offset
	for i := range s.Contents.Segments {
		g := &s.Contents.Segments[i]
		g.Start, g.End = g.Start+s.log.offset, g.End+s.log.offset
		s.Contents.Cover(g.Start, g.End)
	}
	return nil
}

// isBeginning reports whether b, the rest of the log, may be the beginning of a frame.
func (s *scan) isBeginning(b []byte) bool {
	if len(b) <= s.scanner.Prefix || len(b) == longestRecord {
		return len(b) <= s.scanner.Prefix
	}
	if s.order != nil && !s.scanner.Stamped(b) {
		return false
	}
	h, ok, short := parseHeader(b[s.scanner.Prefix:])
	return short || ok && h.Size > len(b)-s.scanner.Prefix
}

// time returns the time of a frame in ns, without log.offset. In a stream without times it is the time of clock c.
func (r *reader) time(c *clock, record []byte, h *Header) int64 {
	if r.order != nil {
		if t := r.order.Uint64(record); t < LatestStamp {
			c.now = int64(t) * 1e3
		}
		return c.now
	}
	if f, ok := r.formats[h.ID]; ok && f.unit != 0 && (!c.known || c.system == h.System && c.component == h.Component) {
		raw := &message.MessageRaw{ID: h.ID, Payload: record[h.Start:h.End:h.End]}
		if m, err := f.Codec.Read(raw, h.V2); err == nil {
			c.observe(f.Time(m), m, h)
		}
	}
	return c.now
}

const (
	unixNanos = 1e18         // ns: smaller times are since boot
	validUnix = 1234567890e6 // µs: smaller times come from an autopilot that does not know the time
	rebooted  = 10e9         // ns: if the time since boot falls by more, the autopilot has restarted
)

// clock is the clock of a stream without times: the times that one component sends.
type clock struct {
	known             bool
	system, component uint8
	now               int64 // since the first boot, in ns
	base              int64 // time of the last boot since the first boot, in ns
	offset            int64 // from now to UTC, in ns; 0: unknown
}

// observe sets the clock by the time in a message, in ns since boot or the Unix epoch.
func (c *clock) observe(at int64, m message.Message, h *Header) {
	if at == 0 {
		return
	}
	if at >= unixNanos {
		if c.offset == 0 {
			c.offset = at - c.now
		}
		at -= c.offset + c.base
	}
	c.known, c.system, c.component = true, h.System, h.Component
	if c.base+at < c.now-rebooted {
		c.base = c.now - at
	}
	c.now = max(c.now, c.base+at)
	if s, ok := m.(*common.MessageSystemTime); ok && c.offset == 0 && s.TimeUnixUsec > validUnix &&
		s.TimeUnixUsec < LatestStamp {
		c.offset = int64(s.TimeUnixUsec)*1e3 - c.base - at
	}
}

// loader implements chunked.Loader. A record is a time in ns, in 8 bytes, followed by a frame.
type loader struct {
	chunked.Plain
	reader *reader
	buf    []byte
}

func (l *loader) Load(g *chunked.Segment, buf []byte) ([]byte, []error) {
	r := l.reader
	l.buf = chunked.Resize(l.buf, int(g.Size))
	if _, err := r.File.ReadAt(l.buf, g.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, []error{err}
	}
	s := newLogScanner(r.formats, r.order)
	s.Anchored = true
	s.Write(l.buf)
	clock, records, before := r.log.clocks[g.Offset], buf[:0], int64(math.MinInt64)
	for record, h, ok := s.Next(true); ok; record, h, ok = s.Next(true) {
		t := r.time(&clock, record, &h) + r.log.offset
		records = binary.LittleEndian.AppendUint64(records, uint64(t))
		records = append(records, record[s.Prefix:]...)
		g.Unsorted = g.Unsorted || t < before
		before = t
	}
	return records, nil
}

func (l *loader) Cut(records []byte, off int, m *chunked.Message) int {
	m.Channel = chunked.None
	if len(records)-off < StampSize {
		return -1
	}
	h, ok, short := parseHeader(records[off+StampSize:])
	end := off + StampSize + h.Size
	if !ok || short || end > len(records) {
		return -1
	}
	t := int64(binary.LittleEndian.Uint64(records[off:]))
	*m = chunked.Message{Time: t, Data: records[off+StampSize : end : end]}
	return end
}
