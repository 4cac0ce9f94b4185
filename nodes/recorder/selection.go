package main

import (
	"regexp"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
)

// selection says which topics are recorded.
type selection struct {
	all         bool
	topics      []string // full names
	regex       *regexp.Regexp
	exclude     *regexp.Regexp
	excluded    []string // full names
	nodes       []string // fully qualified: topics that one of them publishes or subscribes
	hidden      bool     // hidden topics too, unless they are named
	unpublished bool     // topics that nobody publishes too, unless they are named

	expand func(string) (string, error) // returns the full name of a topic
}

// newSelection checks what the options ask for. Relative names are expanded by expand.
func newSelection(o *options, topics []string, expand func(string) (string, error)) (*selection, error) {
	s := &selection{all: o.All, hidden: o.IncludeHiddenTopics, unpublished: o.IncludeUnpublishedTopics, expand: expand}
	for _, list := range []struct {
		from []string
		to   *[]string
	}{{topics, &s.topics}, {o.ExcludeTopics, &s.excluded}, {o.Node, &s.nodes}} {
		for _, name := range list.from {
			full, err := expand(name)
			if err != nil {
				return nil, config.Usagef("%w", err)
			}
			*list.to = append(*list.to, full)
		}
	}
	var err error
	if s.regex, err = graph.Regexp("regex", o.Regex); err != nil {
		return nil, err
	}
	if s.exclude, err = graph.Regexp("exclude_regex", o.ExcludeRegex); err != nil {
		return nil, err
	}
	return s, nil
}

// wants says whether topic is to be recorded now.
func (s *selection) wants(topic *bridge.Topic) bool {
	if slices.Contains(s.excluded, topic.Name) || s.exclude != nil && s.exclude.MatchString(topic.Name) {
		return false
	}
	if slices.Contains(s.topics, topic.Name) {
		return true
	}
	if topic.Name == codec.EventTopic { // of a recording that is played
		return false
	}
	if topic.Name == diagnosticsTopic && !slices.ContainsFunc(topic.Publishers, func(e bridge.Endpoint) bool { return !e.Own }) {
		return false // what the recorder itself says there is in the recording as events
	}
	if !s.hidden && isHidden(topic.Name) || !s.unpublished && len(topic.Publishers) == 0 {
		return false
	}
	return s.all || s.regex != nil && s.regex.MatchString(topic.Name) || s.byNode(topic)
}

// automatic says whether topics are picked up that are not named.
func (s *selection) automatic() bool { return s.all || s.regex != nil || len(s.nodes) > 0 }

func (s *selection) byNode(topic *bridge.Topic) bool {
	of := func(e bridge.Endpoint) bool { return slices.Contains(s.nodes, e.Node) }
	return slices.ContainsFunc(topic.Publishers, of) || slices.ContainsFunc(topic.Subscribers, of)
}

// isHidden says whether ROS 2's tools hide the topic: a part of its name begins with an underscore.
func isHidden(topic string) bool { return strings.Contains(topic, "/_") }
