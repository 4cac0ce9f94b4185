package realman

import (
	"errors"
	"fmt"
)

// maxObject bounds the JSON objects that arms send. The largest known have 3 KB.
const maxObject = 64 << 10

// maxExcerpt is how many bytes of bad data an error shows.
const maxExcerpt = 60

// splitter finds JSON objects in the bytes of a connection. By the protocol each object is on a line of its own; here a
// line may have several, and the last needs no end of line. An object that is cut off by the end of its line is
// dropped, so that the next one is found.
type splitter struct {
	object  func([]byte) // valid until it returns
	bad     func(error)
	buf     []byte // the open object, or text outside of objects
	depth   int    // of braces
	text    bool   // within a string
	escaped bool
	skip    bool // the rest of the line
}

// add takes the next bytes of the connection.
func (s *splitter) add(data []byte) {
	for _, c := range data {
		switch {
		case s.skip:
			s.skip = c != '\n'
		case c == '\n':
			s.cut(errors.New("the line ends within an object"))
		case s.depth == 0 && c == '{':
			s.cut(nil)
			s.buf, s.depth = append(s.buf, c), 1
		case s.depth == 0:
			if c > ' ' && len(s.buf) < maxExcerpt {
				s.buf = append(s.buf, c)
			}
		default:
			s.inside(c)
		}
	}
}

// inside takes a byte of an object.
func (s *splitter) inside(c byte) {
	s.buf = append(s.buf, c)
	switch {
	case s.escaped:
		s.escaped = false
	case s.text && c == '\\':
		s.escaped = true
	case c == '"':
		s.text = !s.text
	case s.text:
	case c == '{':
		s.depth++
	case c == '}':
		s.depth--
		if s.depth == 0 {
			s.object(s.buf)
			s.reset()
		}
	}
	if len(s.buf) == maxObject {
		s.cut(fmt.Errorf("an object has more than %d bytes", maxObject))
		s.skip = true
	}
}

// cut drops the buffer: an incomplete object, for the given reason, or other text.
func (s *splitter) cut(reason error) {
	if len(s.buf) > 0 {
		if s.depth == 0 {
			reason = errors.New("there is text outside of JSON objects")
		}
		s.bad(fmt.Errorf("%w: %s", reason, excerpt(s.buf)))
	}
	s.reset()
}

func (s *splitter) reset() {
	*s = splitter{object: s.object, bad: s.bad, buf: s.buf[:0]}
}

// excerpt quotes the beginning of data.
func excerpt(data []byte) string { return fmt.Sprintf("%.*q", maxExcerpt, data) }
