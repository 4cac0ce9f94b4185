package apollo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// maxPadding is how many bytes may follow the last field of a payload: senders pad them.
const maxPadding = 7

// plan says how a message of ROS 2 and one of Protocol Buffers with the same fields become each other.
type plan struct {
	name  string // of the type of ROS 2
	steps []planStep
	least int  // fewest bytes that a payload takes
	bare  bool // is only the one field that it has, in Protocol Buffers
}

// planStep is a field of a plan, in the order of the definition.
type planStep struct {
	rosidl.Type
	name    string
	message *plan // of Nested
	number  protowire.Number
	tag     uint64            // with which it is encoded
	kind    protoreflect.Kind // of a number
	width   int               // of a number in ROS 2, in bytes
	bytes   bool              // an array or sequence that is one field of bytes
	raw     bool              // such a sequence, which holds encoded fields
	packed  bool              // numbers of an array or sequence
	group   bool

	// optional is not written when it has its default: bits of a number, or a text.
	optional bool
	bits     uint64
	text     string
}

// encode appends the message that d holds to out.
func (p *plan) encode(out []byte, d *wire.Decoder) ([]byte, error) {
	if len(p.steps) == 0 {
		d.Uint8() // a message has a byte at least
	}
	for i := range p.steps {
		s := &p.steps[i]
		var err error
		if s.Shape == rosidl.Single {
			out, err = s.encodeOne(out, d)
		} else {
			out, err = s.encodeAll(out, d)
		}
		if err == nil {
			err = d.Err()
		}
		if err != nil {
			return out, inField(s.name, err)
		}
	}
	return out, nil
}

// encodePayload appends what a whole payload becomes.
func (p *plan) encodePayload(out []byte, d *wire.Decoder, payload []byte) ([]byte, error) {
	d.Reset(payload)
	err := d.Err()
	if err == nil {
		out, err = p.encode(out, d)
	}
	if err == nil {
		err = d.Err() // of a message without fields
	}
	if err == nil && d.Remaining() > maxPadding {
		err = fmt.Errorf("%d bytes are left behind the last field; the payload does not fit the definition", d.Remaining())
	}
	if err != nil {
		err = fmt.Errorf("decode %s: %w", p.name, err)
	}
	return out, err
}

func (s *planStep) encodeOne(out []byte, d *wire.Decoder) ([]byte, error) {
	switch s.Kind {
	case rosidl.Nested:
		return s.encodeMessage(out, d)
	case rosidl.String:
		text := d.Chars(s.StringBound)
		if s.optional && string(text) == s.text {
			return out, nil
		}
		return protowire.AppendBytes(protowire.AppendVarint(out, s.tag), text), nil
	case rosidl.WString:
		return protowire.AppendString(protowire.AppendVarint(out, s.tag), d.WString(s.StringBound)), nil
	}
	bits := s.take(d)
	if s.optional && bits == s.bits {
		return out, nil
	}
	return s.appendNumber(protowire.AppendVarint(out, s.tag), bits), nil
}

func (s *planStep) encodeMessage(out []byte, d *wire.Decoder) ([]byte, error) {
	before := len(out)
	out = protowire.AppendVarint(out, s.tag)
	if s.message.bare {
		return protowire.AppendBytes(out, d.Raw(1, d.Length(1, 0))), nil
	}
	if !s.group {
		out = append(out, 0)
	}
	start := len(out)
	out, err := s.message.encode(out, d)
	switch {
	case err != nil:
		return out, err
	case s.optional && len(out) == start:
		return out[:before], nil
	case s.group:
		return protowire.AppendVarint(out, s.tag&^7|uint64(protowire.EndGroupType)), nil
	}
	return closeLength(out, start), nil
}

// encodeAll appends an array or a sequence.
func (s *planStep) encodeAll(out []byte, d *wire.Decoder) ([]byte, error) {
	n := s.Length
	if s.Shape == rosidl.Sequence {
		n = d.Length(s.least(), s.Length)
	}
	switch {
	case s.raw:
		return append(out, d.Raw(1, n)...), nil
	case s.bytes:
		if s.optional && n == len(s.text) && string(d.Raw(1, n)) == s.text {
			return out, nil
		}
		return protowire.AppendBytes(protowire.AppendVarint(out, s.tag), d.Raw(1, n)), nil
	case n == 0:
		return out, nil
	case s.packed && s.flat(d):
		data := d.Raw(s.width, n*s.width)
		return protowire.AppendBytes(protowire.AppendVarint(out, s.tag), data), nil
	case s.packed:
		out = append(protowire.AppendVarint(out, s.tag), 0)
		start := len(out)
		for ; n > 0 && d.Err() == nil; n-- {
			out = s.appendNumber(out, s.take(d))
		}
		return closeLength(out, start), nil
	}
	for i := range n {
		var err error
		if out, err = s.encodeOne(out, d); err == nil {
			err = d.Err()
		}
		if err != nil {
			return out, inField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return out, nil
}

// least returns the fewest bytes of ROS 2 that an element takes.
func (s *planStep) least() int {
	switch {
	case s.Kind == rosidl.Nested:
		return s.message.least
	case s.width > 0:
		return s.width
	}
	return 4
}

// flat says whether elements are in both encodings the same bytes.
func (s *planStep) flat(d *wire.Decoder) bool {
	switch s.kind {
	case protoreflect.FloatKind, protoreflect.DoubleKind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind,
		protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind:
		return !d.BigEndian()
	}
	return false
}

// take reads a number as its bits: integers as 64 of them, with their sign.
func (s *planStep) take(d *wire.Decoder) uint64 {
	switch s.Kind {
	case rosidl.Bool:
		if d.Bool() {
			return 1
		}
		return 0
	case rosidl.Int8:
		return uint64(d.Int8())
	case rosidl.Byte, rosidl.Char, rosidl.Uint8:
		return uint64(d.Uint8())
	case rosidl.Int16:
		return uint64(d.Int16())
	case rosidl.Uint16:
		return uint64(d.Uint16())
	case rosidl.Int32:
		return uint64(d.Int32())
	case rosidl.Uint32, rosidl.Float32:
		return uint64(d.Uint32())
	}
	return d.Uint64()
}

// appendNumber appends a number as Protocol Buffers has it, without its tag.
func (s *planStep) appendNumber(out []byte, bits uint64) []byte {
	switch s.kind {
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return binary.LittleEndian.AppendUint32(out, uint32(bits))
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return binary.LittleEndian.AppendUint64(out, bits)
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(out, protowire.EncodeZigZag(int64(bits)))
	}
	return protowire.AppendVarint(out, bits)
}

// inField puts a name, of a field or "[index]", in front of the path of err.
func inField(name string, err error) error {
	var inner *fieldError
	if !errors.As(err, &inner) {
		return &fieldError{name, err}
	}
	if !strings.HasPrefix(inner.path, "[") {
		name += "."
	}
	return &fieldError{name + inner.path, inner.err}
}

// fieldError is an error at the field that path leads to.
type fieldError struct {
	path string
	err  error
}

func (e *fieldError) Error() string { return e.path + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }
