package convert

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
)

// Patterns are topic names, or regular expressions that match a whole name.
type Patterns []*regexp.Regexp

// ParsePatterns parses the values of a flag, which may be separated by commas.
func ParsePatterns(flag string, texts []string) (Patterns, error) {
	var p Patterns
	for _, text := range formats.Split(texts) {
		re, err := regexp.Compile(`^(?:` + text + `)$`)
		if err != nil {
			return nil, config.Usagef("--%s %q is neither a topic's name nor a regular expression: %v", flag, text, err)
		}
		p = append(p, re)
	}
	return p, nil
}

// Match reports whether one of p matches a topic.
func (p Patterns) Match(topic string) bool {
	return slices.ContainsFunc(p, func(re *regexp.Regexp) bool { return re.MatchString(topic) })
}

// Selection selects the topics that Include matches, or all if it is empty, without those that Exclude matches.
type Selection struct {
	Include, Exclude Patterns
}

// Wants reports whether a channel is selected.
func (s *Selection) Wants(c *codec.Channel) bool {
	return (len(s.Include) == 0 || s.Include.Match(c.Topic)) && !s.Exclude.Match(c.Topic)
}

// Check returns an error if the recordings have topics but none is selected, and calls warn for each pattern of Include
// that matches nothing.
func (s *Selection) Check(infos []*codec.Info, warn func(string)) error {
	var names []string
	wanted := false
	for _, info := range infos {
		for _, t := range info.Topics {
			wanted = wanted || s.Wants(t.Channel)
			names = append(names, human.Printable(t.Channel.Topic))
		}
	}
	if !wanted && len(names) > 0 {
		slices.Sort(names)
		return fmt.Errorf("no topic is selected; there are %s", strings.Join(slices.Compact(names), ", "))
	}
	for _, re := range s.Include {
		if !slices.ContainsFunc(infos, func(info *codec.Info) bool {
			return slices.ContainsFunc(info.Topics, func(t codec.TopicInfo) bool { return re.MatchString(t.Channel.Topic) })
		}) {
			pattern := strings.TrimSuffix(strings.TrimPrefix(re.String(), "^(?:"), ")$")
			warn(fmt.Sprintf("no topic matches %q", pattern))
		}
	}
	return nil
}

// Moment is a time given on the command line: an offset from the start of the recording or an absolute time.
type Moment struct {
	NS       int64 // since the Unix epoch
	Relative bool  // since the start of the recording
}

// At returns the absolute time of m in a recording that begins at start.
func (m Moment) At(start int64) int64 {
	if !m.Relative {
		return m.NS
	}
	if t := start + m.NS; m.NS <= 0 || t > start {
		return t
	}
	return math.MaxInt64
}

// Window parses the values of --start and --end, "" for none, for a recording from first to last.
func Window(start, end string, first, last int64) (q codec.Query, err error) {
	p := &plan{Options: Options{Start: start, End: end}}
	if p.start, err = optionalMoment("start", start); err != nil {
		return q, err
	}
	if p.end, err = optionalMoment("end", end); err != nil {
		return q, err
	}
	return p.window(first, last)
}

var layouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02-15:04:05",
	"2006-01-02 15:04", "2006-01-02"}

// ParseMoment parses a time: seconds ("12.5") or a duration ("1m30s") after the start of the recording; seconds or ns
// since the Unix epoch, recognised by their size; RFC 3339; or local time ("2021-07-23 09:12:15").
func ParseMoment(flag, text string) (Moment, error) {
	if number, ok := new(big.Rat).SetString(text); ok && !strings.ContainsAny(text, "/eEpPxX_") {
		if number.Sign() < 0 {
			return Moment{}, config.Usagef("--%s %s is before the start of the recording", flag, text)
		}
		if number.IsInt() && number.Cmp(big.NewRat(1e15, 1)) >= 0 {
			if !number.Num().IsInt64() {
				return Moment{}, config.Usagef("--%s %s ns is beyond the year 2262", flag, text)
			}
			return Moment{NS: number.Num().Int64()}, nil
		}
		ns := new(big.Rat).Mul(number, big.NewRat(1e9, 1))
		whole := new(big.Int).Quo(ns.Num(), ns.Denom())
		if !whole.IsInt64() {
			return Moment{}, config.Usagef("--%s %s is neither seconds nor nanoseconds since 1970", flag, text)
		}
		return Moment{NS: whole.Int64(), Relative: number.Cmp(big.NewRat(1e9, 1)) < 0}, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return Moment{NS: int64(d), Relative: true}, nil
	}
	for _, layout := range layouts {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			if t.Year() < 1678 || t.Year() > 2261 {
				return Moment{}, config.Usagef("--%s %s: the year must be between 1678 and 2261", flag, text)
			}
			return Moment{NS: t.UnixNano()}, nil
		}
	}
	return Moment{}, config.Usagef("--%s %q is no time; give seconds from the start (12.5), a date (2021-07-23 "+
		"09:12:15) or nanoseconds since 1970", flag, text)
}
