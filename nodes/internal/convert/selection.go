package convert

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
	"tapedeck/nodes/internal/human"
	"tapedeck/nodes/internal/pattern"
)

// ParsePatterns parses the values of a flag, which may be separated by commas.
func ParsePatterns(flag string, texts []string) (pattern.Patterns, error) {
	p, err := pattern.ParseAll(formats.Split(texts))
	if err != nil {
		return nil, config.Usagef("--%s: %w", flag, err)
	}
	return p, nil
}

// Selection selects the topics that Include or Types match, or all if both are empty, without those that Exclude or
// ExcludeTypes match.
type Selection struct {
	Include, Exclude    pattern.Patterns // of names
	Types, ExcludeTypes pattern.Patterns // of types
}

// Wants reports whether a channel is selected.
func (s *Selection) Wants(c *codec.Channel) bool {
	return (len(s.Include)+len(s.Types) == 0 || s.Include.Match(c.Topic) || s.Types.MatchType(c.Type)) &&
		!s.Exclude.Match(c.Topic) && !s.ExcludeTypes.MatchType(c.Type)
}

// Check returns an error if the recordings have topics but none is selected, and calls unmatched for each pattern that
// matches nothing, with its flag.
func (s *Selection) Check(infos []*codec.Info, unmatched func(flag, text string)) error {
	wanted := false
	var topics []*codec.Channel
	for _, info := range infos {
		for _, t := range info.Topics {
			wanted = wanted || s.Wants(t.Channel)
			topics = append(topics, t.Channel)
		}
	}
	if !wanted && len(topics) > 0 {
		return fmt.Errorf("no topic is selected; there are %s", topicNames(infos))
	}
	for _, p := range s.Include {
		if !slices.ContainsFunc(topics, func(c *codec.Channel) bool { return p.Match(c.Topic) }) {
			unmatched("topics", p.Text)
		}
	}
	for _, p := range s.Exclude {
		if !slices.ContainsFunc(topics, func(c *codec.Channel) bool { return p.Match(c.Topic) }) {
			unmatched("exclude", p.Text)
		}
	}
	for flag, types := range map[string]pattern.Patterns{"topic-types": s.Types, "exclude-topic-types": s.ExcludeTypes} {
		for _, p := range types {
			if !slices.ContainsFunc(topics, func(c *codec.Channel) bool { return pattern.Patterns{p}.MatchType(c.Type) }) {
				unmatched(flag, p.Text)
			}
		}
	}
	return nil
}

// topicNames lists the topics of recordings.
func topicNames(infos []*codec.Info) string {
	var names []string
	for _, info := range infos {
		for _, t := range info.Topics {
			names = append(names, human.Printable(t.Channel.Topic))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// check returns an error if the recordings have nothing that is selected, or nothing for an option that names topics. It
// warns of such an option with --allow-unmatched.
func (p *plan) check(infos []*codec.Info, warn func(string)) error {
	var unmatched []string
	note := func(flag, text string) { unmatched = append(unmatched, fmt.Sprintf("--%s %s", flag, text)) }
	if err := p.selection.Check(infos, note); err != nil {
		return err
	}
	any := func(match func(topic string) bool) bool {
		return slices.ContainsFunc(infos, func(info *codec.Info) bool {
			return slices.ContainsFunc(info.Topics, func(t codec.TopicInfo) bool { return match(t.Channel.Topic) })
		})
	}
	for _, rule := range p.throttles {
		if !any(func(topic string) bool { return rule.Match(p.rename(topic)) }) {
			note("throttle", rule.Text)
		}
	}
	for _, rule := range p.repeats {
		if !any(func(topic string) bool { return rule.Match(p.rename(topic)) }) {
			note("repeat", rule.Text)
		}
	}
	for _, rule := range p.Remap {
		from, _, _ := strings.Cut(rule, ":=")
		if !any(func(topic string) bool { return strings.TrimPrefix(topic, "/") == strings.TrimPrefix(from, "/") }) {
			note("remap", rule)
		}
	}
	if len(unmatched) == 0 || !any(func(string) bool { return true }) {
		return nil
	}
	slices.Sort(unmatched)
	if p.AllowUnmatched {
		warn("no topic matches " + strings.Join(unmatched, ", "))
		return nil
	}
	return fmt.Errorf("no topic matches %s; there are %s. Correct it (*image* matches names that contain image), or use "+
		"--allow-unmatched", strings.Join(unmatched, ", "), topicNames(infos))
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
