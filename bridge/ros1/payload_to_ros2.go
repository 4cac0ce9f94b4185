package ros1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

var le = binary.LittleEndian

// maxEmpty is how many messages without fields a sequence may have.
const maxEmpty = 1 << 20

const cdrHeader = 4

// payloadToROS2 makes payloads of ROS 2 of those of ROS 1.
type payloadToROS2 struct {
	src []byte // what is left of the payload
	out []byte // the encapsulation header, then what there is so far

	lost uint64 // what of the payload there is not in it, by bits of steps
}

// fieldError says in which field of a payload something is wrong.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

var errShort = errors.New("the payload ends too early; it does not fit the definition")

// toCDR appends to dst, which is empty, what a payload of ROS 1 is in ROS 2. It returns what it had that is lost, too.
func toCDR(dst, payload []byte, steps []step) ([]byte, uint64, error) {
	f := payloadToROS2{src: payload, out: append(slices.Grow(dst[:0], len(payload)+len(payload)/8+64), 0, 1, 0, 0)}
	err := f.run(steps)
	if err == nil && len(f.src) > 0 {
		err = fmt.Errorf("%d bytes are left behind the last field; the payload does not fit the definition", len(f.src))
	}
	return f.out, f.lost, err
}

func (f *payloadToROS2) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		var err error
		switch s.side {
		case only1:
			before := f.src
			if err = f.skip(s); f.lost&s.lost == 0 && set(before[:len(before)-len(f.src)]) {
				f.lost |= s.lost
			}
		case only2:
			f.fill(s)
		default:
			err = f.step(s)
		}
		if err != nil {
			return inField(s.field, err)
		}
	}
	return nil
}

// set reports whether a field has something. One that is 0 or empty is zeros.
func set(field []byte) bool {
	return slices.ContainsFunc(field, func(b byte) bool { return b != 0 })
}

// inField puts the name of a field in front of an error's.
func inField(field string, err error) error {
	if inner := (*fieldError)(nil); errors.As(err, &inner) {
		return &fieldError{field + "." + inner.field, inner.err}
	}
	return &fieldError{field, err}
}

// align pads the output for something of that size.
func (f *payloadToROS2) align(size int) {
	for n := -(len(f.out) - cdrHeader) & (size - 1); n > 0; n-- {
		f.out = append(f.out, 0)
	}
}

func (f *payloadToROS2) uint32(v uint32) {
	f.align(4)
	f.out = le.AppendUint32(f.out, v)
}

// take returns the next n bytes of the payload.
func (f *payloadToROS2) take(n int) ([]byte, error) {
	if n < 0 || n > len(f.src) {
		return nil, errShort
	}
	b := f.src[:n]
	f.src = f.src[n:]
	return b, nil
}

// length reads how many elements of at least so many bytes follow.
func (f *payloadToROS2) length(least, bound int) (int, error) {
	b, err := f.take(4)
	if err != nil {
		return 0, err
	}
	return checkLength(le.Uint32(b), least, bound, len(f.src))
}

// checkLength returns the number of elements, of at least so many bytes in what is left.
func checkLength(n uint32, least, bound, left int) (int, error) {
	switch {
	case least == 0 && n > maxEmpty:
		return 0, fmt.Errorf("a sequence of %d messages without fields; at most %d are possible", n, maxEmpty)
	case least > 0 && uint64(n) > uint64(left/least):
		return 0, fmt.Errorf("%d elements of %d bytes or more, but only %d bytes are left; the payload does not fit the "+
			"definition", n, least, left)
	case bound > 0 && uint64(n) > uint64(bound):
		return 0, fmt.Errorf("%d elements, but in ROS 2 there are at most %d", n, bound)
	}
	return int(n), nil
}

