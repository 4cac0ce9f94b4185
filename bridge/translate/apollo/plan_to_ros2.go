package apollo

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// slot is the value of a field, or its place in the encoded message.
type slot struct {
	bits  uint64 // bits of a number
	at, n int    // offset and length of any other value; at is the offset of the first tag of a list
	count int    // number of occurrences
}

// maxGrowth is the number of bytes by which a payload may be longer than the encoded message. Only malicious messages
// need more.
const maxGrowth = 256 << 20

// planEncoder encodes messages of Protocol Buffers as ROS 2 messages in one pass.
type planEncoder struct {
	wire.Encoder
	origin  int         // offset from which alignment counts
	slots   []slot      // slots of the current message and of the messages that contain it
	limit   int         // largest length of the payload
	unknown func(*plan) // see append
}

// append appends the payload of an encoded message. unknown is called for each field that the plan does not have, or
// has with another kind. If unknown is nil, a field that the plan does not have is ignored, and a field with another
// kind is an error.
func (e *planEncoder) append(dst []byte, p *plan, message []byte, unknown func(*plan)) ([]byte, error) {
	e.Reset(dst)
	e.origin, e.limit = len(dst)+wire.HeaderSize, len(dst)+len(message)+maxGrowth
	e.slots, e.unknown = e.slots[:0], unknown
	err := e.message(p, message)
	if err != nil {
		err = fmt.Errorf("encode %s: %w", p.name, err)
	}
	payload := e.Bytes()
	e.Continue(nil)
	return payload, err
}

// blankOf returns the encoding of a message with no field set. offset is the message's offset in the payload.
func blankOf(p *plan, offset int) ([]byte, error) {
	var e planEncoder
	e.Reset(nil)
	e.origin, e.limit = wire.HeaderSize, maxGrowth
	for range offset {
		e.Uint8(0)
	}
	err := e.message(p, nil)
	return e.Bytes()[wire.HeaderSize+offset:], err
}

func (e *planEncoder) message(p *plan, b []byte) error {
	if len(p.fields) == 0 {
		e.Uint8(0) // an empty message takes a byte
	}
	base := len(e.slots)
	e.slots = append(e.slots, p.unset...)
	if err := p.scan(e.slots[base:], b, e.unknown); err != nil {
		return err
	}
	for i := range p.fields {
		if err := e.field(&p.fields[i], e.slots[base+i], b); err != nil {
			return wire.InField(p.fields[i].name, err)
		}
	}
	e.slots = e.slots[:base]
	if len(e.Bytes()) > e.limit {
		return fmt.Errorf("with all that is not set, it takes more than %d bytes", len(e.Bytes()))
	}
	return e.Err()
}

// scan sets the slots of the fields of an encoded message. slots must be a copy of p.unset. See planEncoder.append for
// unknown.
func (p *plan) scan(slots []slot, b []byte, unknown func(*plan)) error {
	for at := 0; at < len(b); {
		number, kind, n := consumeTag(b[at:])
		if n < 0 {
			return fmt.Errorf("byte %d: %w", at, parseError(n))
		}
		field := p.byNumber.get(number)
		value := b[at+n:]
		if field == nil || !field.accepts(kind) {
			size := protowire.ConsumeFieldValue(number, kind, value)
			if size < 0 {
				return fmt.Errorf("byte %d: %w", at, parseError(size))
			}
			switch {
			case unknown != nil:
				unknown(p)
			case field != nil:
				return wire.InField(field.name, fmt.Errorf("the field cannot have wire type %d", kind))
			}
			at += n + size
			continue
		}
		s := &slots[field.index]
		bits, content, size := consume(number, kind, value)
		if size < 0 {
			return fmt.Errorf("byte %d: %w", at, parseError(size))
		}
		for _, rival := range field.rivals {
			slots[rival] = p.unset[rival]
		}
		s.count++
		switch {
		case field.list || field.raw:
			if s.count == 1 {
				s.at = at
			}
		case field.width > 0:
			s.bits = field.decode(bits)
		case kind == protowire.StartGroupType:
			s.at, s.n = at+n, len(content)
		default:
			s.at, s.n = at+n+size-len(content), len(content)
		}
		at += n + size
	}
	return nil
}

// consume returns the bits of a number, or the content of any other field. size is the size of the encoded value
// without its tag; it is negative for an error.
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

// decode decodes the bits of an encoded number. Integers are sign-extended to 64 bits.
func (f *planField) decode(bits uint64) uint64 {
	switch f.kind {
	case protoreflect.Sint32Kind:
		return uint64(protowire.DecodeZigZag(bits & math.MaxUint32))
	case protoreflect.Sint64Kind:
		return uint64(protowire.DecodeZigZag(bits))
	}
	return bits
}

// field appends a field of the encoded message b.
func (e *planEncoder) field(f *planField, s slot, b []byte) error {
	switch {
	case f.list:
		return e.list(f, s, b)
	case f.raw:
		return e.value(f, 0, joinOccurrences(f, s, b))
	case f.width > 0:
		return e.number(f, s.bits)
	case s.count == 0 && f.Kind == rosidl.Nested && f.message.blank[0] != nil:
		wire.EncodeArray(&e.Encoder, f.message.blank[(len(e.Bytes())-e.origin)%8])
		return nil
	case s.count == 0:
		return e.value(f, 0, []byte(f.text))
	case s.count > 1 && f.Kind == rosidl.Nested:
		content, err := mergeOccurrences(f, s, b)
		if err != nil {
			return err
		}
		return e.message(f.message, content)
	}
	return e.value(f, 0, b[s.at:s.at+s.n])
}

