package player

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/text/human"
	"tapedeck/config"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/internal/graph"
)

// topicOption is an option that selects topics.
type topicOption struct {
	option  string
	text    string
	exclude bool
	match   func(c *codec.Channel) bool
}

// selectors returns the options that select topics.
func (o *options) selectors() (all []topicOption, err error) {
	add := func(option string, texts []string, match func(p pattern.Patterns, c *codec.Channel) bool) {
		for _, text := range texts {
			p, failed := pattern.Parse(text)
			if failed != nil && err == nil {
				err = config.Usagef("%s: %w", option, failed)
			}
			all = append(all, topicOption{option, text, strings.HasPrefix(option, "exclude"),
				func(c *codec.Channel) bool { return match(pattern.Patterns{p}, c) }})
		}
	}
	topics := func(p pattern.Patterns, c *codec.Channel) bool { return matches(p, c.Topic) }
	types := func(p pattern.Patterns, c *codec.Channel) bool { return p.MatchType(c.Type) }
	services := func(p pattern.Patterns, c *codec.Channel) bool {
		call, _ := bridge.CallTopicOf(c.Topic, c.Type)
		return call.Service != "" && matches(p, call.Service)
	}
	actions := func(p pattern.Patterns, c *codec.Channel) bool {
		call, _ := bridge.CallTopicOf(c.Topic, c.Type)
		return call.Action != "" && matches(p, call.Action)
	}
	add("topics", o.Topics, topics)
	add("topic_types", o.TopicTypes, types)
	add("services", o.Services, services)
	add("actions", o.Actions, actions)
	add("exclude_topics", o.ExcludeTopics, topics)
	add("exclude_topic_types", o.ExcludeTopicTypes, types)
	add("exclude_services", o.ExcludeServices, services)
	add("exclude_actions", o.ExcludeActions, actions)
	for _, r := range []struct{ option, text string }{{"regex", o.Regex}, {"exclude_regex", o.ExcludeRegex}} {
		if re, failed := graph.Regexp(r.option, r.text); failed != nil {
			return nil, failed
		} else if re != nil {
			re = regexp.MustCompile("^(?:" + r.text + ")$") // as in rosbag2's player, but not its recorder
			all = append(all, topicOption{r.option, r.text, strings.HasPrefix(r.option, "exclude"),
				func(c *codec.Channel) bool { return re.MatchString(c.Topic) }})
		}
	}
	return all, err
}

// matches reports whether a pattern matches a name. The first slash may be missing in either.
func matches(p pattern.Patterns, name string) bool {
	return p.Match(full(name)) || p.Match(strings.TrimPrefix(name, "/"))
}

// topicFilter returns a function that reports whether the options select a channel. If the player publishes /clock, a
// recorded /clock is excluded.
func topicFilter(o *options) (func(*codec.Channel) bool, error) {
	selectors, err := o.selectors()
	if err != nil {
		return nil, err
	}
	clocked := o.Clock > 0 || len(o.ClockTopics) > 0 || o.ClockTopicsAll
	topicsNamed := len(o.Topics)+len(o.TopicTypes) > 0 || o.Regex != ""
	return func(c *codec.Channel) bool {
		if clocked && full(c.Topic) == clockTopic {
			return false
		}
		wants := !topicsNamed && !codec.IsEvents(c) // the recorder's own events topic is played only when it is named
		switch call, ok := bridge.CallTopicOf(c.Topic, c.Type); {
		case call.Action != "":
			wants = wants && len(o.Actions) == 0
		case ok:
			wants = wants && len(o.Services) == 0
		}
		for _, s := range selectors {
			if s.match(c) {
				if s.exclude {
					return false
				}
				wants = true
			}
		}
		return wants
	}, nil
}

// ownName matches the names of the player's own topics and services, which --remap may also name.
var ownName = regexp.MustCompile(`^/?(~|__)|^/(clock|diagnostics|rosout|parameter_events|events/.*|player/.*)$`)

// unmatched returns an error if options name topics that channels lack.
func (o *options) unmatched(channels []*codec.Channel) error {
	selectors, err := o.selectors()
	if err != nil {
		return err
	}
	var missing []string
	for _, s := range selectors {
		if !slices.ContainsFunc(channels, s.match) {
			text := "--" + strings.ReplaceAll(s.option, "_", "-") + " " + s.text
			if strings.HasSuffix(s.option, "regex") {
				text += " (as a whole; .* stands for anything)"
			}
			missing = append(missing, text)
		}
	}
	for _, list := range []struct {
		flag  string
		names []string
	}{{"--pause-topics ", o.PauseTopics}, {"--clock-topics ", o.ClockTopics}} {
		for _, name := range list.names {
			if !slices.ContainsFunc(channels, func(c *codec.Channel) bool { return full(name) == full(c.Topic) }) {
				missing = append(missing, list.flag+name)
			}
		}
	}
	for _, rule := range o.Remap {
		from, _, _ := strings.Cut(rule, ":=")
		if !ownName.MatchString(full(from)) && !slices.ContainsFunc(channels, func(c *codec.Channel) bool {
			call, _ := bridge.CallTopicOf(c.Topic, c.Type)
			return full(from) == full(c.Topic) || full(from) == full(call.Service)
		}) {
			missing = append(missing, "--remap "+rule)
		}
	}
	if len(missing) == 0 || len(channels) == 0 {
		return nil
	}
	var names []string
	for _, c := range channels {
		names = append(names, c.Topic)
	}
	slices.Sort(names)
	return fmt.Errorf("no topic matches %s; there are %s. Correct it, or use --allow-unmatched",
		strings.Join(missing, ", "), human.List(slices.Compact(names)))
}
