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

// The standard streams of the commands, whose texts may be those of others: nothing of them controls the terminal.
var (
	Stdout = printable.Writer(os.Stdout)
	Stderr = printable.LineWriter(os.Stderr) // each write is one line
)

// Data returns what the content of a file is written to that goes to standard output: standard output itself in the
// place of Stdout unless it is a terminal.
func Data(w io.Writer) io.Writer {
	if stat, err := os.Stdout.Stat(); w == Stdout && err == nil && stat.Mode()&os.ModeCharDevice == 0 {
		return os.Stdout
	}
	return w
}

// Bytes writes a number of bytes as people read it.
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

// DiskBytes writes a number of bytes in the units that disks are sold in.
func DiskBytes(n int64) string {
	if n >= 10e9 {
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// Clock writes a time in ns as wall clock of this machine's time zone and as Unix seconds.
func Clock(ns int64) string {
	return fmt.Sprintf("%s (%s)", ShortClock(ns), Seconds(ns))
}

// ShortClock returns a time in ns since the Unix epoch as date and time of the local zone.
func ShortClock(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.000000000 MST") }

// Seconds writes ns as seconds with all nine decimals.
func Seconds(ns int64) string {
	if ns < 0 {
		return "-" + UnsignedSeconds(-uint64(ns))
	}
	return UnsignedSeconds(uint64(ns))
}

// UnsignedSeconds writes ns as seconds with all nine decimals.
func UnsignedSeconds(ns uint64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }

// Count writes a number with its noun: "1 message", "2 messages".
func Count[N plural.Number](n N, noun string) string { return plural.Count(n, noun) }

// Printable returns a name of others to be shown: as it is, or quoted where it holds what could upset a terminal.
func Printable(s string) string { return printable.Name(s) }

// OrDash returns a printable s, or a dash for the empty string.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return Printable(s)
}

// List names some things: "/a, /b and 3 more".
func List(names []string) string { return plural.List(names) }
