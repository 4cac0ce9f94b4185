// Package random makes messages of any type of ROS 2 with random contents.
package random

import (
	"math"
	"math/rand/v2"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosidl"
)

// Generator makes random messages. Equal seeds of Rand give equal messages.
type Generator struct {
	*rand.Rand
	Library *rosidl.Library
	Unicode bool // strings have characters beyond ASCII
	Plain   bool // numbers are small and not negative, so that they are valid times
	Spread  bool // the significant bits of integers vary from 1 to 64
}

// Message returns a message of a type of the library.
func (g Generator) Message(name string) (*cdr.Struct, error) {
	m, err := g.Library.Message(name)
	if err != nil {
		return nil, err
	}
	s := &cdr.Struct{Type: name}
	for _, f := range m.Fields {
		v, err := g.value(f.Type)
		if err != nil {
			return nil, err
		}
		s.Fields = append(s.Fields, cdr.Field{Name: f.Name, Value: v})
	}
	return s, nil
}

// value returns a random value of a field.
func (g Generator) value(t rosidl.Type) (any, error) {
	n := 1
	switch t.Shape {
	case rosidl.Array:
		n = t.Length
	case rosidl.Sequence:
		n = g.IntN(6)
		if t.Length > 0 {
			n = min(n, t.Length)
		}
	}
	switch t.Kind {
	case rosidl.Nested:
		all := make([]*cdr.Struct, n)
		for i := range all {
			var err error
			all[i], err = g.Message(t.Message)
			if err != nil {
				return nil, err
			}
		}
		return shaped(t, all), nil
	case rosidl.Bool:
		return random(t, n, func() bool { return g.IntN(2) == 1 }), nil
	case rosidl.Byte, rosidl.Char, rosidl.Uint8:
		return random(t, n, func() uint8 { return uint8(g.bits()) }), nil
	case rosidl.Int8:
		return random(t, n, func() int8 { return int8(g.bits()) }), nil
	case rosidl.Int16:
		return random(t, n, func() int16 { return int16(g.bits()) }), nil
	case rosidl.Uint16:
		return random(t, n, func() uint16 { return uint16(g.bits()) }), nil
	case rosidl.Int32:
		return random(t, n, func() int32 { return int32(g.bits()) }), nil
	case rosidl.Uint32:
		return random(t, n, func() uint32 { return uint32(g.bits()) }), nil
	case rosidl.Int64:
		return random(t, n, func() int64 { return int64(g.bits()) }), nil
	case rosidl.Uint64:
		return random(t, n, g.bits), nil
	case rosidl.Float32:
		return random(t, n, func() float32 { return float32(g.float()) }), nil
	case rosidl.Float64:
		return random(t, n, g.float), nil
	}
	return random(t, n, func() string { return g.text(t.StringBound) }), nil
}

// bits returns a random integer.
func (g Generator) bits() uint64 {
	if g.Plain {
		return g.Uint64N(100)
	}
	if g.Spread {
		return g.Uint64() >> g.IntN(64)
	}
	return g.Uint64()
}

// float returns a random number, which is finite most of the time.
func (g Generator) float() float64 {
	if g.Plain {
		return float64(g.IntN(800)) / 8
	}
	odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32}
	if i := g.IntN(4 * len(odd)); i < len(odd) {
		return odd[i]
	}
	return g.NormFloat64() * 1e3
}

// text returns a random string of at most bound bytes. A bound of 0 is no bound.
func (g Generator) text(bound int) string {
	letters := []rune("abcXYZ019/_- .")
	if g.Unicode {
		letters = []rune("aß漢😀")
	}
	s := ""
	for range g.IntN(12) {
		if next := s + string(letters[g.IntN(len(letters))]); bound == 0 || len(next) <= bound {
			s = next
		}
	}
	return s
}

// random returns n values, or one value if t is neither an array nor a sequence.
func random[T any](t rosidl.Type, n int, one func() T) any {
	all := make([]T, n)
	for i := range all {
		all[i] = one()
	}
	return shaped(t, all)
}

// shaped returns all values, or the first one if t is neither an array nor a sequence.
func shaped[T any](t rosidl.Type, all []T) any {
	if t.Shape == rosidl.Single {
		return all[0]
	}
	return all
}
