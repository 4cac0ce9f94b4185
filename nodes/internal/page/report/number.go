package report

import (
	"math"
	"slices"
	"strconv"
)

// Number is written to JSON with ten digits, a mm of a position in UTM, and as null if JSON lacks it.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n), 10), nil }

func appendNumber(b []byte, f float64, digits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'g', digits, 64)
}

// Numbers is a list of numbers. They have seven digits in JSON, and are null where JSON lacks them.
type Numbers []float32

// MarshalJSON implements json.Marshaler.
func (n Numbers) MarshalJSON() ([]byte, error) {
	b := []byte{'['}
	for i, f := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, float64(f), 7)
	}
	return append(b, ']'), nil
}

// widen makes the lowest and highest value of a bin those with v, and reports whether v is a number.
func widen(low, high Numbers, bin int, v float64) bool {
	if v-v != 0 { // NaN or infinity
		return false
	}
	n := float32(v)
	if !(low[bin] <= n) {
		low[bin] = n
	}
	if !(high[bin] >= n) {
		high[bin] = n
	}
	return true
}

// noNumbers returns a list of so many that are none.
func noNumbers(n int) Numbers { return slices.Repeat(Numbers{float32(math.NaN())}, n) }
