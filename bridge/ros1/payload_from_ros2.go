package ros1

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// maxPadding is how many bytes may follow the last field: senders pad payloads.
const maxPadding = 7

// payloadFromROS2 makes payloads of ROS 1 of those of ROS 2.
type payloadFromROS2 struct {
	src []byte // behind the encapsulation header
	pos int
	out []byte

	lost uint64 // what of the payload there is not in out, by bits of steps
}

// fromCDR appends to dst, which is empty, what a payload of ROS 2 is in ROS 1. It returns what it had that is lost,
// too.
func fromCDR(dst, payload []byte, steps []step) ([]byte, uint64, error) {
	switch {
	case len(payload) < cdrHeader:
		return dst[:0], 0, fmt.Errorf("payload of %d bytes is too short for the 4-byte CDR header", len(payload))
	case payload[0] != 0 || payload[1] != 1:
		return dst[:0], 0, fmt.Errorf("CDR header % x; only little-endian plain CDR is understood", payload[:cdrHeader])
	}
	b := payloadFromROS2{src: payload[cdrHeader:], out: slices.Grow(dst[:0], len(payload)+64)}
	err := b.run(steps)
	if left := len(b.src) - b.pos; err == nil && left > maxPadding {
		err = fmt.Errorf("%d bytes are left behind the last field; the payload does not fit the definition", left)
	}
	return b.out, b.lost, err
}

func (b *payloadFromROS2) run(steps []step) error {
	for i := range steps {
		s := &steps[i]
		var err error
		switch s.side {
		case only1:
			b.zero(s)
		case only2:
			var had bool
			if had, err = b.skip(s); had {
				b.lost |= s.lost
			}
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
func (b *payloadFromROS2) take(align, n int) ([]byte, error) {
	start := b.pos + -b.pos&(align-1)
	if n < 0 || n > len(b.src)-start {
		return nil, errShort
	}
	b.pos = start + n
	return b.src[start:b.pos], nil
}

// length reads how many elements of at least so many bytes follow.
func (b *payloadFromROS2) length(least int) (int, error) {
	n, err := b.take(4, 4)
	if err != nil {
		return 0, err
	}
	return checkLength(le.Uint32(n), least, 0, len(b.src)-b.pos)
}

// elements reads a sequence of elements without padding.
func (b *payloadFromROS2) elements(s *step) (int, []byte, error) {
	n, err := b.length(s.size)
	if err != nil || n == 0 {
		return 0, nil, err
	}
	data, err := b.take(s.align, n*s.size)
	return n, data, err
}

// text reads a string, whose terminating NUL may be missing.
func (b *payloadFromROS2) text() ([]byte, error) {
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

func (b *payloadFromROS2) step(s *step) error {
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
		return b.wide(s)
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

func (b *payloadFromROS2) repeat(s *step, n int) error {
	for range n {
		if err := b.run(s.steps); err != nil {
			return err
		}
	}
	return nil
}

// wide turns a wstring into a string. Its units have four bytes each.
func (b *payloadFromROS2) wide(s *step) error {
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
		if !utf8.ValidRune(r) {
			b.lost |= s.lost
		}
		b.out = utf8.AppendRune(b.out, r)
	}
	le.PutUint32(b.out[start-4:], uint32(len(b.out)-start))
	return nil
}

// skip passes over what there is in ROS 2 alone, and reports whether it is something else than the default.
func (b *payloadFromROS2) skip(s *step) (had bool, err error) {
	var data []byte
	switch s.kind {
	case stepCopy:
		data, err = b.take(s.align, s.size)
		filled := min(len(s.fill), len(data))
		return !bytes.Equal(data[:filled], s.fill[:filled]) || set(data[filled:]), err
	case stepSequence:
		_, data, err = b.elements(s)
		return !bytes.Equal(data, s.fill), err
	case stepText:
		data, err = b.text()
		return !bytes.Equal(data, s.fill), err
	case stepWide:
		end := len(b.out)
		err = b.wide(s)
		had = !bytes.Equal(b.out[min(end+4, len(b.out)):], s.fill)
		b.out = b.out[:end]
	case stepArray, stepEach:
		n := s.n
		if s.kind == stepEach {
			n, err = b.length(s.least[1])
			had = n > 0
		}
		for ; n > 0 && err == nil; n-- {
			for i := range s.steps {
				var inner bool
				if inner, err = b.skip(&s.steps[i]); err != nil {
					break
				}
				had = had || inner
			}
		}
	}
	return had, err
}

// zero appends zeros for what there is in ROS 1 alone.
func (b *payloadFromROS2) zero(s *step) {
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
