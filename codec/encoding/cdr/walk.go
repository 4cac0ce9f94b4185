package cdr

import (
	"fmt"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// FieldType is a field of a type, for those who read payloads field by field without a Struct. The fields of a message
// are read one after the other with one Decoder, each whole; then Finish tells whether they were all of the payload.
type FieldType struct {
	Name string
	rosidl.Type
	field *field
}

// Field returns the message as a field without a name, which begins with the payload.
func (s *Schema) Field() FieldType {
	t := rosidl.Type{Kind: rosidl.Nested, Message: s.root.name}
	return FieldType{Type: t, field: &field{Type: t, message: s.root, least: s.root.least, fixed: s.root.fixed,
		spans: s.root.spans, align: s.root.align}}
}

// Field returns the field that the path leads to. Find makes a Decoder read it.
func (p *Path) Field() FieldType { return FieldType{p.target.name, p.target.Type, &p.target} }

// Fields returns the fields of the type, in the order of payloads.
func (s *Schema) Fields() []FieldType { return s.root.types() }

// Fields returns the fields of the messages in a field, none if it holds values.
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

// Count returns how many values or messages the field has, and reads their number if it is a sequence. A Decoder that
// failed counts none.
func (f FieldType) Count(d *wire.Decoder) int {
	if n := f.field.count(d); d.Err() == nil {
		return n
	}
	return 0
}

// Skip skips n values or messages of the field, as many as Count returned. Messages without fields take a byte each.
func (f FieldType) Skip(d *wire.Decoder, n int) { f.field.skip(d, n) }

// Finish returns an error if fields that d was to read are not in the payload, or if more is left than padding.
func (s *Schema) Finish(d *wire.Decoder) error {
	if err := s.root.finish(d); err != nil {
		return fmt.Errorf("decode %s: %w", s.root.name, err)
	}
	return nil
}
