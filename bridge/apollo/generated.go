package apollo

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
)

// form is the ROS 2 message that is made of a type of Protocol Buffers: the same fields in the order of their declaration. What is
// not set has its default; which fields were set is not kept, as a field that is not set reads as its default everywhere.
//
// A field whose message contains itself, which ROS 2 does not have, or is not described, is a uint8[] that holds its occurrences as
// they are encoded, with their tags. A list of byte strings is one of messages with the field "data", as ROS 2 has no lists of lists.
type form struct {
	name       string                         // "apollo_planning/msg/ADCTrajectory"
	descriptor protoreflect.MessageDescriptor // nil for an element of a list of byte strings
	fields     []formField
	index      int // in forms

	dense  []*formField // by number, for the low ones
	sparse map[protowire.Number]*formField
	unset  []slot
	blank  [8][]byte // its payload with nothing set, by the offset modulo 8 that it begins at
	open   bool      // its fields are being made
}

// formField is a field of a form.
type formField struct {
	descriptor protoreflect.FieldDescriptor // nil for "data"
	name       string
	kind       rosidl.Kind // Uint8 for bytes and what is raw
	form       *form       // of Nested
	raw        bool        // holds what is encoded
	list       bool        // of anything but bytes
	index      int         // in the form
	wire       protowire.Type
	width      int    // of a number, in bytes
	fallback   []byte // of a text or bytes
	rivals     []int  // fields of the same oneof, of which the last one is set
}

// forms are those of a type and of all that it contains.
type forms struct {
	all    []*form // the type itself is the last
	byName map[protoreflect.FullName]*form
	taken  map[string]bool // names of ROS 2 types
	size   int             // of all blanks
}

// maxBlanks bounds what messages with nothing set take, in bytes. A description can make them twice as long with each type.
const maxBlanks = 32 << 20

// formsOf makes the forms of a type. It makes the same ones of the same description each time.
func formsOf(d protoreflect.MessageDescriptor) (*forms, error) {
	all := &forms{byName: map[protoreflect.FullName]*form{}, taken: map[string]bool{}}
	_, err := all.form(d)
	return all, err
}

func (all *forms) root() *form { return all.all[len(all.all)-1] }

func (all *forms) form(d protoreflect.MessageDescriptor) (*form, error) {
	if f := all.byName[d.FullName()]; f != nil {
		return f, nil
	}
	f := &form{name: all.name(d, ""), descriptor: d, sparse: map[protowire.Number]*formField{}, open: true}
	all.byName[d.FullName()] = f
	names := map[string]bool{}
	f.fields = make([]formField, d.Fields().Len())
	for i := range f.fields {
		field := &f.fields[i]
		var err error
		if *field, err = all.field(d.Fields().Get(i)); err != nil {
			return nil, err
		}
		field.index, field.rivals = i, rivals(field.descriptor)
		field.name = untaken(names, fieldName(string(field.descriptor.Name())), "_")
		f.add(field)
	}
	f.open = false
	return f, all.finish(f)
}

func rivals(d protoreflect.FieldDescriptor) []int {
	var all []int
	if one := d.ContainingOneof(); one != nil {
		for i := range one.Fields().Len() {
			if rival := one.Fields().Get(i); rival != d {
				all = append(all, rival.Index())
			}
		}
	}
	return all
}

// finish adds a form whose fields are complete.
func (all *forms) finish(f *form) error {
	f.index = len(all.all)
	all.all = append(all.all, f)
	for _, field := range f.fields {
		f.unset = append(f.unset, field.unset())
	}
	for offset := range f.blank {
		blank, err := blankOf(f, offset)
		if err != nil {
			return err
		}
		f.blank[offset] = blank
		if all.size += len(blank); all.size > maxBlanks {
			return fmt.Errorf("messages of its type are too large for ROS 2, even when nothing is set: %s takes %d bytes", f.name, len(blank))
		}
	}
	return nil
}

// add makes a field be found by its number.
func (f *form) add(field *formField) {
	n := int(field.descriptor.Number())
	if n >= lowNumbers {
		f.sparse[field.descriptor.Number()] = field
		return
	}
	f.dense = append(f.dense, make([]*formField, max(0, n+1-len(f.dense)))...)
	f.dense[n] = field
}

func (f *form) field(n protowire.Number) *formField {
	if int(n) < len(f.dense) {
		return f.dense[n]
	}
	return f.sparse[n]
}

// numberKinds are by kind, for numbers: how they are encoded, what ROS 2 has for them, and how many bytes that takes.
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

func (all *forms) field(d protoreflect.FieldDescriptor) (field formField, err error) {
	field = formField{descriptor: d, list: d.Cardinality() == protoreflect.Repeated, wire: protowire.BytesType}
	switch d.Kind() {
	case protoreflect.StringKind:
		field.kind = rosidl.String
	case protoreflect.BytesKind:
		field.kind = rosidl.Uint8
		if field.list {
			field.kind = rosidl.Nested
			field.form = &form{name: all.name(d.ContainingMessage(), typeName(string(d.Name()))), fields: []formField{{name: "data", kind: rosidl.Uint8}}}
			err = all.finish(field.form)
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if d.Kind() == protoreflect.GroupKind {
			field.wire = protowire.StartGroupType
		}
		inner := all.byName[d.Message().FullName()]
		if d.Message().IsPlaceholder() || inner != nil && inner.open {
			field.kind, field.raw, field.list = rosidl.Uint8, true, false
			break
		}
		field.kind = rosidl.Nested
		field.form, err = all.form(d.Message())
	default:
		number := numberKinds[d.Kind()]
		field.wire, field.kind, field.width = number.wire, number.kind, number.width
	}
	if !field.list && !field.raw && (d.Kind() == protoreflect.StringKind || d.Kind() == protoreflect.BytesKind) {
		if d.Kind() == protoreflect.StringKind {
			field.fallback = []byte(d.Default().String())
		} else {
			field.fallback = d.Default().Bytes()
		}
	}
	return field, err
}

// unset returns the slot of the field when it is not set.
func (field *formField) unset() slot {
	if field.width == 0 || field.list {
		return slot{}
	}
	switch v := field.descriptor.Default(); field.descriptor.Kind() {
	case protoreflect.BoolKind:
		if v.Bool() {
			return slot{bits: 1}
		}
		return slot{}
	case protoreflect.EnumKind:
		return slot{bits: uint64(uint32(v.Enum()))}
	case protoreflect.FloatKind:
		return slot{bits: uint64(math.Float32bits(float32(v.Float())))}
	case protoreflect.DoubleKind:
		return slot{bits: math.Float64bits(v.Float())}
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return slot{bits: v.Uint()}
	default:
		return slot{bits: uint64(v.Int())}
	}
}
