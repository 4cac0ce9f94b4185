package report

import (
	"math"
	"strconv"
)

// Number is written to JSON with seven digits, and as null if JSON lacks it.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return n.append(nil), nil }

func (n Number) append(b []byte) []byte {
	if f := float64(n); math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, float64(n), 'g', 7, 64)
}

// Numbers is a list of numbers.
type Numbers []float32

// MarshalJSON implements json.Marshaler.
func (n Numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, f := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = Number(f).append(b)
	}
	return append(b, ']'), nil
}
