package ulog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/internal/chunked"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rcl_interfaces"
)

// loader implements chunked.Loader. A record is a recordHead and the CDR payload of a ROS 2 message.
type loader struct {
	chunked.Plain
	reader *reader
}

// recordHead is the head of a record. In the record, the size of the payload comes before it.
type recordHead struct {
	channel         int
	time, published int64 // in ns; published is 0 if unknown
}

// recordHeadSize is the size of a record's head with the size of the payload, in bytes.
const recordHeadSize = 24

func (l *loader) Load(g *chunked.Segment, buf []byte) ([]byte, []error) {
	log, records := l.reader.log, buf[:0]
	if g.Offset == 0 { // the segment that scan.finish inserts for the parameters at the start
		records = recordHead{channel: parameterChannel, time: g.Start}.appendTo(records)
		event := parameterEvent(g.Start)
		event.NewParameters = log.parameters
		records, err := appendCDR(records, event)
		if err != nil {
			return records[:0], []error{err}
		}
		setSize(records, 0)
		return records, nil
	}
	before := log.states[g.Offset]
	times := before.clone()
	w := walker{Window: chunked.Window{File: l.reader.File, Size: l.reader.Size}, subscriptions: log.subscriptions,
		sectionEnds: log.sectionEnds, pos: g.Offset}
	var errs []error
	last := int64(math.MinInt64)
	for w.pos < g.Offset+g.Size {
		m, err := w.next()
		var gap *chunked.GapError
		if errors.As(err, &gap) {
			continue // the scan reported the gap
		}
		if err != nil {
			return records, append(errs, chunked.Unexpected(err))
		}
		head, ok := l.head(&w, &times, &m)
		if !ok {
			continue
		}
		start := len(records)
		records, err = appendPayload(head.appendTo(records), &w, &m, head.time)
		if err != nil {
			records, errs = records[:start], append(errs, err)
			continue
		}
		setSize(records, start)
		g.Unsorted = g.Unsorted || head.time < last
		last = head.time
	}
	return records, errs
}

// head returns the head of a message's record. ok is false if the message has no record.
func (l *loader) head(w *walker, times *state, m *message) (head recordHead, ok bool) {
	switch m.kind {
	case 'D', 'L', 'C':
		if m.misfit {
			return head, false
		}
		channel, timestamp := w.timestamp(m)
		t, published, err := times.times(channel, timestamp)
		if err != nil { // the scan reported the error
			return head, false
		}
		head = recordHead{channel, t, published}
	case 'P':
		if _, ok := parameter(m.data); !ok {
			return head, false
		}
		head = recordHead{channel: parameterChannel, time: times.untimed(parameterChannel)}
	case 'O':
		head = recordHead{channel: eventChannel, time: times.untimed(eventChannel)}
	default:
		return head, false
	}
	offset := l.reader.log.utcOffset
	head.time += offset
	if head.published != 0 {
		head.published += offset
	}
	return head, true
}

// appendPayload appends the payload for a message at t.
func appendPayload(records []byte, w *walker, m *message, t int64) ([]byte, error) {
	switch m.kind {
	case 'D':
		return w.subscriptionOf(m).layout.convert(records, m.data[2:]), nil
	case 'P':
		p, _ := parameter(m.data)
		event := parameterEvent(t)
		event.ChangedParameters = []rcl_interfaces.Parameter{p}
		return appendCDR(records, event)
	case 'O':
		event, err := codec.EventMessage(codec.Event{Kind: codec.EventDrop, Time: t, Until: t + dropoutMillis(m)*1e6,
			Text: "PX4's logger dropped messages"})
		if err != nil {
			return records, err
		}
		return append(records, event.Data...), nil
	default:
		return appendCDR(records, text(m, t))
	}
}

// parameterEvent returns an event of PX4 at t, without parameters.
func parameterEvent(t int64) *rcl_interfaces.ParameterEvent {
	return &rcl_interfaces.ParameterEvent{Stamp: builtin_interfaces.TimeAt(t),
		Node: strings.TrimSuffix(namespace, "/")}
}

// text returns the message of ROS 2 for a text that PX4 logged at t.
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

func appendCDR(records []byte, m msgs.Message) ([]byte, error) {
	payload, err := cdr.Marshal(m)
	return append(records, payload...), err
}

// appendTo appends the head of a record, with 0 for the size of the payload.
func (h recordHead) appendTo(records []byte) []byte {
	records = binary.LittleEndian.AppendUint32(records, 0)
	records = binary.LittleEndian.AppendUint32(records, uint32(h.channel))
	records = binary.LittleEndian.AppendUint64(records, uint64(h.time))
	return binary.LittleEndian.AppendUint64(records, uint64(h.published))
}

// setSize sets the size of the last record's payload. The record begins at start.
func setSize(records []byte, start int) {
	binary.LittleEndian.PutUint32(records[start:], uint32(len(records)-start-recordHeadSize))
}

func (l *loader) Cut(records []byte, off int, m *chunked.Message) int {
	m.Channel = chunked.None
	if len(records)-off < recordHeadSize {
		return -1
	}
	end := off + recordHeadSize + int(binary.LittleEndian.Uint32(records[off:]))
	if end > len(records) {
		return -1
	}
	m.Channel = int(binary.LittleEndian.Uint32(records[off+4:]))
	m.Time = int64(binary.LittleEndian.Uint64(records[off+8:]))
	m.Publish = int64(binary.LittleEndian.Uint64(records[off+16:]))
	m.Data = records[off+recordHeadSize : end : end]
	return end
}
