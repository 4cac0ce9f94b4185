package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. It reads and prints as "256MiB", "1GB" or a plain number: k, M, G and T (with or without
// B) are powers of 1000, Ki, Mi, Gi and Ti powers of 1024.
type Size int64

// sizeUnits holds the units that String prints, largest first where two have the same base.
var sizeUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3},
}

// ParseSize reads a Size. Fractions are allowed ("1.5GB"), negative sizes are not.
func ParseSize(text string) (Size, error) {
	number, unit := strings.TrimSpace(text), ""
	if i := strings.IndexFunc(number, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); i >= 0 {
		number, unit = number[:i], strings.TrimSpace(number[i:])
	}
	scale := int64(1)
	if unit != "" && !strings.EqualFold(unit, "B") {
		scale = 0
		for _, u := range sizeUnits {
			if strings.EqualFold(unit, u.name) || strings.EqualFold(unit, u.name[:len(u.name)-1]) {
				scale = u.bytes
			}
		}
	}
	if scale == 0 {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n <= math.MaxInt64/scale {
		return Size(n * scale), nil
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f*float64(scale) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	return Size(f * float64(scale)), nil
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
