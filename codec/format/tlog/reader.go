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
	segmentSize = 1 << 20   // bytes
	readSize    = 256 << 10 // bytes
	// maxGaps is the number of gaps that are reported one by one.
	maxGaps = 1000
	// maxRecord is the maximum size of a record, which is a time and a frame, in bytes.
	maxRecord = StampSize + headerV2 + 255 + checksum + signature
)

// summary is the result of scanning a log.
type summary struct {
	details  Details
	clocks   map[int64]clock // clock before each segment, by the segment's offset
	offset   int64           // UTC minus the time since boot in ns
	complete bool
}

// newReader returns a reader of a log. It detects the byte order of times.

func newReader(file codec.File, size int64, path string) (*reader, error) {
	head := make([]byte, min(size, readSize))
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, chunked.Unexpected(err))
	}
	formats, err := Formats()
	if err != nil {
		return nil, err
	}
	order, _, frames, _ := detectOrder(head)
	if frames == 0 {
		return nil, fmt.Errorf("open %s: no MAVLink frame found: not a telemetry log", path)
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
	info.Complete, info.Extra = r.summary.complete, r.summary.details
	return info
}

func (r *reader) Index() error {
	r.summary = &summary{complete: true, clocks: map[int64]clock{}, details: Details{Stamped: r.order != nil,
		Components: map[string]uint64{}, Messages: map[string]uint64{}}}
	r.Contents = chunked.Contents{Path: r.Path, Channels: []*codec.Channel{r.channel}, Scanned: true}
	s := logScan{reader: r, scanner: newLogScanner(r.formats, r.order), clock: clock{now: r.first}}
	buf := make([]byte, readSize)
	for pos := int64(0); pos < r.Size; {
		n, err := r.File.ReadAt(buf[:min(readSize, r.Size-pos)], pos)
		if n == 0 && err != nil {
			return chunked.Unexpected(err)
		}
		pos += int64(n)
		s.scanner.Write(buf[:n])
		for record, h, ok := s.scanner.Next(pos == r.Size); ok; record, h, ok = s.scanner.Next(pos == r.Size) {
			s.addFrame(record, &h)
		}
	}
	return s.finish()
}

// logScan scans a log. A gap is a range of damaged bytes between two frames.
type logScan struct {
	*reader
	scanner *Scanner
	clock   clock
	end     int64  // offset of the end of the last frame
	garbage uint64 // Scanner.Damage.Garbage after the last gap
	segment chunked.Segment
	frames  uint64 // number of frames of segment

	gaps       int   // number of all gaps
	badGaps    int   // number of gaps that contain only frames with a bad checksum
	firstBad   int64 // offset of the first bad gap
	unreported int64 // offset of the first gap that is not reported by itself; 0: none
}

// addFrame adds a frame to the segment.
func (s *logScan) addFrame(record []byte, h *Header) {
	offset := s.scanner.Offset - int64(len(record))
	if offset > s.end && !s.addText(offset) {
		s.addGap(offset)
	}
	s.end = s.scanner.Offset
	before := s.clock
	t := s.frameTime(&s.clock, record, h)
	g := &s.segment
	if g.Size > 0 && s.end-g.Offset > segmentSize {
		s.endSegment()
	}
	if g.Size == 0 {
		*g = chunked.Segment{Offset: offset, Start: t, End: t, Channels: []int{0}, Reported: true}
		s.summary.clocks[offset] = before
	}
	g.Unsorted = g.Unsorted || t < g.End
	g.Size = s.end - g.Offset
	g.Start, g.End = min(g.Start, t), max(g.End, t)
	s.frames++

	d := &s.summary.details
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
	d.Messages[s.messageName(h.ID)]++
}

// messageName returns the name of a message, or UNKNOWN_ID.
func (r *reader) messageName(id uint32) string {
	if f, ok := r.formats[id]; ok {
		return f.Name
	}
	return fmt.Sprintf("UNKNOWN_%d", id)
}

// addText counts the bytes between the last frame and offset to as text, and reports whether they are text. An
// autopilot sends text while it boots. In a log with times, text after the first frame counts as damage.
func (s *logScan) addText(to int64) bool {
	const maxText = 1 << 20 // bytes
	if s.order != nil && s.end > 0 || to-s.end > maxText {
		return false
	}
	b := make([]byte, to-s.end)
	if _, err := s.File.ReadAt(b, s.end); err != nil || textSize(b) < len(b) {
		return false
	}
	s.scanner.Damage.Garbage = s.garbage
	s.summary.details.Text += uint64(len(b))
	return true
}

// addGap counts the bytes between the last frame and offset to as damage.
func (s *logScan) addGap(to int64) {
	s.summary.complete = false
	onlyBad := s.scanner.Damage.Garbage == s.garbage
	s.garbage = s.scanner.Damage.Garbage
	s.gaps++
	switch {
	case onlyBad:
		s.badGaps++
		if s.badGaps == 1 {
			s.firstBad = s.end
		}
	case s.gaps-s.badGaps < maxGaps:
		s.Contents.Damaged(s.end, &chunked.GapError{From: s.end, To: to})
	case s.unreported == 0:
		s.unreported = s.end
	}
}

// endSegment adds the open segment to the contents.
func (s *logScan) endSegment() {
	if s.segment.Size == 0 {
		return
	}
	s.Contents.Count(0, s.frames)
	s.Contents.Segments = append(s.Contents.Segments, s.segment)
	s.segment, s.frames = chunked.Segment{}, 0
}

