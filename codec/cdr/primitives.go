package cdr

import (
	"fmt"

	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/wire"
)

// primitives walks over values of one primitive kind, of any shape.
type primitives interface {
	// size returns the bytes of one value, if that is fixed.
	size() int
	// decode reads the value of f: n elements, unless f is single.
	decode(d *wire.Decoder, f *field, n int) any
	// encode appends the value of f, which is zero if v is nil.
	encode(e *wire.Encoder, f *field, v any) error
	// convert makes a value out of one that rosidl has parsed.
	convert(v any) any
}

var kinds = map[rosidl.Kind]primitives{
	rosidl.Bool: bools{},
	rosidl.Byte: numbers[uint8]{1}, rosidl.Char: numbers[uint8]{1},
	rosidl.Int8: numbers[int8]{1}, rosidl.Uint8: numbers[uint8]{1},
	rosidl.Int16: numbers[int16]{2}, rosidl.Uint16: numbers[uint16]{2},
	rosidl.Int32: numbers[int32]{4}, rosidl.Uint32: numbers[uint32]{4},
	rosidl.Int64: numbers[int64]{8}, rosidl.Uint64: numbers[uint64]{8},
	rosidl.Float32: numbers[float32]{4}, rosidl.Float64: numbers[float64]{8},
	rosidl.String: texts{}, rosidl.WString: texts{},
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
		return nil, fmt.Errorf("value has %d elements, but the array %d", len(many), n)
	}
	return many, nil
}

// begin appends the number of elements if f is a sequence.
func begin(e *wire.Encoder, f *field, n int) {
	if f.Shape == rosidl.Sequence {
		e.Length(n, f.Length)
	}
}

// converted applies one to a default value or to each of a list of them.
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

type bools struct{}

func (bools) size() int { return 1 }

func (bools) decode(d *wire.Decoder, f *field, n int) any {
	if f.Shape == rosidl.Single {
		return d.Bool()
	}
	v := make([]bool, n)
	d.Bools(v)
	return v
}

func (bools) encode(e *wire.Encoder, f *field, v any) error {
	all, err := elements[bool](f, v)
	if err != nil {
		return err
	}
	begin(e, f, len(all))
	e.Bools(all)
	return nil
}

func (bools) convert(v any) any { return converted(v, func(v any) bool { return v.(bool) }) }

type texts struct{}

func (texts) size() int { return 0 }

func (t texts) decode(d *wire.Decoder, f *field, n int) any {
	if f.Shape == rosidl.Single {
		return t.one(d, f)
	}
	v := make([]string, n)
	for i := range v {
		v[i] = t.one(d, f)
	}
	return v
}

func (texts) one(d *wire.Decoder, f *field) string {
	if f.Kind == rosidl.WString {
		return d.WString(f.StringBound)
	}
	return d.String(f.StringBound)
}

func (texts) encode(e *wire.Encoder, f *field, v any) error {
	all, err := elements[string](f, v)
	if err != nil {
		return err
	}
	begin(e, f, len(all))
	for _, s := range all {
		if f.Kind == rosidl.WString {
			e.WString(s, f.StringBound)
		} else {
			e.String(s, f.StringBound)
		}
	}
	return nil
}

func (texts) convert(v any) any { return converted(v, func(v any) string { return v.(string) }) }
