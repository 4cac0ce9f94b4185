package apollo

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
)

// plan describes the translation between a ROS 2 type and a Protocol Buffers type with equal fields. Either the ROS
// 2 type is generated from the Protocol Buffers type (describe), or record.Describe generates the Protocol Buffers type
// from the ROS 2 type (planOf).
type plan struct {
	name string // name of the ROS 2 type, "apollo_planning/msg/ADCTrajectory"
	// descriptor is nil for an element of a list of byte strings, which is not a message in Protocol Buffers.
	descriptor protoreflect.MessageDescriptor
	fields     []planField // in the order of the definition
	least      int         // smallest size of the message in a ROS 2 payload, in bytes

	byNumber byNumber[planField]
	unset    []slot    // slots of the fields if no field is set
	blank    [8][]byte // message with no field set, by its offset modulo 8 in the payload; nil before encodeBlanks
	open     bool      // fields are being added
}

// planField is a field of a plan.
type planField struct {
	rosidl.Type
	name      string // name in ROS 2
	protoName string // name in Protocol Buffers
	message   *plan  // plan of the field's messages; nil unless Kind is Nested
	index     int    // index in plan.fields
	width     int    // size of a number in ROS 2, in bytes; 0 for other fields, and if bytes is set
	list      bool   // an array or sequence that is a repeated field
	bytes     bool   // an array or sequence that is one field of bytes
	raw       bool   // with bytes: the sequence holds encoded fields

	descriptor protoreflect.FieldDescriptor // nil for "data" in a byte string
	number     protowire.Number
	kind       protoreflect.Kind
	wire       protowire.Type // wire type of the field, or of each element
	tag        uint64         // tag with which the field is encoded
	packed     bool           // a list of packed numbers
	rivals     []int          // indices of the other fields of a oneof; the last field in a message wins

	// An optional field is not written if it has its default, which is in bits for a number, else in text.
	optional bool
	bits     uint64
	text     string
}

// describe sets the encoding of the field in Protocol Buffers.
func (f *planField) describe(d protoreflect.FieldDescriptor) {
	f.descriptor, f.number, f.kind, f.packed = d, d.Number(), d.Kind(), d.IsPacked()
	f.protoName = string(d.Name())
	f.wire = numberKinds[f.kind].wire
	switch f.kind {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		f.wire = protowire.BytesType
	case protoreflect.GroupKind:
		f.wire = protowire.StartGroupType
	}
	wire := f.wire
	if f.packed {
		wire = protowire.BytesType
	}
	f.tag = protowire.EncodeTag(f.number, wire)
}

// isSet reports whether the field, which occurs in the message b, has a value other than zero or empty.
func (f *planField) isSet(s slot, b []byte) bool {
	if !f.list && !f.raw {
		return s.bits != 0 || s.n > 0
	}
	for o := (occurrences{f, b, s.at, s.count}); o.next(); {
		if _, _, bits, content := o.read(); bits != 0 || len(content) > 0 {
			return true
		}
	}
	return false
}

// accepts reports whether the field may have a wire type. A list of numbers may be packed or not, whatever its
// descriptor says.
func (f *planField) accepts(kind protowire.Type) bool {
	return kind == f.wire || kind == protowire.BytesType && f.list && f.width > 0
}

// elementSize returns the smallest size of an element in ROS 2, in bytes.
func (f *planField) elementSize() int {
	switch {
	case f.bytes:
		return 1
	case f.Kind == rosidl.Nested:
		return f.message.least
	case f.width > 0:
		return f.width
	}
	return 4
}

// maxLeast bounds plan.least, in bytes.
const maxLeast = 1 << 30

// finish prepares a plan whose fields are complete.
func (p *plan) finish() {
	for i := range p.fields {
		f := &p.fields[i]
		f.index = i
		p.unset = append(p.unset, slot{bits: f.bits})
		if f.descriptor != nil {
			p.byNumber.set(f.number, f)
		}
		switch f.Shape {
		case rosidl.Single:
			p.least += f.elementSize()
		case rosidl.Sequence:
			p.least += 4
		default:
			p.least += f.Length * f.elementSize()
		}
		p.least = min(p.least, maxLeast)
	}
	p.least = max(p.least, 1)
}

// find returns the field with a name in Protocol Buffers, or nil if there is none. It begins to search at index from.
func (p *plan) find(name string, from int) *planField {
	for range p.fields {
		if from >= len(p.fields) {
			from = 0
		}
		if f := &p.fields[from]; f.protoName == name {
			return f
		}
		from++
	}
	return nil
}

// byNumber maps numbers of Protocol Buffers to fields. Low numbers are looked up without a map.
type byNumber[T any] struct {
	low   []*T
	other map[protowire.Number]*T
}

func (m *byNumber[T]) set(n protowire.Number, field *T) {
	const low = 64
	switch {
	case n < low:
		m.low = append(m.low, make([]*T, max(0, int(n)+1-len(m.low)))...)
		m.low[n] = field
	case m.other == nil:
		m.other = map[protowire.Number]*T{n: field}
	default:
		m.other[n] = field
	}
}

// get returns the field with a number, or nil if there is none.
func (m *byNumber[T]) get(n protowire.Number) *T {
	if int(n) < len(m.low) {
		return m.low[n]
	}
	return m.other[n]
}

// numberKinds has, for each kind of numbers, the wire type, the kind in ROS 2, and the size in ROS 2 in bytes.
var numberKinds = [protoreflect.Sint64Kind + 1]struct {
	wire  protowire.Type
	kind  rosidl.Kind
	width int
}{
	protoreflect.BoolKind:     {protowire.VarintType, rosidl.Bool, 1},
	protoreflect.EnumKind:     {protowire.VarintType, rosidl.Int32, 4},
	protoreflect.Int32Kind:    {protowire.VarintType, rosidl.Int32, 4},
	protoreflect.Sint32Kind:   {protowire.VarintType, rosidl.Int32, 4},
	protoreflect.Uint32Kind:   {protowire.VarintType, rosidl.Uint32, 4},
	protoreflect.Int64Kind:    {protowire.VarintType, rosidl.Int64, 8},
	protoreflect.Sint64Kind:   {protowire.VarintType, rosidl.Int64, 8},
	protoreflect.Uint64Kind:   {protowire.VarintType, rosidl.Uint64, 8},
	protoreflect.Fixed32Kind:  {protowire.Fixed32Type, rosidl.Uint32, 4},
	protoreflect.Sfixed32Kind: {protowire.Fixed32Type, rosidl.Int32, 4},
	protoreflect.FloatKind:    {protowire.Fixed32Type, rosidl.Float32, 4},
	protoreflect.Fixed64Kind:  {protowire.Fixed64Type, rosidl.Uint64, 8},
	protoreflect.Sfixed64Kind: {protowire.Fixed64Type, rosidl.Int64, 8},
	protoreflect.DoubleKind:   {protowire.Fixed64Type, rosidl.Float64, 8},
}

// defaultBits returns the bits of the default of a number. Integers are sign-extended to 64 bits.
func defaultBits(d protoreflect.FieldDescriptor) uint64 {
	switch v := d.Default(); d.Kind() {
	case protoreflect.BoolKind:
		if v.Bool() {
			return 1
		}
		return 0
	case protoreflect.EnumKind:
		return uint64(v.Enum())
	case protoreflect.FloatKind:
		return uint64(math.Float32bits(float32(v.Float())))
	case protoreflect.DoubleKind:
		return math.Float64bits(v.Float())
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return v.Uint()
	default:
		return uint64(v.Int())
	}
}