func (f *payloadToROS2) step(s *step) error {
	switch s.kind {
	case stepCopy:
		b, err := f.take(s.size)
		if err != nil {
			return err
		}
		f.align(s.align)
		f.out = append(f.out, b...)
	case stepLevel:
		b, err := f.take(1)
		if err != nil {
			return err
		}
		f.out = append(f.out, levels[b[0]])
	case stepSequence:
		n, err := f.length(s.size, s.bound)
		if err != nil {
			return err
		}
		f.uint32(uint32(n))
		if n > 0 {
			f.align(s.align)
			f.out = append(f.out, f.src[:n*s.size]...)
			f.src = f.src[n*s.size:]
		}
	case stepText:
		n, err := f.length(1, s.bound)
		if err != nil {
			return err
		}
		f.text(f.src[:n])
		f.src = f.src[n:]
	case stepWide:
		n, err := f.length(1, 0)
		if err != nil {
			return err
		}
		if !utf8.Valid(f.src[:n]) {
			f.lost |= s.lost
		}
		if err := f.wide(f.src[:n], s.bound); err != nil {
			return err
		}
		f.src = f.src[n:]
	case stepArray:
		return f.repeat(s, s.n)
	case stepEach:
		n, err := f.length(s.least[0], s.bound)
		if err != nil {
			return err
		}
		f.uint32(uint32(n))
		return f.repeat(s, n)
	}
	return nil
}

func (f *payloadToROS2) repeat(s *step, n int) error {
	for range n {
		if err := f.run(s.steps); err != nil {
			return err
		}
	}
	return nil
}

// text appends a string.
func (f *payloadToROS2) text(b []byte) {
	f.uint32(uint32(len(b) + 1))
	f.out = append(append(f.out, b...), 0)
}

// wide appends a wstring.
func (f *payloadToROS2) wide(b []byte, bound int) error {
	f.uint32(0)
	at, n := len(f.out), 0
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			f.out = le.AppendUint32(le.AppendUint32(f.out, uint32(r1)), uint32(r2))
			n += 2
		} else {
			f.out = le.AppendUint32(f.out, uint32(r))
			n++
		}
	}
	if bound > 0 && n > bound {
		return fmt.Errorf("%d characters, but in ROS 2 there are at most %d", n, bound)
	}
	le.PutUint32(f.out[at-4:], uint32(n))
	return nil
}

// skip passes over what there is in ROS 1 alone.
func (f *payloadToROS2) skip(s *step) error {
	n := s.size
	var err error
	switch s.kind {
	case stepSequence:
		if n, err = f.length(s.size, 0); err == nil {
			n *= s.size
		}
	case stepText, stepWide:
		n, err = f.length(1, 0)
	case stepArray, stepEach:
		if n = s.n; s.kind == stepEach {
			n, err = f.length(s.least[0], 0)
		}
		for ; n > 0 && err == nil; n-- {
			for i := range s.steps {
				if err = f.skip(&s.steps[i]); err != nil {
					break
				}
			}
		}
		return err
	}
	if err == nil {
		_, err = f.take(n)
	}
	return err
}

// fill appends the default of what there is in ROS 2 alone.
func (f *payloadToROS2) fill(s *step) {
	switch s.kind {
	case stepCopy:
		f.align(s.align)
		f.out = append(f.out, s.fill...)
		f.out = append(f.out, make([]byte, s.size-len(s.fill))...)
	case stepSequence:
		f.uint32(uint32(len(s.fill) / s.size))
		if len(s.fill) > 0 {
			f.align(s.align)
			f.out = append(f.out, s.fill...)
		}
	case stepText:
		f.text(s.fill)
	case stepWide:
		_ = f.wide(s.fill, 0)
	case stepEach:
		f.uint32(0)
	case stepArray:
		for range s.n {
			for i := range s.steps {
				f.fill(&s.steps[i])
			}
		}
	}
}

// levels are those of log messages: of ROS 2, by that of ROS 1.
var levels = levelTable([][2]byte{{1, 10}, {2, 20}, {4, 30}, {8, 40}, {16, 50}})

// levels1 is the inverse.
var levels1 = levelTable([][2]byte{{10, 1}, {20, 2}, {30, 4}, {40, 8}, {50, 16}})

// levelTable returns a table in which others than the given ones are as they were.
func levelTable(pairs [][2]byte) (table [math.MaxUint8 + 1]byte) {
	for i := range table {
		table[i] = byte(i)
	}
	for _, p := range pairs {
		table[p[0]] = p[1]
	}
	return table
}
