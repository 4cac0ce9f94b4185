package ros1

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl/wire"
)

var le = binary.LittleEndian

const (
	cdrHeader = 4
	maxEmpty  = 1 << 20 // largest number of messages without fields in a payload, which take no bytes of it
)

// payload translates a payload between ROS 1 and ROS 2. Payloads of ROS 2 are CDR behind a header of 4 bytes: numbers
// are aligned, and strings end with NUL. In payloads of ROS 1, numbers are not aligned, and strings have no NUL.
type payload struct {
	toROS2 bool
	cdr    []byte // original ROS 2 payload with the CDR header; nil if toROS2
	src    []byte // original payload, without the CDR header
	pos    int    // position in src
	out    []byte
	lost   uint64 // bits of the losses so far; see step.lost
	empty  int    // number of messages that took no bytes of src
}

var errShort = errors.New("the payload ends too early; it does not fit the definition")

// toCDR appends the translation of a ROS 1 payload to dst, which must be empty. It also returns the bits of the losses
// (step.lost).
func toCDR(dst, src []byte, steps []step) ([]byte, uint64, error) {
	p := payload{toROS2: true, src: src, out: append(slices.Grow(dst[:0], len(src)+len(src)/8+64), 0, 1, 0, 0)}
	return p.translate(steps, 0)
}

// fromCDR appends the translation of a ROS 2 payload to dst, which must be empty. It also returns the bits of the
// losses (step.lost).
func fromCDR(dst, src []byte, steps []step) ([]byte, uint64, error) {
	switch {
	case len(src) < cdrHeader:
		return dst[:0], 0, fmt.Errorf("payload of %s is too short for the 4-byte CDR header",
			plural.Count(len(src), "byte"))
	case src[0] != 0 || src[1] != 1:
		return dst[:0], 0, fmt.Errorf("CDR header % x; only little-endian plain CDR is understood", src[:cdrHeader])
	}
	p := payload{cdr: src, src: src[cdrHeader:], out: slices.Grow(dst[:0], len(src)+64)}
	return p.translate(steps, wire.MaxPadding)
}

func (p *payload) translate(steps []step, padding int) ([]byte, uint64, error) {
	err := p.run(steps)
	if left := len(p.src) - p.pos; err == nil && left > padding {
		err = fmt.Errorf("%s left behind the last field; the payload does not fit the definition",
			plural.Count(left, "byte"))
	}
	return p.out, p.lost, err
}

// run translates the fields of a message.
func (p *payload) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		var err error
		switch {
		case s.side == both:
			err = p.step(s)
		case (s.side == onlyROS1) == p.toROS2:
			var differs bool
			differs, err = p.skip(s)
			if differs {
				p.lost |= s.lost
			}
		default:
			p.fill(s)
		}
		if err != nil {
			return wire.InField(s.field, err)
		}
	}
	return nil
}

// step translates a field that both versions have.
func (p *payload) step(s *step) error {
	switch s.kind {
	case stepCopy:
		data, err := p.take(s.align, s.size)
		if err != nil {
			return err
		}
		p.put(s.align, data)
	case stepLevel:
		data, err := p.take(1, 1)
		if err != nil {
			return err
		}
		if p.toROS2 {
			p.out = append(p.out, levelsToROS2[data[0]])
		} else {
			p.out = append(p.out, levelsToROS1[data[0]])
		}
	case stepSequence:
		n, data, err := p.elements(s, s.bound)
		if err != nil {
			return err
		}
		p.putLength(n)
		if n > 0 {
			p.put(s.align, data)
		}
	case stepText:
		text, err := p.text(s.bound)
		if err != nil {
			return err
		}
		p.putText(text)
	case stepWide:
		return p.translateWide(s)
	case stepArray:
		return p.repeat(s, s.n)
	case stepEach:
		n, err := p.length(p.least(s), s.bound)
		if err != nil {
			return err
		}
		p.putLength(n)
		return p.repeat(s, n)
	}
	return nil
}