// finish completes the contents and the summary after the last frame.
func (s *logScan) finish() error {
	s.endSegment()
	if err := s.addRest(); err != nil {
		return err
	}
	if n := s.summary.details.BadTime; n > 0 {
		s.Contents.Event(codec.EventTimes, plural.Count(n, "frame")+" with an invalid time, read with the time of the "+
			"previous frame")
	}
	damage := s.scanner.Damage
	s.summary.details.BadChecksum, s.summary.details.Garbage = damage.BadChecksum, damage.Garbage
	if s.badGaps > 0 {
		s.Contents.Damaged(s.firstBad, fmt.Errorf("skipped %s with a bad checksum, the first at 0x%x: damaged, or of "+
			"another dialect", plural.Count(damage.BadChecksum, "frame"), s.firstBad))
	}
	if s.unreported > 0 {
		s.Contents.Damaged(s.unreported, fmt.Errorf("damaged at %s more, the first at 0x%x",
			plural.Count(s.gaps-s.badGaps-maxGaps+1, "place"), s.unreported))
	}
	s.summary.offset = s.clock.offset
	for i := range s.Contents.Segments {
		g := &s.Contents.Segments[i]
		g.Start, g.End = g.Start+s.summary.offset, g.End+s.summary.offset
		s.Contents.Cover(g.Start, g.End)
	}
	return nil
}

// addRest adds the bytes after the last frame as text or as damage. A log that ends within a frame or in zeros gets an
// event instead.
func (s *logScan) addRest() error {
	rest := s.Size - s.end
	if rest <= 0 {
		return nil
	}
	b := make([]byte, min(rest, maxRecord))
	if _, err := s.File.ReadAt(b, s.end); err != nil {
		return chunked.Unexpected(err)
	}
	content, err := chunked.ContentEnd(s.File, s.Size)
	if err != nil {
		return err
	}
	begun := max(content-s.end, 0) // bytes before the zeros
	zeros := begun == 0 || rest-begun > maxRecord && s.isBeginning(b[:min(begun, maxRecord)])
	switch {
	case zeros || s.isBeginning(b):
		s.summary.complete = false
		s.scanner.Damage.Garbage = s.garbage
		end := "within a frame"
		if zeros {
			end = "in zeros"
		}
		s.Contents.Event(codec.EventUnfinished, "the log ends "+end+"; everything before it was read")
	case !s.addText(s.Size):
		s.addGap(s.Size)
	}
	return nil
}

// isBeginning reports whether b, the rest of the log, may be the beginning of a frame.
func (s *logScan) isBeginning(b []byte) bool {
	if len(b) <= s.scanner.Prefix || len(b) == maxRecord {
		return len(b) <= s.scanner.Prefix
	}
	if s.order != nil && !s.scanner.Stamped(b) {
		return false
	}
	h, ok, short := parseHeader(b[s.scanner.Prefix:])
	return short || ok && h.Size > len(b)-s.scanner.Prefix
}

// frameTime returns the time of a frame in ns, without summary.offset, and updates c. In a log without times, it is the
// time of clock c.
func (r *reader) frameTime(c *clock, record []byte, h *Header) int64 {
	if r.order != nil {
		if t := r.order.Uint64(record); t < LatestStamp {
			c.now = int64(t) * 1e3
		}
		return c.now
	}
	f, ok := r.formats[h.ID]
	if ok && f.timeUnit != 0 && (!c.known || c.system == h.System && c.component == h.Component) {
		raw := &message.MessageRaw{ID: h.ID, Payload: record[h.Start:h.End:h.End]}
		if m, err := f.Codec.Read(raw, h.V2); err == nil {
			c.observe(f.Time(m), m, h)
		}
	}
	return c.now
}

const (
	minUnixNanos  = 1e18         // in ns; smaller times are times since boot
	minUnixMicros = 1234567890e6 // in µs; an autopilot that does not know UTC sends smaller times
	rebootStep    = 10e9         // in ns; if the time since boot decreases by more, the autopilot has restarted
)

// clock is the clock of a log without times. It follows the times in the messages of one component.
type clock struct {
	known             bool  // system and component are known
	system, component uint8 // ids of the component
	now               int64 // time since the first boot, in ns
	base              int64 // time from the first to the last boot, in ns
	offset            int64 // UTC minus now, in ns; 0: unknown
}

// observe sets the clock by the time in a message, in ns since boot or the Unix epoch. 0 is no time.
func (c *clock) observe(at int64, m message.Message, h *Header) {
	if at == 0 {
		return
	}
	if at >= minUnixNanos {
		if c.offset == 0 {
			c.offset = at - c.now
		}
		at -= c.offset + c.base
	}
	c.known, c.system, c.component = true, h.System, h.Component
	if c.base+at < c.now-rebootStep {
		c.base = c.now - at
	}
	c.now = max(c.now, c.base+at)
	if s, ok := m.(*common.MessageSystemTime); ok && c.offset == 0 && s.TimeUnixUsec > minUnixMicros &&
		s.TimeUnixUsec < LatestStamp {
		c.offset = int64(s.TimeUnixUsec)*1e3 - c.base - at
	}
}

// loader implements chunked.Loader. A loaded record is a little-endian time in ns of 8 bytes, followed by a frame.
type loader struct {
	chunked.Plain
	reader *reader
	buf    []byte // bytes of the segment in the file
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
	clock, records, before := r.summary.clocks[g.Offset], buf[:0], int64(math.MinInt64)
	for record, h, ok := s.Next(true); ok; record, h, ok = s.Next(true) {
		t := r.frameTime(&clock, record, &h) + r.summary.offset
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
