package session

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tapedeck/codec/training/align"
)

// parseNumber reads a value in Python's notation: a float, an int, a bool, or an empty text for None.
func parseNumber(text string) (float64, error) {
	switch text {
	case "":
		return align.Missing(), nil
	case "True":
		return 1, nil
	case "False":
		return 0, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("value %.40q is too large", text)
	case err != nil:
		return 0, fmt.Errorf("value %.40q is not a number", text)
	case math.IsNaN(v):
		return math.NaN(), nil // the parsed NaN could have the bits of align.Missing
	}
	return v, nil
}

// appendNumber appends a value in Python's notation of a float. If mayBeInt is set, it appends a whole value in the
// notation of an int.
func appendNumber(b []byte, v float64, mayBeInt bool) []byte {
	size := math.Abs(v)
	switch {
	case math.IsNaN(v):
		return append(b, "nan"...)
	case math.IsInf(v, 0):
		return append(b, strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+"))...)
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	b = strconv.AppendFloat(b, v, 'f', -1, 64)
	if v == math.Trunc(v) && !mayBeInt {
		b = append(b, ".0"...)
	}
	return b
}

const (
	maxDecimals = 9  // decimals of seconds that are kept
	maxStamp    = 40 // bytes of the text of a stamp
)

// parseStamp reads seconds as decimal text, "1764000000.033". It rounds to ns, half a ns up.
func parseStamp(text string) (int64, error) {
	number, negative := strings.CutPrefix(text, "-")
	whole, fraction, _ := strings.Cut(number, ".")
	if len(text) > maxStamp || whole == "" && fraction == "" || !allDigits(whole) || !allDigits(fraction) {
		return 0, fmt.Errorf("time %.40q is not a number of seconds since 1970, such as 1764000000.033", text)
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

func allDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }
