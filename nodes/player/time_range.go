package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tapedeck/config"
)

// layouts are the layouts of dates with times; those without a zone are local.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02-15:04:05.999999999",
	"2006-01-02 15:04",
}

// parseTime parses a time and returns ns since the Unix epoch. It may be a date and time, a time of day within the
// recording, seconds since its start, or seconds or nanoseconds since 1970, which are told apart by size.
func parseTime(text string, start, end int64) (int64, error) {
	if t, offset, err := parseNumber(text); err == nil {
		if offset {
			t += max(min(start, math.MaxInt64-t), 0)
		}
		return t, nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t.UnixNano(), nil
		}
	}
	for _, layout := range []string{"15:04:05.999999999", "15:04"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		day := time.Unix(0, start)
		at := func(days int) int64 {
			return time.Date(day.Year(), day.Month(), day.Day()+days, clock.Hour(), clock.Minute(), clock.Second(),
				clock.Nanosecond(), time.Local).UnixNano()
		}
		if t := at(1); at(0) < start && t <= end { // it went past midnight
			return t, nil
		}
		return at(0), nil
	}
	return 0, fmt.Errorf("%q is no time; want seconds from the start (12.5), 10:31:05, 2026-11-21 10:31:05.2, or "+
		"seconds or nanoseconds since 1970", text)
}

const (
	longest = 100_000_000_000 // the largest number taken for seconds: about the year 5000
	soonest = 1_000_000_000   // the smallest number taken for seconds since 1970, in the converter, too: the year 2001
)

// parseNumber parses a number, of ns since 1970 unless it is an offset from the start of the recording.
func parseNumber(text string) (ns int64, offset bool, err error) {
	whole, fraction, _ := strings.Cut(text, ".")
	unsigned, err := strconv.ParseUint(whole, 10, 63)
	if err != nil {
		return 0, false, err
	}
	n := int64(unsigned)
	if n >= longest && fraction == "" {
		return n, false, nil
	}
	if n > math.MaxInt64/1_000_000_000-1 {
		return 0, false, errors.New("it is too large")
	}
	offset = n < soonest
	n *= 1e9
	if fraction != "" {
		rest, err := strconv.ParseUint((fraction + "000000000")[:9], 10, 64)
		if err != nil {
			return 0, false, err
		}
		n += int64(rest)
	}
	return n, offset, nil
}

// timeRange returns what to play of a recording from start to end: from first up to before last. All times are ns.
func (o *options) timeRange(start, end int64) (first, last int64, err error) {
	first, last = start, end+1
	if o.Begin != "" {
		if first, err = parseTime(o.Begin, start, end); err != nil {
			return 0, 0, config.Usagef("begin: %w", err)
		}
		if first > end {
			return 0, 0, fmt.Errorf("begin: %s is after the end of the recording at %s", clockText(first), clockText(end))
		}
		first = max(first, start)
	}
	if o.StartOffset > 0 && int64(o.StartOffset) > end-first {
		return 0, 0, fmt.Errorf("start_offset: %v is more than the recording lasts, %v", o.StartOffset,
			time.Duration(end-start))
	}
	if o.StartOffset < 0 { // saturating: the offset may be centuries
		first = max(first, end+max(int64(o.StartOffset), start-end))
	} else {
		first += int64(o.StartOffset)
	}
	if o.Duration > 0 && int64(o.Duration) < last-first {
		last = first + int64(o.Duration)
	}
	if o.End != "" && !strings.HasPrefix(o.End, "-") { // rosbag2 ignores negative times
		t, err := parseTime(o.End, start, end)
		if err != nil {
			return 0, 0, config.Usagef("end: %w", err)
		}
		if t < first {
			return 0, 0, fmt.Errorf("end: %s is before the beginning at %s", clockText(t), clockText(first))
		}
		last = min(last, t+1)
	}
	if o.until > 0 {
		if o.until < first {
			return 0, 0, fmt.Errorf("end: %s is before the beginning at %s", clockText(o.until), clockText(first))
		}
		last = min(last, o.until+1)
	}
	return first, last, nil
}

func clockText(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.999") }