func (p *payload) repeat(s *step, n int) error {
	for range n {
		before := p.pos
		if err := p.run(s.steps); err != nil {
			return err
		}
		if p.pos > before {
			continue
		}
		p.empty++
		if p.empty > maxEmpty {
			return fmt.Errorf("more than %d messages without fields", maxEmpty)
		}
	}
	return nil
}

// take returns the next n bytes of src. If src is of ROS 2, take first skips the padding to a multiple of align.
func (p *payload) take(align, n int) ([]byte, error) {
	start := p.pos
	if !p.toROS2 {
		start += -p.pos & (align - 1)
	}
	if n < 0 || n > len(p.src)-start {
		return nil, errShort
	}
	p.pos = start + n
	return p.src[start:p.pos], nil
}

// least returns the smallest size in bytes of an element in src.
func (p *payload) least(s *step) int {
	if p.toROS2 {
		return s.least[0]
	}
	return s.least[1]
}

// length reads the number of elements that follow. least is the smallest size of an element in bytes. bound is the
// largest number of elements in ROS 2; 0 means no limit.
func (p *payload) length(least, bound int) (int, error) {
	b, err := p.take(4, 4)
	if err != nil {
		return 0, err
	}
	n, left := le.Uint32(b), len(p.src)-p.pos
	switch {
	case least > 0 && uint64(n) > uint64(left/least):
		return 0, fmt.Errorf("%s of %s or more, but only %s left; the payload does not fit the definition",
			plural.Count(n, "element"), plural.Count(least, "byte"), plural.Count(left, "byte"))
	case p.toROS2 && bound > 0 && uint64(n) > uint64(bound):
		return 0, fmt.Errorf("%d elements, but in ROS 2 there are at most %d", n, bound)
	}
	return int(n), nil
}

// elements reads a sequence of elements without padding.
func (p *payload) elements(s *step, bound int) (n int, data []byte, err error) {
	n, err = p.length(s.size, bound)
	if err != nil || n == 0 {
		return 0, nil, err
	}
	data, err = p.take(s.align, n*s.size)
	return n, data, err
}

// text reads a string. In ROS 2, the terminating NUL may be missing.
func (p *payload) text(bound int) ([]byte, error) {
	n, err := p.length(1, bound)
	if err != nil {
		return nil, err
	}
	text, err := p.take(1, n)
	if !p.toROS2 && err == nil && n > 0 && text[n-1] == 0 {
		text = text[:n-1]
	}
	return text, err
}

// put appends data. If the result is of ROS 2, put first adds the padding to a multiple of align.
func (p *payload) put(align int, data []byte) {
	if p.toROS2 {
		for n := -(len(p.out) - cdrHeader) & (align - 1); n > 0; n-- {
			p.out = append(p.out, 0)
		}
	}
	p.out = append(p.out, data...)
}

func (p *payload) putLength(n int) {
	p.put(4, nil)
	p.out = le.AppendUint32(p.out, uint32(n))
}

func (p *payload) putText(text []byte) {
	if p.toROS2 {
		p.putLength(len(text) + 1)
		p.out = append(append(p.out, text...), 0)
		return
	}
	p.putLength(len(text))
	p.out = append(p.out, text...)
}

// translateWide translates a string of ROS 1 to a wstring of ROS 2 or back.
func (p *payload) translateWide(s *step) error {
	if !p.toROS2 {
		return p.wideToText(s)
	}
	text, err := p.text(0)
	if err != nil {
		return err
	}
	if !utf8.Valid(text) {
		p.lost |= s.lost
	}
	return p.putWide(text, s.bound)
}

