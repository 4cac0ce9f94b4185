package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tapedeck/codec"
)

// size writes a number of bytes as people read it.
func size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 1023.95 && unit < 3 {
		f /= 1024
		unit++
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGT"[unit])
}

// clock writes a time in ns as wall clock of this machine's time zone and as Unix seconds.
func clock(ns int64) string {
	return fmt.Sprintf("%s (%s)", shortClock(ns), seconds(ns))
}

func shortClock(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.000000000 MST") }

// seconds writes ns as seconds with all nine decimals.
func seconds(ns int64) string {
	sign, u := "", uint64(ns)
	if ns < 0 {
		sign, u = "-", -u
	}
	return fmt.Sprintf("%s%d.%09d", sign, u/1e9, u%1e9)
}

// count writes a number with its noun: "1 message", "2 messages".
func count[N int | int64 | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// printable returns s as it is, or quoted where it holds what could upset a terminal.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		return strconv.Quote(s)
	}
	return s
}

// span is the duration of a recording, 0 when it has none.
func span(info *codec.Info) time.Duration {
	if info.EndTime <= info.StartTime {
		return 0
	}
	d := info.EndTime - info.StartTime
	if d < 0 { // more than 292 years, from damaged times
		return math.MaxInt64
	}
	return time.Duration(d)
}
