package h5

import (
	"fmt"
	"unsafe"

	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/text/plural"
)

// PutElements is Put of the elements in data, which are in native byte order.
func (f *File) PutElements(path string, e h5type.Element, data []byte, dims ...int) error {
	switch e {
	case h5type.Uint8:
		return putBytes[uint8](f, path, data, dims)
	case h5type.Uint16:
		return putBytes[uint16](f, path, data, dims)
	case h5type.Int64:
		return putBytes[int64](f, path, data, dims)
	case h5type.Float32:
		return putBytes[float32](f, path, data, dims)
	case h5type.Float64:
		return putBytes[float64](f, path, data, dims)
	}
	return fmt.Errorf("write %s: unknown element type %d", path, e)
}

func putBytes[T h5type.Number](f *File, path string, data []byte, dims []int) error {
	size := int(unsafe.Sizeof(*new(T)))
	if len(data)%size != 0 {
		return fmt.Errorf("write %s: %s are not whole elements of %d", path, plural.Count(len(data), "byte"), size)
	}
	values := make([]T, len(data)/size)
	copy(h5type.BytesOf(values), data)
	return Put(f, path, values, dims...)
}

// CreateRows is CreateRows of elements of type e, which are Uint8 or Uint16.
func (f *File) CreateRows(path string, e h5type.Element, compressed bool, dims ...int) (*Dataset, error) {
	switch e {
	case h5type.Uint8:
		return CreateRows[uint8](f, path, compressed, dims...)
	case h5type.Uint16:
		return CreateRows[uint16](f, path, compressed, dims...)
	}
	return nil, fmt.Errorf("create %s: rows of element type %d", path, e)
}
