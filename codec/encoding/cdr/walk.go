package cdr

import (
	"fmt"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// FieldType is a field of a type, for reading payloads field by field without a Struct. The caller reads all fields of
// a message with one Decoder, in the order of Fields. Finish then checks that nothing is missing and nothing remains.
type FieldType struct {
	Name string
	rosidl.Type
	field *field
}

// Field returns the whole message as a field without a name. It begins where the payload does.
func (s *Schema) Field() FieldType {
	t := rosidl.Type{Kind: rosidl.Nested, Message: s.root.name}
	return FieldType{Type: t, field: &field{Type: t, message: s.root, minSize: s.root.minSize, fixed: s.root.fixed,
		spans: s.root.spans, align: s.root.align}}
}

// Field returns the field that the path leads to. Find positions a Decoder at it.
func (p *Path) Field() FieldType { return FieldType{p.target.name, p.target.Type, &p.target} }

// Fields returns the fields of the type in the order of the definition.
func (s *Schema) Fields() []FieldType { return s.root.types() }

// Fields returns the fields of the message that f holds, none if f is not Nested.
func (f FieldType) Fields() []FieldType {
	if f.Kind != rosidl.Nested {
		return nil
	}
	return f.field.message.types()
}

func (l *layout) types() []FieldType {
	all := make([]FieldType, len(l.fields))
	for i := range l.fields {
		f := &l.fields[i]
		all[i] = FieldType{f.name, f.Type, f}
	}
	return all
}

// Count returns the number of elements of the field, 1 unless it is an array or a sequence. It reads the length of a
// sequence. It returns 0 if d has failed.
func (f FieldType) Count(d *wire.Decoder) int {
	if n := f.field.count(d); d.Err() == nil {
		return n
	}
	return 0
}

// Skip skips n elements of the field, where n is at most the result of Count. A message without fields takes one byte.
func (f FieldType) Skip(d *wire.Decoder, n int) { f.field.skip(d, n) }

// Finish returns an error if d failed to read a field, or if more than padding remains of the payload.
func (s *Schema) Finish(d *wire.Decoder) error {
	if err := s.root.finish(d); err != nil {
		return fmt.Errorf("decode %s: %w", s.root.name, err)
	}
	return nil
}
