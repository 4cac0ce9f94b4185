// Package number converts numbers. Go's own conversions of floats that are out of range give other results on arm64
// than on amd64.
package number

import "math"

// Int64 returns f as an int64: truncated, and limited to the range of int64. It returns 0 for NaN.
func Int64(f float64) int64 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}
