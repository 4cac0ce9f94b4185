// Package random makes messages of any type of ROS 2 with random contents.
package random

import (
	"math"
	"math/rand/v2"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
)

// Source makes random messages. Equal seeds of Rand give equal messages.
type Source struct {
	*rand.Rand
	Library *rosidl.Library
	Unicode bool // strings are beyond ASCII
	Plain   bool // numbers are small and not negative, as times are
	Spread  bool // integers have any length from 1 to 64 bits
}

// Message returns a message of a type of the library.
func (r Source) Message(name string) (*cdr.Struct, error) {
	m, err := r.Library.Message(name)
	if err != nil {
		return nil, err
	}
	s := &cdr.Struct{Type: name}
	for _, f := range m.Fields {
		v, err := r.value(f.Type)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, cdr.Field{Name: f.Name, Value: v})
	}
	return s, nil
}

func (r Source) value(t rosidl.Type) (any, error) {
	n := 1
	switch t.Shape {
	case rosidl.Array:
		n = t.Length
	case rosidl.Sequence:
		n = r.IntN(6)
		if t.Length > 0 {
			n = min(n, t.Length)
		}
	}
	switch t.Kind {
	case rosidl.Nested:
		all := make([]*cdr.Struct, n)
		for i := range all {
			var err error
			all[i], err = r.Message(t.Message)
			if err != nil {
				return nil, err
			}
		}
		return shaped(t, all), nil
	case rosidl.Bool:
		return random(t, n, func() bool { return r.IntN(2) == 1 }), nil
	case rosidl.Byte, rosidl.Char, rosidl.Uint8:
		return random(t, n, func() uint8 { return uint8(r.bits()) }), nil
	case rosidl.Int8:
		return random(t, n, func() int8 { return int8(r.bits()) }), nil
	case rosidl.Int16:
		return random(t, n, func() int16 { return int16(r.bits()) }), nil
	case rosidl.Uint16:
		return random(t, n, func() uint16 { return uint16(r.bits()) }), nil
	case rosidl.Int32:
		return random(t, n, func() int32 { return int32(r.bits()) }), nil
	case rosidl.Uint32:
		return random(t, n, func() uint32 { return uint32(r.bits()) }), nil
	case rosidl.Int64:
		return random(t, n, func() int64 { return int64(r.bits()) }), nil
	case rosidl.Uint64:
		return random(t, n, r.bits), nil
	case rosidl.Float32:
		return random(t, n, func() float32 { return float32(r.float()) }), nil
	case rosidl.Float64:
		return random(t, n, r.float), nil
	}
	return random(t, n, func() string { return r.text(t.StringBound) }), nil
}

func (r Source) bits() uint64 {
	if r.Plain {
		return r.Uint64N(100)
	}
	if r.Spread {
		return r.Uint64() >> r.IntN(64)
	}
	return r.Uint64()
}

// float returns a finite number most of the time.
func (r Source) float() float64 {
	if r.Plain {
		return float64(r.IntN(800)) / 8
	}
	odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32}
	if i := r.IntN(4 * len(odd)); i < len(odd) {
		return odd[i]
	}
	return r.NormFloat64() * 1e3
}

func (r Source) text(bound int) string {
	letters := []rune("abcXYZ019/_- .")
	if r.Unicode {
		letters = []rune("aß漢😀")
	}
	s := ""
	for range r.IntN(12) {
		if next := s + string(letters[r.IntN(len(letters))]); bound == 0 || len(next) <= bound {
			s = next
		}
	}
	return s
}

func random[T any](t rosidl.Type, n int, one func() T) any {
	all := make([]T, n)
	for i := range all {
		all[i] = one()
	}
	return shaped(t, all)
}

func shaped[T any](t rosidl.Type, all []T) any {
	if t.Shape == rosidl.Single {
		return all[0]
	}
	return all
}
