package apollo

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// slot is where the value of a field lies.
type slot struct {
	bits  uint64 // of a number
	at, n int    // of anything else: its place in the encoded message and its length; of a list, the place of the first tag
	count int    // how often it occurs
}

// maxGrowth is how much longer a payload may be than the encoded message, in bytes. Only what is made to be so is.
const maxGrowth = 256 << 20

// formEncoder encodes messages of Protocol Buffers as the messages of their forms, without decoding them in between.
type formEncoder struct {
	wire.Encoder
	origin  int    // of alignment
	slots   []slot // of the message and those around it
	limit   int    // of the payload
	unknown func(*form)
}

// append appends the payload of an encoded message. unknown is called for each field that its form does not have.
func (e *formEncoder) append(dst []byte, f *form, message []byte, unknown func(*form)) ([]byte, error) {
	e.Reset(dst)
	e.origin, e.limit = len(dst)+wire.HeaderSize, len(dst)+len(message)+maxGrowth
	e.slots, e.unknown = e.slots[:0], unknown
	err := e.message(f, message)
	payload := e.Bytes()
	e.Continue(nil)
	return payload, err
}

// blankOf returns the payload of a message with nothing set that begins at an offset.
func blankOf(f *form, offset int) ([]byte, error) {
	var e formEncoder
	e.Reset(nil)
	e.origin, e.limit = wire.HeaderSize, maxGrowth
	for range offset {
		e.Uint8(0)
	}
	err := e.message(f, nil)
	return e.Bytes()[wire.HeaderSize+offset:], err
}

func (e *formEncoder) message(f *form, b []byte) error {
	if len(f.fields) == 0 {
		e.Uint8(0) // a message has a byte at least
	}
	base := len(e.slots)
	e.slots = append(e.slots, f.unset...)
	if err := e.scan(f, e.slots[base:], b); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	for i := range f.fields {
		if err := e.field(&f.fields[i], e.slots[base+i], b); err != nil {
			return err
		}
	}
	e.slots = e.slots[:base]
	if len(e.Bytes()) > e.limit {
		return fmt.Errorf("with all that is not set, it takes more than %d bytes", len(e.Bytes()))
	}
	return e.Err()
}

// scan finds where the fields lie.
func (e *formEncoder) scan(f *form, slots []slot, b []byte) error {
	for at := 0; at < len(b); {
		number, kind, n := protowire.ConsumeTag(b[at:])
		if n < 0 {
			return fmt.Errorf("byte %d: %w", at, protowire.ParseError(n))
		}
		field := f.field(number)
		value := b[at+n:]
		if field == nil || !field.takes(kind) {
			size := protowire.ConsumeFieldValue(number, kind, value)
			if size < 0 {
				return fmt.Errorf("byte %d: %w", at, protowire.ParseError(size))
			}
			e.unknown(f)
			at += n + size
			continue
		}
		s := &slots[field.index]
		bits, content, size := consume(number, kind, value)
		if size < 0 {
			return fmt.Errorf("byte %d: %w", at, protowire.ParseError(size))
		}
		for _, rival := range field.rivals {
			slots[rival] = f.unset[rival]
		}
		s.count++
		switch {
		case field.list || field.raw:
			if s.count == 1 {
				s.at = at
			}
		case field.width > 0:
			s.bits = field.convert(bits)
		case kind == protowire.StartGroupType:
			s.at, s.n = at+n, len(content)
		default:
			s.at, s.n = at+n+size-len(content), len(content)
		}
		at += n + size
	}
	return nil
}

// takes says whether the field is encoded that way. Numbers of a list may be packed.
func (field *formField) takes(kind protowire.Type) bool {
	return kind == field.wire || kind == protowire.BytesType && field.list && field.width > 0
}

// consume returns a number, or the content of anything else, and how many bytes that takes behind the tag, negative for an error.
func consume(number protowire.Number, kind protowire.Type, b []byte) (bits uint64, content []byte, size int) {
	switch kind {
	case protowire.VarintType:
		bits, size = protowire.ConsumeVarint(b)
	case protowire.Fixed32Type:
		var v uint32
		v, size = protowire.ConsumeFixed32(b)
		bits = uint64(v)
	case protowire.Fixed64Type:
		bits, size = protowire.ConsumeFixed64(b)
	case protowire.BytesType:
		content, size = protowire.ConsumeBytes(b)
	default:
		content, size = protowire.ConsumeGroup(number, b)
	}
	return bits, content, size
}

// convert makes a number of its encoding.
func (field *formField) convert(bits uint64) uint64 {
	switch field.descriptor.Kind() {
	case protoreflect.BoolKind:
		return min(bits, 1)
	case protoreflect.Sint32Kind:
		return uint64(protowire.DecodeZigZag(bits & math.MaxUint32))
	case protoreflect.Sint64Kind:
		return uint64(protowire.DecodeZigZag(bits))
	}
	return bits
}

