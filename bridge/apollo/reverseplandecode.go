package apollo

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// maxPayload bounds what is made of a message that has little set, in bytes.
const maxPayload = 1 << 30

// decodePayload encodes with e the payload that a message of Protocol Buffers is in ROS 2. The message is one that encodePayload
// has written, or another program has by the same description.
func (p *plan) decodePayload(e *wire.Encoder, message []byte) error {
	err := p.decode(e, message)
	if err == nil {
		err = e.Err()
	}
	if err != nil {
		err = fmt.Errorf("encode %s: %w", p.name, err)
	}
	return err
}

func (p *plan) decode(e *wire.Encoder, b []byte) error {
	if len(p.steps) == 0 {
		e.Uint8(0) // a message has a byte at least
	}
	if len(e.Bytes()) > maxPayload {
		return fmt.Errorf("it takes more than %d bytes", maxPayload)
	}
	b, err := p.inOrder(b)
	if err != nil {
		return err
	}
	for i := range p.steps {
		s := &p.steps[i]
		n := s.occurrences(b)
		if s.Shape == rosidl.Single || s.bytes {
			err = s.decodeOne(e, b[:n])
		} else {
			err = s.decodeAll(e, b[:n])
		}
		if err == nil {
			err = e.Err()
		}
		if err != nil {
			return inField(s.name, err)
		}
		b = b[n:]
	}
	return nil
}

// inOrder returns an encoded message with its fields in the order of the plan, and no others. It is b itself if they are.
func (p *plan) inOrder(b []byte) ([]byte, error) {
	next := 0
	ordered := true
	for at := 0; at < len(b); {
		number, kind, n := protowire.ConsumeTag(b[at:])
		if n < 0 {
			return nil, fmt.Errorf("byte %d: %w", at, protowire.ParseError(n))
		}
		size := protowire.ConsumeFieldValue(number, kind, b[at+n:])
		if size < 0 {
			return nil, fmt.Errorf("byte %d: %w", at, protowire.ParseError(size))
		}
		for next < len(p.steps) && p.steps[next].number < number {
			next++
		}
		ordered = ordered && next < len(p.steps) && p.steps[next].number == number
		if ordered && (p.steps[next].Shape == rosidl.Single || p.steps[next].bytes) {
			next++ // it comes once
		}
		at += n + size
	}
	if ordered {
		return b, nil
	}
	return p.sorted(b), nil
}

// sorted puts the fields of a well-formed message in order. Of what comes several times but should once the last counts, and
// messages are merged, as Protocol Buffers wants it.
func (p *plan) sorted(b []byte) []byte {
	var out []byte
	for i := range p.steps {
		s := &p.steps[i]
		start := len(out)
		var merged []byte
		for rest := b; len(rest) > 0; {
			number, kind, n := protowire.ConsumeTag(rest)
			size := n + protowire.ConsumeFieldValue(number, kind, rest[n:])
			if number == s.number {
				if s.Shape == rosidl.Single || s.bytes {
					out = out[:start]
				}
				out = append(out, rest[:size]...)
				if s.Shape == rosidl.Single && s.Kind == rosidl.Nested && kind == protowire.BytesType {
					content, _ := protowire.ConsumeBytes(rest[n:])
					merged = append(merged, content...)
					out = protowire.AppendBytes(protowire.AppendVarint(out[:start], s.tag), merged)
				}
			}
			rest = rest[size:]
		}
	}
	return out
}

// occurrences returns how many bytes the field takes at the beginning of a message that is well-formed and in order.
func (s *planStep) occurrences(b []byte) (n int) {
	for n < len(b) {
		number, kind, tag := protowire.ConsumeTag(b[n:])
		if number != s.number {
			break
		}
		n += tag + protowire.ConsumeFieldValue(number, kind, b[n+tag:])
	}
	return n
}

// value returns the value of an encoded field, the bits of a number or the content of anything else, and what follows. b is
// well-formed. Numbers of an array or sequence may be encoded together or one by one, however they are described.
func (s *planStep) value(b []byte) (bits uint64, content, rest []byte, err error) {
	number, kind, n := protowire.ConsumeTag(b)
	rest = b[n+protowire.ConsumeFieldValue(number, kind, b[n:]):]
	list := s.Shape != rosidl.Single && !s.bytes
	switch {
	case kind == protowire.BytesType && (s.width == 0 || s.bytes || list):
		content, _ = protowire.ConsumeBytes(b[n:])
		return 0, content, rest, nil
	case s.width > 0 && !s.bytes && kind == s.numberType():
		bits, _ = s.bitsOf(b[n:])
		return bits, nil, rest, nil
	}
	return 0, nil, nil, fmt.Errorf("wire type %d is not that of the field", kind)
}

// numberType returns how a number is encoded when it stands alone.
func (s *planStep) numberType() protowire.Type {
	switch s.Kind {
	case rosidl.Float32:
		return protowire.Fixed32Type
	case rosidl.Float64:
		return protowire.Fixed64Type
	}
	return protowire.VarintType
}

