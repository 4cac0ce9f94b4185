package cdr

import "slices"

// Struct is a message as a Schema decodes it: its fields in the order of the definition.
//
// The value of a field is a bool, uint8 (of byte and char, too), int8, int16, uint16, int32, uint32, int64, uint64,
// float32, float64, string (of wstring, too) or *Struct; of an array or sequence it is a slice of these.
type Struct struct {
	Type   string // "sensor_msgs/msg/Imu"; to be encoded it may be empty
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
