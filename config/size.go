package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// Size is a number of bytes. It reads and prints as "256MiB", "1GB" or a plain number: k, M, G and T (with or without
// B) are powers of 1000, Ki, Mi, Gi and Ti powers of 1024.
type Size int64

// ParseSize reads a Size. Fractions are allowed ("1.5GB"), negative sizes and commas are not: "1,5GB" would be 15 GB.
func ParseSize(text string) (Size, error) {
	n, err := humanize.ParseBytes(strings.TrimSpace(text))
	if err != nil || n > math.MaxInt64 || strings.Contains(text, ",") {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	return Size(n), nil
}

// String returns the size in the largest unit that divides it.
func (s Size) String() string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{
		{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3},
	} {
		if s != 0 && int64(s)%u.bytes == 0 {
			return strconv.FormatInt(int64(s)/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
