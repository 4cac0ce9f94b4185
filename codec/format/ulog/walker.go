package ulog

import (
	"bytes"
	"encoding/binary"
	"io"

	"tapedeck/codec/internal/chunked"
)

const (
	messageHead = 3  // size of a message's head, in bytes
	flagsSize   = 40 // size of the payload of a message with flags, in bytes
	// maxUnknown is the longest payload of a message of an unknown type, in bytes. pyulog has this limit, too.
	maxUnknown = 10000
	// resyncMessages is the number of consecutive messages that end damage.
	resyncMessages = 3
)

// syncMagic is the payload of a sync message.
var syncMagic = []byte("\x2f\x73\x13\x20\x25\x0c\xbb\x12")

// message is a message of a log.
type message struct {
	kind   byte
	pos    int64  // of the head in the file
	data   []byte // payload, valid until the next call of the walker
	misfit bool   // data that fit no topic: the id is unknown or the size is not the topic's
}

// end returns where the message ends in the file.
func (m *message) end() int64 { return m.pos + messageHead + int64(len(m.data)) }

// tagSize returns the size of the tag before the time of a text.
func tagSize(m *message) int {
	if m.kind == 'C' {
		return 2
	}
	return 0
}

// dropoutMillis returns the duration of a dropout, in ms.
func dropoutMillis(m *message) int64 { return int64(binary.LittleEndian.Uint16(m.data)) }

// subscription assigns an id to the data of a topic.
type subscription struct {
	pos     int64 // position in the log: the id has this meaning behind it
	channel int   // number of the topic's channel
	layout  *layout
}

// walker goes through the messages of a log.
type walker struct {
	chunked.Window
	subscriptions map[uint16][]subscription // by id, in the order of the log
	pos           int64                     // of the next message
	// sectionEnds are the ends of the sections of the file, in order. The last one is the end of the file. No message
	// crosses them.
	sectionEnds []int64
}

// sectionEnd returns the end of the section at pos.
func (w *walker) sectionEnd(pos int64) int64 {
	for _, end := range w.sectionEnds {
		if pos < end {
			return end
		}
	}
	return w.Size
}

// subscription returns the subscription of data with an id at pos; nil if none begins before pos.
func (w *walker) subscription(id uint16, pos int64) *subscription {
	list := w.subscriptions[id]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].pos < pos {
			return &list[i]
		}
	}
	return nil
}

// subscriptionOf returns the subscription of a message of data.
func (w *walker) subscriptionOf(m *message) *subscription {
	return w.subscription(binary.LittleEndian.Uint16(m.data), m.pos)
}

// timestamp returns the channel and the timestamp in µs of a message of data or text; 0: no timestamp.
func (w *walker) timestamp(m *message) (channel int, micros uint64) {
	if m.kind == 'D' {
		s := w.subscriptionOf(m)
		return s.channel, s.layout.time(m.data[2:])
	}
	return logChannel, binary.LittleEndian.Uint64(m.data[1+tagSize(m):])
}

// validity tells how well bytes fit a message.
type validity int

const (
	noMessage      validity = iota
	cutMessage              // a message that crosses the end of its section
	unknownMessage          // a message of an unknown type
	misfitMessage           // data that fit no topic
	validMessage            // a message of a known type
)