// bitsOf returns the number that b begins with, and how many bytes it takes, negative for an error.
func (s *planStep) bitsOf(b []byte) (bits uint64, n int) {
	switch s.numberType() {
	case protowire.Fixed32Type:
		v, n := protowire.ConsumeFixed32(b)
		return uint64(v), n
	case protowire.Fixed64Type:
		return protowire.ConsumeFixed64(b)
	}
	return protowire.ConsumeVarint(b)
}

// decodeOne appends a value, which is zero if own is empty.
func (s *planStep) decodeOne(e *wire.Encoder, own []byte) error {
	var bits uint64
	var content []byte
	if len(own) > 0 {
		var err error
		if bits, content, _, err = s.value(own); err != nil {
			return err
		}
	}
	return s.put(e, bits, content)
}

func (s *planStep) put(e *wire.Encoder, bits uint64, content []byte) error {
	switch {
	case s.bytes:
		return s.putBytes(e, content)
	case s.width > 0:
		return s.putNumber(e, bits)
	case s.Kind == rosidl.Nested:
		return s.message.decode(e, content)
	case s.Kind == rosidl.WString:
		e.WString(string(content), s.StringBound)
		return nil
	}
	if s.StringBound > 0 && len(content) > s.StringBound {
		return fmt.Errorf("string of %d bytes, but at most %d are allowed", len(content), s.StringBound)
	}
	e.Length(len(content)+1, 0)
	wire.EncodeArray(e, content)
	e.Uint8(0)
	return nil
}

func (s *planStep) putBytes(e *wire.Encoder, content []byte) error {
	if s.Shape == rosidl.Sequence {
		wire.EncodeSequence(e, content, s.Length)
		return nil
	}
	if len(content) > s.Length {
		return fmt.Errorf("%d bytes, but the array has %d", len(content), s.Length)
	}
	wire.EncodeArray(e, content)
	for range s.Length - len(content) {
		e.Uint8(0)
	}
	return nil
}

func (s *planStep) putNumber(e *wire.Encoder, bits uint64) error {
	v, fits := int64(bits), true
	switch s.Kind {
	case rosidl.Bool:
		e.Bool(bits != 0)
	case rosidl.Int8:
		fits = v == int64(int8(v))
		e.Int8(int8(v))
	case rosidl.Byte, rosidl.Char, rosidl.Uint8:
		fits = bits <= math.MaxUint8
		e.Uint8(uint8(bits))
	case rosidl.Int16:
		fits = v == int64(int16(v))
		e.Int16(int16(v))
	case rosidl.Uint16:
		fits = bits <= math.MaxUint16
		e.Uint16(uint16(bits))
	case rosidl.Int32, rosidl.Uint32, rosidl.Float32:
		e.Uint32(uint32(bits))
	default:
		e.Uint64(bits)
	}
	if !fits {
		return fmt.Errorf("%d is too large for %d bytes", v, s.width)
	}
	return nil
}

// decodeAll appends the elements of an array or a sequence.
func (s *planStep) decodeAll(e *wire.Encoder, own []byte) error {
	at, count := 0, 0
	if s.Shape == rosidl.Sequence {
		e.Uint32(0)
		at = len(e.Bytes()) - 4
	}
	for len(own) > 0 {
		bits, content, rest, err := s.value(own)
		if err != nil {
			return err
		}
		own = rest
		if s.width == 0 || content == nil {
			if err := s.put(e, bits, content); err != nil {
				return inField(fmt.Sprintf("[%d]", count), err)
			}
			count++
			continue
		}
		n, err := s.unpack(e, content)
		if err != nil {
			return err
		}
		count += n
	}
	switch {
	case s.Length > 0 && count > s.Length || s.Shape == rosidl.Array && count > s.Length:
		return fmt.Errorf("%d elements, but at most %d are allowed", count, s.Length)
	case s.Shape == rosidl.Sequence:
		binary.LittleEndian.PutUint32(e.Bytes()[at:], uint32(count))
		return nil
	}
	for ; count < s.Length; count++ {
		if err := s.put(e, 0, nil); err != nil {
			return err
		}
	}
	return nil
}

// unpack appends numbers that are encoded together.
func (s *planStep) unpack(e *wire.Encoder, b []byte) (count int, err error) {
	switch size := s.width; {
	case len(b) == 0 || s.numberType() == protowire.VarintType:
	case len(b)%size != 0:
		return 0, fmt.Errorf("%d bytes are no numbers of %d", len(b), size)
	default:
		e.Raw(size, b)
		return len(b) / size, nil
	}
	for ; len(b) > 0; count++ {
		bits, n := s.bitsOf(b)
		if n < 0 {
			return 0, inField(fmt.Sprintf("[%d]", count), protowire.ParseError(n))
		}
		if err := s.putNumber(e, bits); err != nil {
			return 0, inField(fmt.Sprintf("[%d]", count), err)
		}
		b = b[n:]
	}
	return count, nil
}
