package ros1

import (
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPadding is how many bytes may follow the last field: senders pad payloads.
const maxPadding = 7

// backward makes payloads of ROS 1 of those of ROS 2.
type backward struct {
	src []byte // behind the encapsulation header
	pos int
	out []byte
}

// fromCDR appends to dst, which is empty, what a payload of ROS 2 is in ROS 1.
func fromCDR(dst, payload []byte, steps []step) ([]byte, error) {
	switch {
	case len(payload) < cdrHeader:
		return dst[:0], fmt.Errorf("payload of %d bytes is too short for the 4-byte CDR header", len(payload))
	case payload[0] != 0 || payload[1] != 1:
		return dst[:0], fmt.Errorf("CDR header % x; only little-endian plain CDR is understood", payload[:cdrHeader])
	}
	b := backward{src: payload[cdrHeader:], out: slices.Grow(dst[:0], len(payload)+64)}
	err := b.run(steps)
	if left := len(b.src) - b.pos; err == nil && left > maxPadding {
		err = fmt.Errorf("%d bytes are left behind the last field; the payload does not fit the definition", left)
	}
	return b.out, err
}

func (b *backward) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		var err error
		switch s.side {
		case only1:
			b.zero(s)
		case only2:
			err = b.skip(s)
		default:
			err = b.step(s)
		}
		if err != nil {
			return inField(s.field, err)
		}
	}
	return nil
}

// take returns the next n bytes of the payload, the first of them aligned.
func (b *backward) take(align, n int) ([]byte, error) {
	start := b.pos + -b.pos&(align-1)
	if n < 0 || n > len(b.src)-start {
		return nil, errShort
	}
	b.pos = start + n
	return b.src[start:b.pos], nil
}

// length reads how many elements of at least so many bytes follow.
func (b *backward) length(least int) (int, error) {
	n, err := b.take(4, 4)
	if err != nil {
		return 0, err
	}
	return checkLength(le.Uint32(n), least, 0, len(b.src)-b.pos)
}

// elements reads a sequence of elements without padding.
func (b *backward) elements(s *step) (int, []byte, error) {
	n, err := b.length(s.size)
	if err != nil || n == 0 {
		return 0, nil, err
	}
	data, err := b.take(s.align, n*s.size)
	return n, data, err
}

// text reads a string, whose terminating NUL may be missing.
func (b *backward) text() ([]byte, error) {
	n, err := b.length(1)
	if err != nil {
		return nil, err
	}
	text, err := b.take(1, n)
	if n > 0 && err == nil && text[n-1] == 0 {
		text = text[:n-1]
	}
	return text, err
}

func (b *backward) step(s *step) error {
	switch s.kind {
	case stepCopy:
		data, err := b.take(s.align, s.size)
		if err != nil {
			return err
		}
		b.out = append(b.out, data...)
	case stepLevel:
		data, err := b.take(1, 1)
		if err != nil {
			return err
		}
		b.out = append(b.out, levels1[data[0]])
	case stepSequence:
		n, data, err := b.elements(s)
		if err != nil {
			return err
		}
		b.out = append(le.AppendUint32(b.out, uint32(n)), data...)
	case stepText:
		text, err := b.text()
		if err != nil {
			return err
		}
		b.out = append(le.AppendUint32(b.out, uint32(len(text))), text...)
	case stepWide:
		return b.wide()
	case stepArray:
		return b.repeat(s, s.n)
	case stepEach:
		n, err := b.length(s.least[1])
		if err != nil {
			return err
		}
		b.out = le.AppendUint32(b.out, uint32(n))
		return b.repeat(s, n)
	}
	return nil
}

func (b *backward) repeat(s *step, n int) error {
	for range n {
		if err := b.run(s.steps); err != nil {
			return err
		}
	}
	return nil
}

// wide turns a wstring into a string. Its units have four bytes each.
func (b *backward) wide() error {
	n, err := b.length(4)
	if err != nil {
		return err
	}
	units, err := b.take(4, 4*n)
	if err != nil {
		return err
	}
	b.out = le.AppendUint32(b.out, 0)
	start := len(b.out)
	for i := 0; i < len(units); i += 4 {
		r := rune(le.Uint32(units[i:]))
		if utf16.IsSurrogate(r) && i+8 <= len(units) {
			if pair := utf16.DecodeRune(r, rune(le.Uint32(units[i+4:]))); pair != utf8.RuneError {
				r, i = pair, i+4
			}
		}
		b.out = utf8.AppendRune(b.out, r)
	}
	le.PutUint32(b.out[start-4:], uint32(len(b.out)-start))
	return nil
}

// skip passes over what there is in ROS 2 alone.
func (b *backward) skip(s *step) error {
	var err error
	switch s.kind {
	case stepCopy:
		_, err = b.take(s.align, s.size)
	case stepSequence:
		_, _, err = b.elements(s)
	case stepText:
		_, err = b.text()
	case stepWide:
		end := len(b.out)
		err = b.wide()
		b.out = b.out[:end]
	case stepArray, stepEach:
		n := s.n
		if s.kind == stepEach {
			n, err = b.length(s.least[1])
		}
		for ; n > 0 && err == nil; n-- {
			for i := range s.steps {
				if err = b.skip(&s.steps[i]); err != nil {
					break
				}
			}
		}
	}
	return err
}

// zero appends zeros for what there is in ROS 1 alone.
func (b *backward) zero(s *step) {
	switch s.kind {
	case stepCopy:
		b.out = append(b.out, make([]byte, s.size)...)
	case stepArray:
		for range s.n {
			for i := range s.steps {
				b.zero(&s.steps[i])
			}
		}
	default:
		b.out = le.AppendUint32(b.out, 0)
	}
}