// check returns the size and the validity of the message at pos. It looks only at the message's first bytes.
func (w *walker) check(pos int64) (size int64, v validity, err error) {
	const lookahead = messageHead + 16
	b, err := w.View(pos, lookahead)
	if err != nil || len(b) < messageHead {
		return 0, cutMessage, err
	}
	b = b[:min(len(b), lookahead)]
	payload, kind := int64(binary.LittleEndian.Uint16(b)), b[2]
	size = messageHead + payload
	at := func(i int) byte { // a byte of the payload; 0 behind its end
		if messageHead+i < len(b) {
			return b[messageHead+i]
		}
		return 0
	}
	isLevel := func() bool { return at(0) >= '0' && at(0) <= '7' }
	ok := false
	switch kind {
	case 'B':
		ok = payload >= flagsSize && pos == headerSize
	case 'F':
		ok = payload >= 4 && isName(string(at(0)), "-/")
	case 'I':
		ok = at(0) >= 3 && payload > int64(at(0))
	case 'M', 'Q':
		ok = at(1) >= 3 && payload > 1+int64(at(1))
	case 'P':
		ok = at(0) >= 3 && payload == 1+int64(at(0))+4
	case 'A':
		ok = payload > 3 && isName(string(at(3)), "-/")
	case 'R', 'O':
		ok = payload == 2
	case 'L':
		ok = payload >= 9 && isLevel()
	case 'C':
		ok = payload >= 11 && isLevel()
	case 'S':
		ok = payload == int64(len(syncMagic)) && bytes.HasPrefix(b[messageHead:], syncMagic)
	case 'D':
		if payload < 2 {
			return size, noMessage, nil
		}
		t := w.subscription(uint16(at(0))|uint16(at(1))<<8, pos)
		ok = t != nil && int64(t.layout.minSize) <= payload-2 && payload-2 <= int64(t.layout.maxSize)
		if !ok {
			v = misfitMessage
		}
	case 0:
	default:
		if payload > 0 && payload <= maxUnknown {
			v = unknownMessage
		}
	}
	if ok {
		v = validMessage
	}
	if v != noMessage && pos+size > w.sectionEnd(pos) {
		v = cutMessage
	}
	return size, v, nil
}

// next returns the next message. Its error is one of:
//   - io.EOF at the end of the file
//   - chunked.ErrCut if the file ends within a message
//   - a *chunked.GapError for damage; the next call continues behind the damage
//   - an error of reading
func (w *walker) next() (m message, err error) {
	for {
		limit := w.sectionEnd(w.pos)
		if w.pos >= w.Size {
			return m, io.EOF
		}
		size, v, err := w.check(w.pos)
		if err != nil {
			return m, err
		}
		if (v == unknownMessage || v == misfitMessage) && !w.follows(w.pos+size) {
			v = noMessage
		}
		switch v {
		case validMessage, unknownMessage, misfitMessage:
			b, err := w.View(w.pos, int(size))
			if err != nil {
				return m, err
			}
			m = message{kind: b[2], pos: w.pos, data: b[messageHead:size:size], misfit: v == misfitMessage}
			w.pos += size
			return m, nil
		}
		from := w.pos
		w.pos, err = w.resync(from+1, limit)
		if err != nil {
			return m, err
		}
		if w.pos < limit || v == noMessage {
			if w.pos == w.Size {
				if end, err := chunked.ContentEnd(w.File, w.Size); err == nil && end <= from {
					return m, chunked.ErrCut // zeros, as a crash leaves them
				}
			}
			return m, &chunked.GapError{From: from, To: w.pos}
		}
		if limit == w.Size {
			return m, chunked.ErrCut
		}
		// The writer did not finish the last message before data were appended.
	}
}

// follows reports whether a message of a known type may begin at pos, or the section ends there.
func (w *walker) follows(pos int64) bool {
	if pos == w.sectionEnd(pos-1) {
		return true
	}
	_, v, err := w.check(pos)
	return err == nil && (v == validMessage || v == misfitMessage || v == cutMessage)
}

// resync returns where consecutive messages begin at pos or later; limit if there are none before limit.
func (w *walker) resync(pos, limit int64) (int64, error) {
	for ; pos < limit; pos++ {
		next := pos
		for n := range resyncMessages {
			size, v, err := w.check(next)
			if err != nil {
				return pos, err
			}
			if v != validMessage && (n == 0 || v != misfitMessage) {
				break
			}
			next += size
			if n == resyncMessages-1 || next == limit {
				return pos, nil
			}
		}
	}
	return limit, nil
}