// value appends a single field or an element of a list: a number by its bits, anything else by its content.
func (e *planEncoder) value(f *planField, bits uint64, content []byte) error {
	switch {
	case f.bytes && f.Shape == rosidl.Array:
		if len(content) > f.Length {
			return fmt.Errorf("%s, but the array has %d", plural.Count(len(content), "byte"), f.Length)
		}
		wire.EncodeArray(&e.Encoder, content)
		wire.EncodeArray(&e.Encoder, make([]byte, f.Length-len(content)))
	case f.bytes:
		wire.EncodeSequence(&e.Encoder, content, f.Length)
	case f.width > 0:
		return e.number(f, bits)
	case f.Kind == rosidl.Nested && f.message.descriptor == nil:
		wire.EncodeSequence(&e.Encoder, content, 0)
	case f.Kind == rosidl.Nested:
		return e.message(f.message, content)
	case f.Kind == rosidl.WString:
		e.WString(string(content), f.StringBound)
	default:
		if f.StringBound > 0 && len(content) > f.StringBound {
			return fmt.Errorf("string of %s, but at most %d are allowed", plural.Count(len(content), "byte"),
				f.StringBound)
		}
		e.Length(len(content)+1, 0)
		wire.EncodeArray(&e.Encoder, content)
		e.Uint8(0)
	}
	return e.Err()
}

func (e *planEncoder) number(f *planField, bits uint64) error {
	v, fits := int64(bits), true
	switch f.Kind {
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
		return fmt.Errorf("%d is too large for %s", v, plural.Count(f.width, "byte"))
	}
	return nil
}

// list appends the elements of an array or a sequence.
func (e *planEncoder) list(f *planField, s slot, b []byte) error {
	at, length := 0, 0
	if f.Shape == rosidl.Sequence {
		e.Uint32(0)
		at = len(e.Bytes()) - 4
	}
	for o := (occurrences{f, b, s.at, s.count}); o.next(); {
		_, kind, bits, content := o.read()
		if f.width > 0 && kind == protowire.BytesType {
			n, err := e.packed(f, content)
			if err != nil {
				return err
			}
			length += n
			continue
		}
		if err := e.value(f, f.decode(bits), content); err != nil {
			return wire.InField(fmt.Sprintf("[%d]", length), err)
		}
		length++
	}
	switch {
	case (f.Length > 0 || f.Shape == rosidl.Array) && length > f.Length:
		return fmt.Errorf("%s, but at most %d are allowed", plural.Count(length, "element"), f.Length)
	case f.Shape == rosidl.Sequence:
		binary.LittleEndian.PutUint32(e.Bytes()[at:], uint32(length))
		return nil
	}
	for ; length < f.Length; length++ {
		if err := e.value(f, 0, nil); err != nil {
			return err
		}
	}
	return nil
}

// packed appends numbers of a list that are encoded together.
func (e *planEncoder) packed(f *planField, b []byte) (length int, err error) {
	if len(b) > 0 && f.wire != protowire.VarintType {
		if len(b)%f.width != 0 {
			return 0, fmt.Errorf("%s cannot be numbers of %d", plural.Count(len(b), "byte"), f.width)
		}
		e.Raw(f.width, b)
		return len(b) / f.width, nil
	}
	for ; len(b) > 0; length++ {
		bits, n := protowire.ConsumeVarint(b)
		err := parseError(n)
		if n >= 0 {
			err = e.number(f, f.decode(bits))
		}
		if err != nil {
			return 0, wire.InField(fmt.Sprintf("[%d]", length), err)
		}
		b = b[n:]
	}
	return length, nil
}

// occurrences iterates over the occurrences of a field in a scanned message.
type occurrences struct {
	field *planField
	b     []byte
	at    int // offset of the next occurrence or of a field before it
	left  int // number of remaining occurrences
}

// next moves to the next occurrence. It returns false if there is none.
func (o *occurrences) next() bool {
	if o.left == 0 {
		return false
	}
	o.left--
	for {
		number, kind, n := consumeTag(o.b[o.at:])
		if number == o.field.number && o.field.accepts(kind) {
			return true
		}
		o.at += n + protowire.ConsumeFieldValue(number, kind, o.b[o.at+n:])
	}
}

// read returns the current occurrence and moves behind it. encoded is the field with its tag. bits or content is
// the value of the field.
func (o *occurrences) read() (encoded []byte, kind protowire.Type, bits uint64, content []byte) {
	number, kind, n := consumeTag(o.b[o.at:])
	bits, content, size := consume(number, kind, o.b[o.at+n:])
	encoded = o.b[o.at : o.at+n+size]
	o.at += len(encoded)
	return encoded, kind, bits, content
}

// mergeOccurrences concatenates the occurrences of a message field. Each occurrence must be a valid message.
func mergeOccurrences(field *planField, s slot, b []byte) ([]byte, error) {
	var message []byte
	for o := (occurrences{field, b, 0, s.count}); o.next(); {
		_, _, _, content := o.read()
		message = append(message, content...)
		for len(content) > 0 {
			_, _, n := protowire.ConsumeField(content)
			if n < 0 {
				return nil, fmt.Errorf("%s: %w", field.name, parseError(n))
			}
			content = content[n:]
		}
	}
	return message, nil
}

// joinOccurrences returns all encoded occurrences of a field.
func joinOccurrences(field *planField, s slot, b []byte) []byte {
	var fields []byte
	for o := (occurrences{field, b, s.at, s.count}); o.next(); {
		encoded, _, _, _ := o.read()
		fields = append(fields, encoded...)
	}
	return fields
}