// field appends a field of the encoded message b.
func (e *formEncoder) field(field *formField, s slot, b []byte) error {
	switch {
	case field.list:
		return e.list(field, s, b)
	case field.width > 0:
		e.number(field.width, s.bits)
		return nil
	case field.kind == rosidl.Nested && s.count == 0:
		wire.EncodeArray(&e.Encoder, field.form.blank[(len(e.Bytes())-e.origin)%8])
		return nil
	case field.kind == rosidl.Nested && s.count == 1:
		return e.message(field.form, b[s.at:s.at+s.n])
	case field.kind == rosidl.Nested:
		all, err := merged(field, s, b)
		if err != nil {
			return err
		}
		return e.message(field.form, all)
	}
	value := field.fallback
	switch {
	case field.raw:
		value = encoded(field, s, b)
	case s.count > 0:
		value = b[s.at : s.at+s.n]
	}
	e.bytes(field.kind, value)
	return nil
}

func (e *formEncoder) number(width int, bits uint64) {
	switch width {
	case 1:
		e.Uint8(uint8(bits))
	case 4:
		e.Uint32(uint32(bits))
	default:
		e.Uint64(bits)
	}
}

func (e *formEncoder) bytes(kind rosidl.Kind, b []byte) {
	if kind != rosidl.String {
		wire.EncodeSequence(&e.Encoder, b, 0)
		return
	}
	e.Length(len(b)+1, 0)
	wire.EncodeArray(&e.Encoder, b)
	e.Uint8(0)
}

// list appends a list, and its length when that is known.
func (e *formEncoder) list(field *formField, s slot, b []byte) error {
	e.Uint32(0)
	at, length := len(e.Bytes())-4, 0
	for o := (occurrences{field, b, s.at, s.count}); o.next(); {
		_, kind, bits, content := o.one()
		switch {
		case field.width > 0 && kind == protowire.BytesType:
			n, err := e.packed(field, content)
			if err != nil {
				return err
			}
			length += n
			continue
		case field.width > 0:
			e.number(field.width, field.convert(bits))
		case field.kind == rosidl.String:
			e.bytes(field.kind, content)
		case field.descriptor.Kind() == protoreflect.BytesKind:
			e.bytes(rosidl.Uint8, content)
		default:
			if err := e.message(field.form, content); err != nil {
				return fmt.Errorf("%s[%d]: %w", field.name, length, err)
			}
		}
		length++
	}
	binary.LittleEndian.PutUint32(e.Bytes()[at:], uint32(length))
	return nil
}

// packed appends numbers of a list that are encoded together.
func (e *formEncoder) packed(field *formField, b []byte) (length int, err error) {
	for ; len(b) > 0; length++ {
		bits, _, n := consume(0, field.wire, b)
		if n < 0 {
			return 0, fmt.Errorf("%s[%d]: %w", field.name, length, protowire.ParseError(n))
		}
		e.number(field.width, field.convert(bits))
		b = b[n:]
	}
	return length, nil
}

// occurrences goes through those of a field in a message that has been scanned.
type occurrences struct {
	field    *formField
	b        []byte
	at, left int
}

// next goes to the next one.
func (o *occurrences) next() bool {
	if o.left == 0 {
		return false
	}
	o.left--
	for {
		number, kind, n := protowire.ConsumeTag(o.b[o.at:])
		if number == o.field.descriptor.Number() && o.field.takes(kind) {
			return true
		}
		o.at += n + protowire.ConsumeFieldValue(number, kind, o.b[o.at+n:])
	}
}

// one returns the occurrence: all of it with its tag, and its value.
func (o *occurrences) one() (whole []byte, kind protowire.Type, bits uint64, content []byte) {
	number, kind, n := protowire.ConsumeTag(o.b[o.at:])
	bits, content, size := consume(number, kind, o.b[o.at+n:])
	whole = o.b[o.at : o.at+n+size]
	o.at += len(whole)
	return whole, kind, bits, content
}

// merged returns the content of a message that is in parts, each of which is a message.
func merged(field *formField, s slot, b []byte) ([]byte, error) {
	var all []byte
	for o := (occurrences{field, b, 0, s.count}); o.next(); {
		_, _, _, content := o.one()
		all = append(all, content...)
		for len(content) > 0 {
			_, _, n := protowire.ConsumeField(content)
			if n < 0 {
				return nil, fmt.Errorf("%s: %w", field.name, protowire.ParseError(n))
			}
			content = content[n:]
		}
	}
	return all, nil
}

// encoded returns all occurrences of a field as they are, one behind the other.
func encoded(field *formField, s slot, b []byte) []byte {
	var all []byte
	for o := (occurrences{field, b, s.at, s.count}); o.next(); {
		whole, _, _, _ := o.one()
		all = append(all, whole...)
	}
	return all
}
