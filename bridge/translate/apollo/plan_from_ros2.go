package apollo

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// encode decodes a ROS 2 message with d, and appends it to out in the encoding of Protocol Buffers.
func (p *plan) encode(out []byte, d *wire.Decoder) ([]byte, error) {
	if len(p.fields) == 0 {
		d.Uint8() // a ROS 2 message without fields has one byte
	}
	for i := range p.fields {
		f := &p.fields[i]
		var err error
		if f.Shape == rosidl.Single {
			out, err = f.encodeOne(out, d)
		} else {
			out, err = f.encodeAll(out, d)
		}
		if err == nil {
			err = d.Err()
		}
		if err != nil {
			return out, wire.InField(f.name, err)
		}
	}
	return out, nil
}

// encodePayload appends the translation of a whole payload.
func (p *plan) encodePayload(out []byte, d *wire.Decoder, payload []byte) ([]byte, error) {
	d.Reset(payload)
	err := d.Err()
	if err == nil {
		out, err = p.encode(out, d)
	}
	if err == nil {
		err = d.Finish()
	}
	if err != nil {
		err = fmt.Errorf("decode %s: %w", p.name, err)
	}
	return out, err
}

func (f *planField) encodeOne(out []byte, d *wire.Decoder) ([]byte, error) {
	switch f.Kind {
	case rosidl.Nested:
		return f.encodeMessage(out, d)
	case rosidl.String:
		text := d.Chars(f.StringBound)
		if f.optional && string(text) == f.text {
			return out, nil
		}
		return protowire.AppendBytes(protowire.AppendVarint(out, f.tag), text), nil
	case rosidl.WString:
		return protowire.AppendString(protowire.AppendVarint(out, f.tag), d.WString(f.StringBound)), nil
	}
	bits := f.readNumber(d)
	if f.optional && bits == f.bits {
		return out, nil
	}
	return f.appendNumber(protowire.AppendVarint(out, f.tag), bits), nil
}

func (f *planField) encodeMessage(out []byte, d *wire.Decoder) ([]byte, error) {
	before := len(out)
	out = protowire.AppendVarint(out, f.tag)
	if f.message.descriptor == nil {
		return protowire.AppendBytes(out, d.Raw(1, d.Length(1, 0))), nil
	}
	if f.wire != protowire.StartGroupType {
		out = append(out, 0)
	}
	start := len(out)
	out, err := f.message.encode(out, d)
	switch {
	case err != nil:
		return out, err
	case f.optional && len(out) == start:
		return out[:before], nil
	case f.wire == protowire.StartGroupType:
		return protowire.AppendVarint(out, f.tag&^7|uint64(protowire.EndGroupType)), nil
	}
	return closeLength(out, start), nil
}

// encodeAll appends an array or a sequence.
func (f *planField) encodeAll(out []byte, d *wire.Decoder) ([]byte, error) {
	n := f.Length
	if f.Shape == rosidl.Sequence {
		n = d.Length(f.elementSize(), f.Length)
	}
	switch {
	case f.raw:
		return append(out, d.Raw(1, n)...), nil
	case f.bytes:
		if f.optional && n == len(f.text) && string(d.Raw(1, n)) == f.text {
			return out, nil
		}
		return protowire.AppendBytes(protowire.AppendVarint(out, f.tag), d.Raw(1, n)), nil
	case n == 0:
		return out, nil
	case f.packed && f.hasEqualEncodings(d):
		data := d.Raw(f.width, n*f.width)
		return protowire.AppendBytes(protowire.AppendVarint(out, f.tag), data), nil
	case f.packed:
		out = append(protowire.AppendVarint(out, f.tag), 0)
		start := len(out)
		for ; n > 0 && d.Err() == nil; n-- {
			out = f.appendNumber(out, f.readNumber(d))
		}
		return closeLength(out, start), nil
	}
	for i := range n {
		var err error
		out, err = f.encodeOne(out, d)
		if err == nil {
			err = d.Err()
		}
		if err != nil {
			return out, wire.InField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return out, nil
}

// hasEqualEncodings reports whether the bytes of elements are equal in both encodings.
func (f *planField) hasEqualEncodings(d *wire.Decoder) bool {
	switch f.kind {
	case protoreflect.FloatKind, protoreflect.DoubleKind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind,
		protoreflect.Sfixed32Kind, protoreflect.Sfixed64Kind:
		return !d.BigEndian()
	}
	return false
}

// readNumber reads a number and returns its bits. Integers are sign-extended to 64 bits.
func (f *planField) readNumber(d *wire.Decoder) uint64 {
	switch f.Kind {
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

// appendNumber appends a number in the encoding of Protocol Buffers, without its tag.
func (f *planField) appendNumber(out []byte, bits uint64) []byte {
	switch f.kind {
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return binary.LittleEndian.AppendUint32(out, uint32(bits))
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return binary.LittleEndian.AppendUint64(out, bits)
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(out, protowire.EncodeZigZag(int64(bits)))
	}
	return protowire.AppendVarint(out, bits)
}
