package report

import (
	"math"
	"slices"
	"strconv"
)

// Number has ten digits in JSON, which is 1 mm of a position in UTM. NaN and infinity are null.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return appendNumber(nil, float64(n), 10), nil }

// appendNumber appends a number in JSON.
func appendNumber(b []byte, f float64, digits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'g', digits, 64)
}

// Numbers is a list of numbers with seven digits in JSON. NaN and infinity are null.
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

// widen widens the range of a bin to include v. It reports false, and does nothing, if v is NaN or infinite.
func widen(low, high Numbers, bin int, v float64) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
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

// noNumbers returns a list of n NaNs.
func noNumbers(n int) Numbers { return slices.Repeat(Numbers{float32(math.NaN())}, n) }
