package ulog

import (
	"bytes"
	"encoding/binary"
	"io"

	"tapedeck/codec/internal/chunked"
)

const (
	messageHead = 3
	// maxUnknown is the longest message of an unknown type, in bytes. Longer ones are damage, as for pyulog.
	maxUnknown = 10000
	flagsSize  = 40
	// resyncMessages is the number of consecutive messages that end damage.
	resyncMessages = 3
)

// syncMagic is the payload of a sync message.
var syncMagic = []byte("\x2f\x73\x13\x20\x25\x0c\xbb\x12")

// message is a message of a log.
type message struct {
	kind   byte
	pos    int64
	data   []byte // valid until the next call of the walker
	misfit bool   // data of a topic that the log does not describe, or not of the topic's size
}

// end returns where the message ends in the file.
func (m *message) end() int64 { return m.pos + messageHead + int64(len(m.data)) }

// subscription assigns an id to the data of a topic, from a position in the log on.
type subscription struct {
	from    int64
	channel int // number of the topic's channel
	layout  *layout
}

// walker goes through the messages of a log.
type walker struct {
	chunked.Window
	subscribed map[uint16][]subscription // by id
	pos        int64
	// ends are the ends of the sections of the file, in order; the last is the file's. No message crosses them.
	ends []int64
}

// limit returns the end of the section at pos.
func (w *walker) limit(pos int64) int64 {
	for _, end := range w.ends {
		if pos < end {
			return end
		}
	}
	return w.Size
}

// subscription returns the subscription of data with an id at pos; nil if none begins before pos.
func (w *walker) subscription(id uint16, pos int64) *subscription {
	list := w.subscribed[id]
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].from < pos {
			return &list[i]
		}
	}
	return nil
}

// form is how well bytes fit a message.
type form int

const (
	broken  form = iota // no message
	cut                 // a message that crosses the end of its section
	foreign             // a message of an unknown type
	misfit              // data that fit no topic
	whole               // a message of a known type
)

// check returns the size of the message at pos and how well it fits.
func (w *walker) check(pos int64) (size int64, f form, err error) {
	const most = messageHead + 16 // bytes to look at
	b, err := w.View(pos, most)
	if err != nil || len(b) < messageHead {
		return 0, cut, err
	}
	b = b[:min(len(b), most)]
	payload, kind := int64(binary.LittleEndian.Uint16(b)), b[2]
	size = messageHead + payload
	at := func(i int) byte {
		if messageHead+i < len(b) {
			return b[messageHead+i]
		}
		return 0
	}
	level := func() bool { return at(0) >= '0' && at(0) <= '7' }
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
		ok = payload >= 9 && level()
	case 'C':
		ok = payload >= 11 && level()
	case 'S':
		ok = payload == int64(len(syncMagic)) && bytes.HasPrefix(b[messageHead:], syncMagic)
	case 'D':
		if payload < 2 {
			return size, broken, nil
		}
		t := w.subscription(uint16(at(0))|uint16(at(1))<<8, pos)
		ok = t != nil && int64(t.layout.least) <= payload-2 && payload-2 <= int64(t.layout.most)
		if !ok {
			f = misfit
		}
	case 0:
	default:
		if payload > 0 && payload <= maxUnknown {
			f = foreign
		}
	}
	if ok {
		f = whole
	}
	if f != broken && pos+size > w.limit(pos) {
		f = cut
	}
	return size, f, nil
}

// next returns the next message. The error is io.EOF at the end; chunked.ErrCut if the file ends within a message; a
// *chunked.GapError, and then the next call continues behind the damage; or an error of reading.
func (w *walker) next() (m message, err error) {
	for {
		limit := w.limit(w.pos)
		if w.pos >= w.Size {
			return m, io.EOF
		}
		size, f, err := w.check(w.pos)
		if err != nil {
			return m, err
		}
		if (f == foreign || f == misfit) && !w.follows(w.pos+size) {
			f = broken
		}
		switch f {
		case whole, foreign, misfit:
			b, err := w.View(w.pos, int(size))
			if err != nil {
				return m, err
			}
			m = message{kind: b[2], pos: w.pos, data: b[messageHead:size:size], misfit: f == misfit}
			w.pos += size
			return m, nil
		}
		from := w.pos
		w.pos, err = w.resync(from+1, limit)
		if err != nil {
			return m, err
		}
		if w.pos < limit || f == broken {
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
	if pos == w.limit(pos-1) {
		return true
	}
	_, f, err := w.check(pos)
	return err == nil && (f == whole || f == misfit || f == cut)
}

// resync returns where consecutive messages begin at pos or later; limit if nowhere before.
func (w *walker) resync(pos, limit int64) (int64, error) {
	for ; pos < limit; pos++ {
		next := pos
		for n := range resyncMessages {
			size, f, err := w.check(next)
			if err != nil {
				return pos, err
			}
			if f != whole && (n == 0 || f != misfit) {
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
