package mavlink

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/codec/tlog"
)

// Decoder decodes the frames of a recording in their order, as a Link does. Damage and losses are not counted.
type Decoder struct {
	formats map[uint32]tlog.MessageFormat
	tracker *tracker
}

// NewDecoder returns a decoder.
func NewDecoder(stamps Stamps) (*Decoder, error) {
	known, err := tlog.Formats()
	if err != nil {
		return nil, err
	}
	return &Decoder{known, newTracker(known, stamps)}, nil
}

// Decode decodes a frame that was received at a time in ns since the Unix epoch. It does not keep the data.
func (d *Decoder) Decode(data []byte, received int64) (*Frame, error) {
	h, ok := tlog.ParseHeader(data)
	if !ok {
		return nil, fmt.Errorf("not a frame of MAVLink: %d bytes", len(data))
	}
	return d.decode(data, h, received)
}

func (d *Decoder) decode(data []byte, h tlog.Header, received int64) (*Frame, error) {
	f := &Frame{System: h.System, Component: h.Component, Sequence: h.Sequence, V2: h.V2, Received: received}
	// Capacity is limited, as gomavlib appends to payloads shorter than the message.
	raw := &message.MessageRaw{ID: h.ID, Payload: data[h.Start:h.End:h.End]}
	if known, ok := d.formats[h.ID]; ok {
		m, err := known.Codec.Read(raw, h.V2)
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", tlog.MessageName(known.Codec.Message), err)
		}
		f.Message = m
	} else {
		raw.Payload = slices.Clone(raw.Payload)
		f.Message = raw
	}
	d.tracker.note(f, nil)
	return f, nil
}

// Vehicles returns the systems that have an autopilot, by system id.
func (d *Decoder) Vehicles() []Vehicle { return d.tracker.snapshot(d.tracker.latest()) }

// logReader reads a telemetry log (.tlog) as written by ground stations: each frame after 8 bytes of time, µs since
// the Unix epoch, in either order of bytes. Damage is skipped and counted. Signatures are not checked.
type logReader struct {
	Decoder
	source *bufio.Reader
	order  binary.ByteOrder
	scan   *tlog.Scanner
	counts *connection
	chunk  []byte
	// of the last frame with a time, ns since the Unix epoch
	received int64
	err      error // of source
}

func newLogReader(r io.Reader, total *statistics, t *tracker) *logReader {
	const size = 64 << 10
	source := bufio.NewReaderSize(r, size)
	_, _ = source.Peek(1) // reads once, as a pipe may be slow; an error is met again later
	head, _ := source.Peek(source.Buffered())
	order := tlog.Order(head)
	scan := tlog.NewRecordScanner(t.formats, order)
	return &logReader{Decoder: Decoder{t.formats, t}, source: source, order: order, scan: scan,
		counts: newConnection(total, scan), chunk: make([]byte, size)}
}

// next returns the next good frame, io.EOF after the last.
func (l *logReader) next() (*Frame, error) {
	for {
		record, h, ok := l.scan.Next(l.err != nil)
		l.counts.damage()
		if ok {
			if l.scan.Stamped(record) {
				l.received = int64(l.order.Uint64(record)) * 1e3
			}
			received := l.received // of this frame, or else of the frame before
			f, err := l.decode(record[tlog.StampSize:], h, received)
			if err == nil {
				l.counts.frame(h, received)
			}
			return f, err
		}
		if l.err != nil {
			return nil, l.err
		}
		var n int
		n, l.err = l.source.Read(l.chunk)
		l.scan.Write(l.chunk[:n])
	}
}
