// Package timerange has the options of player and converter that select a time range of a recording.
package timerange

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
)

// optionTexts are the help texts of options: see config.Described.
//
//go:embed options.txt
var optionTexts string

// Range has the options that select a time range of a recording.
type Range struct {
	Begin       string        `param:"begin" short:"S" group:"Time range" value:"TIME"`
	End         string        `param:"end" short:"E" group:"Time range" value:"TIME"`
	StartOffset time.Duration `param:"start_offset" group:"Time range"`
	Duration    time.Duration `param:"playback_duration" short:"u" group:"Time range" alias:"duration"`
}

// OptionTexts returns the help texts of the options.
func (*Range) OptionTexts() string { return optionTexts }

// Select returns the selected time range of a recording from first to last: from start up to before end, or to the end
// of the recording if end is 0. If the selected range is partly outside of the recording, outside is a text that says
// so, else "". If it is completely outside, Select returns an error. All times are ns since the Unix epoch.
func (r *Range) Select(first, last int64) (start, end int64, outside string, err error) {
	fail := func(option string, value any, where string) (int64, int64, string, error) {
		return 0, 0, "", fmt.Errorf("--%s %v is %s the recording, which lasts %s s, %s", option, value, where,
			human.Seconds(last-first), span(first, last))
	}
	from, to := first, last
	if r.Begin != "" {
		from, err = parse("begin", r.Begin, first, last)
		if err != nil {
			return 0, 0, "", err
		}
		if from > last {
			return fail("begin", r.Begin, "after the end of")
		}
	}
	switch {
	case r.StartOffset > 0:
		from = codec.Later(max(from, first), int64(r.StartOffset))
		if from > last {
			return fail("start-offset", r.StartOffset, "beyond the end of")
		}
	case r.StartOffset < 0 && r.Begin == "":
		from = codec.Later(last, int64(r.StartOffset))
	case r.StartOffset < 0:
		from = max(from, codec.Later(last, int64(r.StartOffset)))
	}
	start = max(from, first)
	if r.Duration > 0 {
		end = codec.Later(start, int64(r.Duration))
		to = end - 1
	}
	if r.End != "" && !endless(r.End) {
		until, err := parse("end", r.End, first, last)
		switch {
		case err != nil:
			return 0, 0, "", err
		case until < first:
			return fail("end", r.End, "before the start of")
		case until < start:
			return 0, 0, "", config.Usagef("--end %s is before the beginning at %s", r.End, Text(start))
		case end == 0 || until < to:
			end, to = codec.Later(until, 1), until
		}
	}
	if from < first || to > last {
		outside = fmt.Sprintf("the selected time, %s, is partly outside of the recording, %s", span(from, to),
			span(first, last))
	}
	return start, end, outside, nil
}

// CheckTimes returns a usage error for a time that is invalid for any recording.
func (r *Range) CheckTimes() error {
	for option, text := range map[string]string{"begin": r.Begin, "end": r.End} {
		if text != "" && (option == "begin" || !endless(text)) {
			if _, err := parse(option, text, 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// endless reports whether a text for End is -1, which is rosbag2's default and means no end. Other negative numbers are
// not accepted, because they could mean a time before the end of the recording.
func endless(text string) bool { return slices.Contains([]string{"-1", "-1.0", "-1ns"}, text) }

func parse(option, text string, first, last int64) (int64, error) {
	t, err := Parse(text, first, last)
	if err != nil {
		return 0, config.Usagef("--%s %w", option, err)
	}
	return t, nil
}

func span(from, to int64) string { return "from " + Text(from) + " to " + Text(to) }

// Text returns a time in ns since the Unix epoch as a local date and time with ms.
func Text(ns int64) string { return time.Unix(0, ns).Format("2006-01-02 15:04:05.999") }

// layouts are the layouts of dates. Times without a zone are local.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02-15:04:05", "2006-01-02 15:04",
	"2006-01-02",
}

// Parse parses a time for a recording from first to last, and returns ns since the Unix epoch. The text may be seconds
// (12.5) or a duration (1m30s) from the start of the recording, a time of day in it, a date, or seconds or nanoseconds
// since 1970. The size of a number decides its unit. A number after @ is seconds since 1970 of any size, or nanoseconds
// if ns follows.
func Parse(text string, first, last int64) (int64, error) {
	if t, offset, err := parseNumber(text); err == nil && offset {
		return codec.Later(first, t), nil
	} else if err == nil {
		return t, nil
	}
	if since, absolute := strings.CutPrefix(text, "@"); absolute {
		if t, err := parseSince(since); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return codec.Later(first, int64(d)), nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			if !time.Unix(0, t.UnixNano()).Equal(t) {
				return 0, fmt.Errorf("%q: the date must be between 1677-09-22 and 2262-04-11", text)
			}
			return t.UnixNano(), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		clock, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		day := time.Unix(0, first)
		at := func(days int) int64 {
			return time.Date(day.Year(), day.Month(), day.Day()+days, clock.Hour(), clock.Minute(), clock.Second(),
				clock.Nanosecond(), time.Local).UnixNano()
		}
		if t := at(1); at(0) < first && t <= last { // the recording continued after midnight
			return t, nil
		}
		return at(0), nil
	}
	return 0, fmt.Errorf("%q is no time; want seconds from the start (12.5), 10:31:05, 2026-11-21 10:31:05.2, or "+
		"seconds or nanoseconds since 1970", text)
}

// parseSince parses a time since 1970: seconds, or nanoseconds if ns follows.
func parseSince(text string) (ns int64, err error) {
	if digits, nanoseconds := strings.CutSuffix(text, "ns"); nanoseconds {
		return strconv.ParseInt(digits, 10, 64)
	}
	if strings.ContainsAny(text, "eE") {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(seconds) || math.Abs(seconds) > math.MaxInt64/1e9 {
			return 0, strconv.ErrRange
		}
		return int64(seconds * 1e9), nil
	}
	whole, fraction, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || strings.Trim(fraction, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	if seconds > math.MaxInt64/1_000_000_000-1 {
		return 0, strconv.ErrRange
	}
	ns, err = strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	return int64(seconds)*1e9 + ns, err
}

const (
	longest = 100_000_000_000 // s; larger numbers are nanoseconds: the year 5138
	soonest = 1_000_000_000   // s; smaller numbers are offsets: the year 2001
)

// parseNumber parses a number. The result is in ns since 1970, or from the start of the recording if offset is true.
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
	if strings.Trim(fraction, "0123456789") != "" {
		return 0, false, errors.New("it is no number")
	}
	rest, err := strconv.ParseInt((fraction + "000000000")[:9], 10, 64)
	return n*1e9 + rest, n < soonest, err
}
