package cdr

import (
	"errors"
	"fmt"
	"slices"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// Schema decodes and encodes the payloads of a type by its definition. It is safe for concurrent use.
type Schema struct {
	root *layout
}

// NewSchema returns the schema of a type such as "sensor_msgs/msg/Imu". The error wraps rosidl.ErrUnknownType if the
// library lacks the type or a type that it contains.
func NewSchema(lib *rosidl.Library, typeName string) (*Schema, error) {
	if typeName == "" {
		return nil, errors.New("the recording does not name the type of the messages")
	}
	root, err := compiler{lib, map[string]*layout{}}.layout(typeName)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", typeName, err)
	}
	return &Schema{root}, nil
}

// Name returns the full name of the type.
func (s *Schema) Name() string { return s.root.name }

// Decode returns the message in a payload. The message shares no memory with the payload. Decode fails where Unmarshal
// does; its errors name the path of the field.
func (s *Schema) Decode(payload []byte) (*Struct, error) {
	d := wire.NewDecoder(payload)
	v, err := s.root.decode(d)
	if err == nil {
		err = s.root.finish(d)
	}
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", s.root.name, err)
	}
	return v, nil
}

// Encode returns the payload of a message. Fields may be in any order. A field that is missing or nil takes the default
// value of the definition, or else zero. A nested message may also be a generated type. Encode fails if the type lacks
// a field of m, or if a value has a Go type that Struct does not list.
func (s *Schema) Encode(m *Struct) ([]byte, error) {
	e := wire.NewEncoder(nil)
	if err := s.root.encode(e, m); err != nil {
		return nil, fmt.Errorf("encode %s: %w", s.root.name, err)
	}
	return e.Bytes(), nil
}

func (l *layout) decode(d *wire.Decoder) (*Struct, error) {
	if l.minSize > d.Remaining() {
		d.Fail("%s takes %s or more, but only %d are left", l.name, plural.Count(l.minSize, "byte"), d.Remaining())
	}
	if d.Err() != nil {
		return nil, d.Err()
	}
	if len(l.fields) == 0 {
		d.Uint8()
		return &Struct{Type: l.name}, nil
	}
	s := &Struct{Type: l.name, Fields: make([]Field, len(l.fields))}
	for i := range l.fields {
		f := &l.fields[i]
		v, err := f.decode(d)
		if err != nil {
			return nil, wire.InField(f.name, err)
		}
		s.Fields[i] = Field{f.name, v}
	}
	return s, nil
}

func (f *field) decode(d *wire.Decoder) (any, error) {
	n := f.count(d)
	if d.Err() != nil {
		return nil, d.Err()
	}
	if f.Kind != rosidl.Nested {
		return f.values.decode(d, f, n), d.Err()
	}
	if f.Shape == rosidl.Single {
		return f.message.decode(d)
	}
	all := make([]*Struct, n)
	for i := range all {
		var err error
		all[i], err = f.message.decode(d)
		if err != nil {
			return nil, wire.InField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return all, nil
}

// encode appends v, a *Struct or a generated type. It appends the default values if v is nil.
func (l *layout) encode(e *wire.Encoder, v any) error {
	var s *Struct
	switch v := v.(type) {
	case nil:
	case *Struct:
		s = v
	case msgs.Message:
		if v.TypeName() != l.name {
			return fmt.Errorf("value is a %s, not a %s", v.TypeName(), l.name)
		}
		v.MarshalCDR(e)
		return e.Err()
	default:
		return fmt.Errorf("value is %T, not %T", v, s)
	}
	if s == nil {
		s = new(Struct)
	}
	if s.Type != "" && s.Type != l.name {
		return fmt.Errorf("value is a %s, not a %s", s.Type, l.name)
	}
	used := 0
	for i := range l.fields {
		f := &l.fields[i]
		var v any
		if i < len(s.Fields) && s.Fields[i].Name == f.name {
			v = s.Fields[i].Value
			used++
		} else if j := s.index(f.name); j >= 0 {
			v = s.Fields[j].Value
			used++
		}
		if err := f.encode(e, v); err != nil {
			return wire.InField(f.name, err)
		}
	}
	if used < len(s.Fields) {
		return l.superfluous(s)
	}
	if len(l.fields) == 0 {
		e.Uint8(0)
	}
	return nil
}

func (f *field) encode(e *wire.Encoder, v any) error {
	if v == nil {
		v = f.fallback
	}
	if f.Kind != rosidl.Nested {
		if err := f.values.encode(e, f, v); err != nil {
			return err
		}
		return e.Err()
	}
	if f.Shape == rosidl.Single {
		return f.message.encode(e, v)
	}
	all, err := elements[*Struct](f, v)
	if err != nil {
		return err
	}
	begin(e, f, len(all))
	for i := range all {
		if err := f.message.encode(e, all[i]); err != nil {
			return wire.InField(fmt.Sprintf("[%d]", i), err)
		}
	}
	return e.Err()
}

// superfluous returns the error for a field of s that l lacks, or that occurs twice.
func (l *layout) superfluous(s *Struct) error {
	seen := map[string]bool{}
	for i := range l.fields {
		seen[l.fields[i].name] = false
	}
	for _, f := range s.Fields {
		if twice, ok := seen[f.Name]; !ok {
			return fmt.Errorf("%s has no field %s", l.name, f.Name)
		} else if twice {
			return fmt.Errorf("field %s is given twice", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// Struct is a message that a Schema decoded: the fields in the order of the definition.
//
// The value of a field is a bool, uint8 (also for byte and char), int8, int16, uint16, int32, uint32, int64, uint64,
// float32, float64, string (also for wstring) or *Struct. The value of an array or sequence is a slice of its
// element's type.
type Struct struct {
	Type   string // "sensor_msgs/msg/Imu"; optional for Encode
	Fields []Field
}

// Field is a field of a Struct.
type Field struct {
	Name  string
	Value any
}

// Get returns the value of the named field, or nil if there is none.
func (s *Struct) Get(name string) any {
	if i := s.index(name); i >= 0 {
		return s.Fields[i].Value
	}
	return nil
}

func (s *Struct) index(name string) int {
	return slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
}
