package align

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseStamp returns the time in ns since the Unix epoch that text tells in seconds, as in "1764000000.033". It is exact: what is less than
// a nanosecond is cut off.
func ParseStamp(text string) (int64, error) {
	number, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(number, ".")
	if whole == "" && fraction == "" || !digits(whole) || !digits(fraction) {
		return 0, fmt.Errorf("time %q is no number of seconds", text)
	}
	fraction = (fraction + "000000000")[:9]
	ns, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("time %q is out of range", text)
	}
	if negative {
		ns = -ns
	}
	return ns, nil
}

func digits(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// FormatStamp is the reverse of ParseStamp: ms, and what is less if there is any.
func FormatStamp(ns int64) string {
	sign, u := "", uint64(ns)
	if ns < 0 {
		sign, u = "-", -u
	}
	fraction := fmt.Sprintf("%09d", u%1e9)
	return sign + strconv.FormatUint(u/1e9, 10) + "." + fraction[:3] + strings.TrimRight(fraction[3:], "0")
}
