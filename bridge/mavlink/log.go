package mavlink

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/bluenviron/gomavlib/v3/pkg/message"
)

const (
	stampSize   = 8
	latestStamp = 4102444800e6 // µs: the year 2100
)

// logReader reads a telemetry log (.tlog) as written by ground stations: each frame after 8 bytes of time, µs since the
// Unix epoch, big-endian. Damage is skipped and counted. Signatures are not checked.
type logReader struct {
	source  io.Reader
	scan    *scanner
	counts  *connection
	tracker *tracker
	chunk   []byte
	err     error // of source
}

func newLogReader(r io.Reader, total *statistics, t *tracker) *logReader {
	scan := &scanner{formats: t.formats, prefix: stampSize, stamped: plausible}
	return &logReader{source: r, scan: scan, counts: newConnection(total, scan), tracker: t,
		chunk: make([]byte, 64<<10)}
}

// plausible reports whether b can be the stamp of a frame.
func plausible(b []byte) bool { return binary.BigEndian.Uint64(b) < latestStamp }

// next returns the next good frame, io.EOF after the last.
func (l *logReader) next() (*Frame, error) {
	for {
		record, h, ok := l.scan.next(l.err != nil)
		l.counts.damage()
		if ok {
			return l.decode(record, h)
		}
		if l.err != nil {
			return nil, l.err
		}
		var n int
		n, l.err = l.source.Read(l.chunk)
		l.scan.write(l.chunk[:n])
	}
}

// decode returns the frame of a record.
func (l *logReader) decode(record []byte, h header) (*Frame, error) {
	f := &Frame{System: h.system, Component: h.component, Sequence: h.sequence, V2: h.v2,
		Received: int64(binary.BigEndian.Uint64(record)) * 1e3}
	// Capacity is limited, as gomavlib appends to payloads shorter than the message.
	raw := &message.MessageRaw{ID: h.id, Payload: record[stampSize+h.start : stampSize+h.end : stampSize+h.end]}
	if known, ok := l.scan.formats[h.id]; ok {
		m, err := known.codec.Read(raw, h.v2)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", MessageName(known.codec.Message), err)
		}
		f.Message = m
	} else {
		raw.Payload = slices.Clone(raw.Payload)
		f.Message = raw
	}
	l.counts.frame(h, f.Received)
	l.tracker.note(f, nil)
	return f, nil
}
