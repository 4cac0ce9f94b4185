package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/internal/formats"
)

// ParsePatterns parses the values of a flag. A value may be a list with commas.
func ParsePatterns(flag string, texts []string) (pattern.Patterns, error) {
	p, err := pattern.ParseAll(formats.Split(texts))
	if err != nil {
		return nil, config.Usagef("--%s: %w", flag, err)
	}
	return p, nil
}

// Selection selects topics. A topic is selected if Include or Types match it, or if both are empty, and neither Exclude
// nor ExcludeTypes match it.
type Selection struct {
	Include, Exclude    pattern.Patterns // match names
	Types, ExcludeTypes pattern.Patterns // match types
}

// Wants reports whether a channel is selected.
func (s *Selection) Wants(c *codec.Channel) bool {
	return (len(s.Include)+len(s.Types) == 0 || s.Include.Match(c.Topic) || s.Types.MatchType(c.Type)) &&
		!s.Exclude.Match(c.Topic) && !s.ExcludeTypes.MatchType(c.Type)
}

// Check returns an error if the recordings have topics but none is selected, or if a pattern matches none. The caller
// passes in others the other options that match none, such as "--throttle /a=1Hz". If allowed, Check calls warn about
// patterns and options that match none.
func (s *Selection) Check(infos []*codec.Info, allowed bool, warn func(text string), others ...string) error {
	wanted := false
	var topics []*codec.Channel
	for _, info := range infos {
		for _, t := range info.Topics {
			wanted = wanted || s.Wants(t.Channel)
			topics = append(topics, t.Channel)
		}
	}
	if len(topics) == 0 {
		return nil
	}
	note := func(flag string, patterns pattern.Patterns, match func(pattern.Patterns, *codec.Channel) bool) {
		for _, p := range patterns {
			if p.Text != codec.EventTopic && // a recording need not have events
				!slices.ContainsFunc(topics, func(c *codec.Channel) bool { return match(pattern.Patterns{p}, c) }) {
				others = append(others, flag+" "+p.Text)
			}
		}
	}
	name := func(p pattern.Patterns, c *codec.Channel) bool { return p.Match(c.Topic) }
	typeName := func(p pattern.Patterns, c *codec.Channel) bool { return p.MatchType(c.Type) }
	note("--topics", s.Include, name)
	note("--exclude", s.Exclude, name)
	note("--topic-types", s.Types, typeName)
	note("--exclude-topic-types", s.ExcludeTypes, typeName)
	slices.Sort(others)
	switch text := "no topic matches " + strings.Join(others, ", "); {
	case len(others) > 0 && !allowed:
		return fmt.Errorf("%s; there are %s. Correct it (*image* matches names that contain image), or use "+
			"--allow-unmatched", text, topicNames(infos))
	case len(others) > 0:
		warn(text)
	}
	if !wanted {
		return fmt.Errorf("no topic is selected; there are %s", topicNames(infos))
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
	return human.List(slices.Compact(names))
}

// checkTopics returns an error if no topic of the recordings is selected, or if an option that names topics matches
// none. With --allow-unmatched it warns of such an option.
func (s *settings) checkTopics(infos []*codec.Info, warn func(string)) error {
	anyTopic := func(match func(topic string) bool) bool {
		return slices.ContainsFunc(infos, func(info *codec.Info) bool {
			return slices.ContainsFunc(info.Topics, func(t codec.TopicInfo) bool { return match(t.Channel.Topic) })
		})
	}
	var unmatched []string
	renamed := func(option string, match func(topic string) bool) {
		switch {
		case anyTopic(func(topic string) bool { return match(s.rename(topic)) }):
		case anyTopic(match):
			unmatched = append(unmatched, option+" once topics are renamed")
		default:
			unmatched = append(unmatched, option)
		}
	}
	for _, rule := range s.throttles {
		renamed("--throttle "+rule.Text, rule.Match)
	}
	for _, rule := range s.repeats {
		renamed("--repeat "+rule.Text, rule.Match)
	}
	for _, rule := range s.Remap {
		from, _, _ := strings.Cut(rule, ":=")
		from = strings.TrimPrefix(from, "/")
		if !anyTopic(func(topic string) bool { return strings.TrimPrefix(topic, "/") == from }) {
			unmatched = append(unmatched, "--remap "+rule)
		}
	}
	s.checkTypes(infos, warn)
	return s.selection.Check(infos, s.AllowUnmatched, warn, unmatched...)
}

// checkTypes warns if --remap gives topics of several types one name.
func (s *settings) checkTypes(infos []*codec.Info, warn func(string)) {
	if len(s.Remap) == 0 {
		return
	}
	types := map[string][]string{} // by name in the output
	renamed := map[string]bool{}
	for _, info := range infos {
		for _, t := range info.Topics {
			if c := t.Channel; s.selection.Wants(c) {
				name := s.rename(c.Topic)
				types[name] = append(types[name], c.Type)
				renamed[name] = renamed[name] || name != c.Topic
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		slices.Sort(types[name])
		if list := slices.Compact(types[name]); renamed[name] && len(list) > 1 {
			warn(fmt.Sprintf("--remap: %s has messages of several types: %s", human.Printable(name), human.List(list)))
		}
	}
}
