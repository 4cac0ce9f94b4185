// Package h5type has the types that describe HDF5 files to the process that reads or writes them and to its parent.
package h5type

import "unsafe"

// ObjectType is the type of the object at a path.
type ObjectType int

// Types of objects.
const (
	NoObject ObjectType = iota // no object, a broken link, or an object of another type
	GroupObject
	DatasetObject
)

// Kind is the kind of the elements of a dataset. The numbers are those of complement.h in package h5.
type Kind int

// Kinds of elements.
const (
	Other Kind = iota
	Integer
	Float
	String
	Bytes // sequences of bytes of variable length
	Opaque
)

// Shape describes the elements of a dataset.
type Shape struct {
	Kind     Kind
	Dims     []int
	Size     int  // bytes of an element
	Variable bool // strings have variable length
}

// Len returns the number of rows. A dataset without dimensions has one row.
func (s *Shape) Len() int {
	if len(s.Dims) == 0 {
		return 1
	}
	return s.Dims[0]
}

// Number is an element type of datasets.
type Number interface {
	uint8 | uint16 | int64 | float32 | float64
}

// MaxData is the maximum size of the data of one read, in bytes in memory.
const MaxData = 512 << 20

// Element is an element type of datasets as a value.
type Element int

// Elements.
const (
	Uint8 Element = iota
	Uint16
	Int64
	Float32
	Float64
)

// ElementOf returns the Element of a type.
func ElementOf[T Number]() Element {
	switch any(*new(T)).(type) {
	case uint8:
		return Uint8
	case uint16:
		return Uint16
	case int64:
		return Int64
	case float32:
		return Float32
	}
	return Float64
}

// BytesOf returns the memory of values.
func BytesOf[T Number](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}
