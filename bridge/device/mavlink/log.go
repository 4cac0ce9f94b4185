package mavlink

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/codec"
	"tapedeck/codec/format/tlog"
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

// runLog plays a log to its end.
func (l *Link) runLog(ctx context.Context, handle func(*Frame)) error {
	log, err := tlog.Format.Open(l.transport.path)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Info()
	if err != nil {
		return err
	}
	found := info.Extra.(tlog.Details)
	if !found.Stamped {
		return fmt.Errorf("read %s: no MAVLink frame with a time found: not a telemetry log", l.name)
	}
	l.counts.change(func(s *Statistics) { s.BadChecksum, s.Garbage = found.BadChecksum, found.Garbage })
	decoder := Decoder{l.formats, l.tracker}
	counts := newConnection(l.counts, l.formats)
	pace := pacer{rate: l.options.Rate}
	for m, err := range codec.Messages(log, codec.Query{Damaged: func(error) {}}) { // damage is counted
		var f *Frame
		if err == nil {
			f, err = decoder.Decode(m.Data, m.LogTime)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", l.name, err)
		}
		if h, ok := tlog.ParseHeader(m.Data); ok {
			counts.frame(h, m.LogTime)
		}
		if pace.wait(ctx, f.Received) != nil {
			return nil
		}
		handle(f)
	}
	return nil
}

// maxPause is the longest pause in a log that is kept; longer ones mean another day rather than silence.
const maxPause = int64(time.Minute)

// pacer replays the time of a log at rate times real speed.
type pacer struct {
	rate float64 // 0: without waiting

	started bool
	began   time.Time
	first   int64 // stamp due at began, in ns
	last    int64 // stamp of the last frame, in ns
}

// wait waits until the frame with this stamp is due.
func (p *pacer) wait(ctx context.Context, stamp int64) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	if !p.started || stamp-p.last > maxPause {
		p.started, p.began, p.first = true, time.Now(), stamp
	}
	p.last = stamp
	return sleep(ctx, time.Until(p.began.Add(time.Duration(float64(stamp-p.first)/p.rate))))
}

// sleep returns after d, or early with ctx's error when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
