// Package human writes numbers, sizes, times and names for people.
package human

import (
	"fmt"
	"io"
	"os"
	"time"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/text/printable"
)

// Stdout and Stderr are the standard streams of the commands. They escape characters that control a terminal, because
// recordings and peers supply parts of the texts.
var (
	Stdout = printable.Writer(standard(os.Stdout))
	Stderr = printable.LineWriter(standard(os.Stderr)) // each write is one line
)

// Data returns the writer for a file's content. For Stdout it returns standard output itself, without escaping, unless
// that is a terminal. For any other w it returns w.
func Data(w io.Writer) io.Writer {
	if stat, err := os.Stdout.Stat(); w == Stdout && err == nil && stat.Mode()&os.ModeCharDevice == 0 {
		return standard(os.Stdout)
	}
	return w
}

// Bytes returns a number of bytes in binary units: "1.5 MiB".
func Bytes(n int64) string {
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

// DiskBytes returns a number of bytes in the units in which disks are sold: "12.5 GB".
func DiskBytes(n int64) string {
	if n >= 10e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Clock returns a time in ns since the Unix epoch as local date and time, followed by Unix seconds.
func Clock(ns int64) string {
	return fmt.Sprintf("%s (%s)", ShortClock(ns), Seconds(ns))
}

// ShortClock returns a time in ns since the Unix epoch as local date and time.
func ShortClock(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.000000000 MST") }

// Seconds returns ns as seconds with nine decimals.
func Seconds(ns int64) string {
	if ns < 0 {
		return "-" + UnsignedSeconds(-uint64(ns))
	}
	return UnsignedSeconds(uint64(ns))
}

// UnsignedSeconds returns ns as seconds with nine decimals.
func UnsignedSeconds(ns uint64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }

// Count returns a number with its noun: "1 message", "2 messages".
func Count[N plural.Number](n N, noun string) string { return plural.Count(n, noun) }

// Printable returns a foreign name for display. It is quoted if it contains characters that must not reach a terminal.
func Printable(s string) string { return printable.Name(s) }

// OrDash returns Printable(s), or a dash if s is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return Printable(s)
}

// List returns the first names of a list: "/a, /b and 3 more".
func List(names []string) string { return plural.List(names) }
