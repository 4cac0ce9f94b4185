package cdr

import (
	"fmt"

	"tapedeck/codec/text/plural"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/rosidl/wire"
)

// primitives decodes and encodes fields of one primitive kind and any shape.
type primitives interface {
	// size returns the bytes of one value, 0 if they vary.
	size() int
	// decode reads the value of f: n elements, unless f is single.
	decode(d *wire.Decoder, f *field, n int) any
	// encode appends v, or zero if v is nil.
	encode(e *wire.Encoder, f *field, v any) error
	// convert returns a default value, which rosidl has parsed, in the Go type of the kind.
	convert(v any) any
}

var kinds = map[rosidl.Kind]primitives{
	rosidl.Bool: scalars[bool]{
		1, func(d *wire.Decoder, _ *field) bool { return d.Bool() },
		func(e *wire.Encoder, _ *field, v bool) { e.Bool(v) },
	},
	rosidl.Byte: numbers[uint8]{1}, rosidl.Char: numbers[uint8]{1},
	rosidl.Int8: numbers[int8]{1}, rosidl.Uint8: numbers[uint8]{1},
	rosidl.Int16: numbers[int16]{2}, rosidl.Uint16: numbers[uint16]{2},
	rosidl.Int32: numbers[int32]{4}, rosidl.Uint32: numbers[uint32]{4},
	rosidl.Int64: numbers[int64]{8}, rosidl.Uint64: numbers[uint64]{8},
	rosidl.Float32: numbers[float32]{4}, rosidl.Float64: numbers[float64]{8},
	rosidl.String: scalars[string]{
		0, func(d *wire.Decoder, f *field) string { return d.String(f.StringBound) },
		func(e *wire.Encoder, f *field, v string) { e.String(v, f.StringBound) },
	},
	rosidl.WString: scalars[string]{
		0, func(d *wire.Decoder, f *field) string { return d.WString(f.StringBound) },
		func(e *wire.Encoder, f *field, v string) { e.WString(v, f.StringBound) },
	},
}

// elements returns the values to encode for f: the T or []T that v holds, or zeros if v is nil.
func elements[T any](f *field, v any) ([]T, error) {
	n := 1
	switch f.Shape {
	case rosidl.Array:
		n = f.Length
	case rosidl.Sequence:
		n = 0
	}
	if v == nil {
		return make([]T, n), nil
	}
	if f.Shape == rosidl.Single {
		one, ok := v.(T)
		if !ok {
			return nil, fmt.Errorf("value is %T, not %T", v, one)
		}
		return []T{one}, nil
	}
	many, ok := v.([]T)
	if !ok {
		return nil, fmt.Errorf("value is %T, not %T", v, many)
	}
	if f.Shape == rosidl.Array && len(many) != n {
		return nil, fmt.Errorf("value has %s, but the array %d", plural.Count(len(many), "element"), n)
	}
	return many, nil
}

// begin appends the number of elements if f is a sequence.
func begin(e *wire.Encoder, f *field, n int) {
	if f.Shape == rosidl.Sequence {
		e.Length(n, f.Length)
	}
}

// converted applies one to a default value, or to each element of a list of default values.
func converted[T any](v any, one func(any) T) any {
	list, ok := v.([]any)
	if !ok {
		return one(v)
	}
	all := make([]T, len(list))
	for i := range list {
		all[i] = one(list[i])
	}
	return all
}

type numbers[T wire.Number] struct{ bytes int }

func (n numbers[T]) size() int { return n.bytes }

func (numbers[T]) decode(d *wire.Decoder, f *field, n int) any {
	if f.Shape == rosidl.Single {
		var v [1]T
		wire.DecodeArray(d, v[:])
		return v[0]
	}
	v := make([]T, n)
	wire.DecodeArray(d, v)
	return v
}

func (numbers[T]) encode(e *wire.Encoder, f *field, v any) error {
	if one, ok := v.(T); ok && f.Shape == rosidl.Single {
		wire.EncodeFlat[T](e, &one)
		return nil
	}
	all, err := elements[T](f, v)
	if err != nil {
		return err
	}
	begin(e, f, len(all))
	wire.EncodeArray(e, all)
	return nil
}

func (numbers[T]) convert(v any) any {
	return converted(v, func(v any) T {
		switch v := v.(type) {
		case int64:
			return T(v)
		case uint64:
			return T(v)
		case float64:
			return T(v)
		}
		return 0
	})
}

// scalars handles a kind whose values are read and written one by one.
type scalars[T any] struct {
	bytes int
	read  func(*wire.Decoder, *field) T
	write func(*wire.Encoder, *field, T)
}

func (s scalars[T]) size() int { return s.bytes }

func (s scalars[T]) decode(d *wire.Decoder, f *field, n int) any {
	if f.Shape == rosidl.Single {
		return s.read(d, f)
	}
	v := make([]T, n)
	for i := range v {
		v[i] = s.read(d, f)
	}
	return v
}

func (s scalars[T]) encode(e *wire.Encoder, f *field, v any) error {
	all, err := elements[T](f, v)
	if err != nil {
		return err
	}
	begin(e, f, len(all))
	for _, v := range all {
		s.write(e, f, v)
	}
	return nil
}

func (scalars[T]) convert(v any) any { return converted(v, func(v any) T { return v.(T) }) }
