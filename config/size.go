package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. Its text is "256MiB", "1GB" or a plain number. The units k, M, G, T, P and E (with or
// without B, in any case) are powers of 1000; Ki, Mi, Gi, Ti, Pi and Ei are powers of 1024.
type Size int64

// sizeUnits are the units of a Size, the largest first.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"EiB", 1 << 60}, {"PiB", 1 << 50}, {"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"EB", 1e18}, {"PB", 1e15}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// ParseSize parses a Size. Fractions are allowed ("1.5GB"). Negative sizes and commas are not: "1,5GB" could be read as
// 15 GB.
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(number, func(r rune) bool { return (r < '0' || r > '9') && r != '.' }); i >= 0 {
		number, unit = number[:i], strings.TrimSpace(number[i:])
	}
	for _, u := range sizeUnits {
		if !strings.EqualFold(unit, u.name) && !strings.EqualFold(unit+"B", u.name) {
			continue
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && n <= math.MaxInt64/u.bytes {
			return Size(n * u.bytes), nil
		}
		if x, err := strconv.ParseFloat(number, 64); err == nil && x*float64(u.bytes) < math.MaxInt64 {
			return Size(x * float64(u.bytes)), nil
		}
	}
	return 0, fmt.Errorf("%q is not a size", text)
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
