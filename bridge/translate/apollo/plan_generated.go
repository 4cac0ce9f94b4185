package apollo

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/msgs/rosidl"
)

// plans are the plans of a Protocol Buffers type and of all contained types. A ROS 2 type is generated from
// each of the types.
//
// A generated message has the fields of the original message in the order of declaration. A field that is not set
// has its default. The generated message does not keep which fields were set.
//
// ROS 2 has no recursive messages: if the message of a field contains itself, or is not described, the field becomes a
// uint8[] with the encoded occurrences of the field, including tags. ROS 2 has no lists of lists: a list of byte
// strings becomes a list of messages with the field "data".
type plans struct {
	list   []*plan // the plan of the type itself is the last one
	byName map[protoreflect.FullName]*plan
	taken  map[string]bool // names of ROS 2 types
}

// maxBlanks is the largest sum of the sizes of plan.blank, in bytes. Each type of a malicious description can double
// the sum.
const maxBlanks = 32 << 20

// describe returns the plans of a type. The plans depend only on the description of the type.
func describe(d protoreflect.MessageDescriptor) *plans {
	s := &plans{byName: map[protoreflect.FullName]*plan{}, taken: map[string]bool{}}
	s.plan(d)
	return s
}

func (s *plans) root() *plan { return s.list[len(s.list)-1] }

func (s *plans) plan(d protoreflect.MessageDescriptor) *plan {
	if p := s.byName[d.FullName()]; p != nil {
		return p
	}
	p := &plan{name: s.name(d, ""), descriptor: d, open: true}
	s.byName[d.FullName()] = p
	names := map[string]bool{}
	p.fields = make([]planField, d.Fields().Len())
	for i := range p.fields {
		p.fields[i] = s.field(d.Fields().Get(i))
		p.fields[i].name = uniqueName(names, fieldName(p.fields[i].protoName), "_")
	}
	p.open = false
	s.add(p)
	return p
}

// add adds a plan whose fields are complete.
func (s *plans) add(p *plan) {
	p.finish()
	s.list = append(s.list, p)
}

// encodeBlanks sets plan.blank of all plans.
func (s *plans) encodeBlanks() error {
	size := 0
	for _, p := range s.list {
		for offset := range p.blank {
			blank, err := blankOf(p, offset)
			if err != nil {
				return err
			}
			p.blank[offset] = blank
			size += len(blank)
			if size > maxBlanks {
				return fmt.Errorf(
					"messages of its type are too large for ROS 2, even when nothing is set: %s takes %d bytes",
					p.name, len(blank))
			}
		}
	}
	return nil
}

func (s *plans) field(d protoreflect.FieldDescriptor) (f planField) {
	f.describe(d)
	f.list, f.optional = d.Cardinality() == protoreflect.Repeated, d.Cardinality() == protoreflect.Optional
	if one := d.ContainingOneof(); one != nil {
		for i := range one.Fields().Len() {
			if rival := one.Fields().Get(i); rival != d {
				f.rivals = append(f.rivals, rival.Index())
			}
		}
	}
	switch d.Kind() {
	case protoreflect.StringKind:
		f.Kind = rosidl.String
		if !f.list {
			f.text = d.Default().String()
		}
	case protoreflect.BytesKind:
		if f.list {
			data := planField{Type: rosidl.Type{Kind: rosidl.Uint8, Shape: rosidl.Sequence}, name: "data", bytes: true}
			f.Kind = rosidl.Nested
			f.message = &plan{name: s.name(d.ContainingMessage(), typeName(string(d.Name()))),
				fields: []planField{data}}
			s.add(f.message)
			break
		}
		f.Kind, f.bytes, f.text = rosidl.Uint8, true, string(d.Default().Bytes())
	case protoreflect.MessageKind, protoreflect.GroupKind:
		inner := s.byName[d.Message().FullName()]
		if d.Message().IsPlaceholder() || inner != nil && inner.open {
			f.Kind, f.bytes, f.raw, f.list = rosidl.Uint8, true, true, false
			break
		}
		f.Kind = rosidl.Nested
		f.message = s.plan(d.Message())
	default:
		f.Kind, f.width = numberKinds[f.kind].kind, numberKinds[f.kind].width
		if !f.list {
			f.bits = defaultBits(d)
		}
	}
	if f.list || f.bytes {
		f.Shape = rosidl.Sequence
	}
	return f
}

// library returns the definitions of all generated types.
func (s *plans) library() (*rosidl.Library, error) {
	root := s.root()
	var b strings.Builder
	b.WriteString(root.text())
	for _, f := range s.list[:len(s.list)-1] {
		fmt.Fprintf(&b, "\n%s\nMSG: %s\n%s", strings.Repeat("=", 80), f.name, f.text())
	}
	return rosidl.ParseConcatenated(root.name, b.String())
}

// text returns the ROS 2 definition. The constants of an enumeration precede the first field with that enumeration.
func (p *plan) text() string {
	var b strings.Builder
	if p.descriptor != nil {
		fmt.Fprintf(&b, "# %s\n", p.descriptor.FullName())
	}
	constants, enums := map[string]bool{}, map[protoreflect.FullName]bool{}
	for _, field := range p.fields {
		if d := field.descriptor; d != nil && d.Kind() == protoreflect.EnumKind && !enums[d.Enum().FullName()] {
			enums[d.Enum().FullName()] = true
			appendConstants(&b, d.Enum(), constants)
		}
		name := field.Kind.Name()
		if field.message != nil {
			name = strings.Replace(field.message.name, "/msg/", "/", 1)
		}
		if field.Shape == rosidl.Sequence {
			name += "[]"
		}
		fmt.Fprintf(&b, "%s %s", name, field.name)
		if field.raw {
			fmt.Fprintf(&b, " # %s, as Protocol Buffers encodes the field", field.descriptor.Message().FullName())
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// appendConstants appends the values of an enumeration as constants. A name that another enumeration has gets the
// name of the value's enumeration as a prefix.
func appendConstants(b *strings.Builder, d protoreflect.EnumDescriptor, taken map[string]bool) {
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		name := constantName(string(v.Name()))
		if taken[name] {
			name = constantName(string(d.Name())) + "_" + name
		}
		fmt.Fprintf(b, "int32 %s=%d\n", uniqueName(taken, name, "_"), v.Number())
	}
}