// putWide appends a wstring of ROS 2 with units of four bytes.
func (p *payload) putWide(text []byte, bound int) error {
	p.putLength(0)
	at, n := len(p.out), 0
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		if r1, r2 := utf16.EncodeRune(r); r1 != utf8.RuneError {
			p.out = le.AppendUint32(le.AppendUint32(p.out, uint32(r1)), uint32(r2))
			n += 2
		} else {
			p.out = le.AppendUint32(p.out, uint32(r))
			n++
		}
	}
	if bound > 0 && n > bound {
		return fmt.Errorf("%d characters, but in ROS 2 there are at most %d", n, bound)
	}
	le.PutUint32(p.out[at-4:], uint32(n))
	return nil
}

// wideToText translates a wstring of ROS 2 to a string of ROS 1. The units of the wstring have two or four bytes.
func (p *payload) wideToText(s *step) error {
	d := wire.NewDecoder(p.cdr)
	d.Skip(p.pos)
	text := d.WString(0)
	if err := d.Err(); err != nil {
		return err
	}
	p.pos = d.Offset() - cdrHeader
	if strings.ContainsRune(text, utf8.RuneError) {
		p.lost |= s.lost
	}
	p.putText([]byte(text))
	return nil
}

// skip skips a field that only src has. differs reports whether the value differs from the default.
func (p *payload) skip(s *step) (differs bool, err error) {
	var data []byte
	switch s.kind {
	case stepCopy:
		data, err = p.take(s.align, s.size)
		filled := min(len(s.fill), len(data))
		return !bytes.Equal(data[:filled], s.fill[:filled]) || hasNonzero(data[filled:]), err
	case stepSequence:
		_, data, err = p.elements(s, 0)
		return !bytes.Equal(data, s.fill), err
	case stepText:
		data, err = p.text(0)
		return !bytes.Equal(data, s.fill), err
	case stepWide:
		end := len(p.out)
		err = p.translateWide(s)
		differs = !bytes.Equal(p.out[min(end+4, len(p.out)):], s.fill)
		p.out = p.out[:end]
	case stepArray, stepEach:
		n := s.n
		if s.kind == stepEach {
			n, err = p.length(p.least(s), 0)
			differs = n > 0
		}
		for ; n > 0 && err == nil; n-- {
			for i := range s.steps {
				var inner bool
				inner, err = p.skip(&s.steps[i])
				if err != nil {
					break
				}
				differs = differs || inner
			}
		}
	}
	return differs, err
}

// hasNonzero reports whether a field has a nonzero byte.
func hasNonzero(field []byte) bool {
	return slices.ContainsFunc(field, func(b byte) bool { return b != 0 })
}

// fill appends the default of a field that src does not have.
func (p *payload) fill(s *step) {
	switch s.kind {
	case stepCopy:
		p.put(s.align, s.fill)
		p.out = append(p.out, make([]byte, s.size-len(s.fill))...)
	case stepSequence:
		p.putLength(len(s.fill) / s.size)
		if len(s.fill) > 0 {
			p.put(s.align, s.fill)
		}
	case stepText:
		p.putText(s.fill)
	case stepWide:
		_ = p.putWide(s.fill, 0)
	case stepEach:
		p.putLength(0)
	case stepArray:
		for range s.n {
			for i := range s.steps {
				p.fill(&s.steps[i])
			}
		}
	}
}

// levelsToROS2 converts the level of a log message from ROS 1 to ROS 2. levelsToROS1 is the inverse.
var (
	levelsToROS2 = levelTable([][2]byte{{1, 10}, {2, 20}, {4, 30}, {8, 40}, {16, 50}})
	levelsToROS1 = levelTable([][2]byte{{10, 1}, {20, 2}, {30, 4}, {40, 8}, {50, 16}})
)

// levelTable returns a table that maps the first level of each pair to the second, and any other level to itself.
func levelTable(pairs [][2]byte) (table [math.MaxUint8 + 1]byte) {
	for i := range table {
		table[i] = byte(i)
	}
	for _, p := range pairs {
		table[p[0]] = p[1]
	}
	return table
}
