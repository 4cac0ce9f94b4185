package session

import (
	"fmt"
	"strconv"
	"strings"
)

// Stamps are seconds with that many decimals at least, and at most as many as there are nanoseconds.
const (
	minDecimals = 3
	maxDecimals = 9
	maxStamp    = 40 // bytes of the text
)

// parseStamp reads seconds as decimal text, "1764000000.033". It is exact; what is less than a nanosecond is rounded,
// half of one up.
func parseStamp(text string) (int64, error) {
	number, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(number, ".")
	if len(text) > maxStamp || whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return 0, fmt.Errorf("time %.40q is no number of seconds since 1970, such as 1764000000.033", text)
	}
	ns, err := strconv.ParseInt(whole+(fraction + strings.Repeat("0", maxDecimals))[:maxDecimals], 10, 64)
	if err != nil || ns+1 < ns {
		return 0, fmt.Errorf("time %.40q is out of range", text)
	}
	if len(fraction) > maxDecimals && fraction[maxDecimals] >= '5' {
		ns++
	}
	if negative {
		ns = -ns
	}
	return ns, nil
}

func allDigits(s string) bool { return digits(s) == len(s) }

// appendStamp appends a stamp as exact seconds, with as few decimals as that takes.
func appendStamp(b []byte, ns int64) []byte {
	rest := uint64(ns)
	if ns < 0 {
		b, rest = append(b, '-'), -rest
	}
	b = append(strconv.AppendUint(b, rest/1e9, 10), '.')
	rest %= 1e9
	for n, unit := 0, uint64(1e8); n < minDecimals || rest > 0; n, unit = n+1, unit/10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}

func formatStamp(ns int64) string { return string(appendStamp(nil, ns)) }
