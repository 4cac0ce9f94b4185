// Package selection decides which topics of the graph are recorded.
package selection

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/graph/rospub"
)

// Selection decides which topics are recorded.
type Selection struct {
	all, allServices, allActions bool

	Topics  Names // full names of topics
	calls   Names // full names of topics of requests and replies
	Actions Names // full names of actions
	types   Names // names of types
	regex   *regexp.Regexp
	nodes   Names // full names of nodes whose topics are recorded
	Static  []staticTopic

	excluded        Names // full names of topics
	excludedActions Names // full names of actions
	excludedTypes   Names // names of types
	exclude         *regexp.Regexp

	// For topics that are not named.
	hidden      bool  // record hidden topics, too
	unpublished bool  // record topics without a publisher, too
	ignoreLeafs bool  // omit topics without another subscriber
	Own         Names // topics that the recorder publishes, which are omitted unless another node publishes them

	Expand func(string) (string, error) // returns the full name of a topic
}

// Names is a set of names.
type Names map[string]bool

// onEveryNode reports whether the calls belong to a type of service that every node has.
func onEveryNode(typeName string) bool {
	return strings.HasPrefix(typeName, "rcl_interfaces/") || strings.HasPrefix(typeName, "type_description_interfaces/")
}

// Served reports whether another node serves the service whose requests or replies topic carries.
func Served(topic *bridge.Topic) bool {
	if strings.HasSuffix(topic.Name, bridge.CallRequests) {
		return slices.ContainsFunc(topic.Subscribers, foreign)
	}
	return slices.ContainsFunc(topic.Publishers, foreign)
}

// New returns the selection by the options and the named topics. It calls expand for the full names.
func New(o *TopicOptions, topics []string, expand func(string) (string, error)) (*Selection, error) {
	s := &Selection{
		all: o.All, allServices: o.AllServices, allActions: o.AllActions,
		Topics: Names{}, calls: Names{}, Actions: Names{}, types: Names{}, nodes: Names{},
		excluded: Names{}, excludedActions: Names{}, excludedTypes: Names{},
		hidden: o.IncludeHiddenTopics, unpublished: o.IncludeUnpublishedTopics, ignoreLeafs: o.IgnoreLeafTopics,
		Own: Names{rospub.DiagnosticsTopic: true}, Expand: expand,
	}
	for _, list := range []struct {
		from   []string
		suffix string
		to     Names
	}{
		{topics, "", s.Topics}, {o.Services, bridge.ServiceEvents, s.Topics},
		{o.Services, bridge.CallRequests, s.calls},
		{o.Services, bridge.CallReplies, s.calls}, {o.Actions, "", s.Actions}, {o.Node, "", s.nodes},
		{o.ExcludeTopics, "", s.excluded}, {o.ExcludeActions, "", s.excludedActions},
		{o.ExcludeServices, bridge.ServiceEvents, s.excluded},
		{o.ExcludeServices, bridge.CallRequests, s.excluded}, {o.ExcludeServices, bridge.CallReplies, s.excluded},
	} {
		for _, name := range list.from {
			full, err := expand(name + list.suffix)
			if err != nil {
				return nil, config.Usagef("%w", err)
			}
			list.to[full] = true
		}
	}
	for _, list := range []struct {
		parameter string
		from      []string
		to        Names
	}{{"topic_types", o.TopicTypes, s.types}, {"exclude_topic_types", o.ExcludeTopicTypes, s.excludedTypes}} {
		for _, name := range list.from {
			if !isTypeName(name) {
				return nil, config.Usagef("%s: %q is no type, want one such as sensor_msgs/msg/Imu", list.parameter,
					name)
			}
			list.to[name] = true
		}
	}
	var err error
	s.regex, err = graph.Regexp("regex", o.Regex)
	if err != nil {
		return nil, err
	}
	s.exclude, err = graph.Regexp("exclude_regex", o.ExcludeRegex)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(s.Topics, func(name string, _ bool) bool {
		return s.excluded[name] || s.exclude != nil && s.exclude.MatchString(name)
	})
	maps.DeleteFunc(s.Actions, func(name string, _ bool) bool { return s.excludedActions[name] })
	s.Static, err = readStaticTopics(o.StaticTopicsPath, expand)
	if err != nil {
		return nil, err
	}
	for _, static := range s.Static {
		s.Topics[static.Topic] = true
	}
	return s, nil
}

// Wants reports whether a topic is recorded now, with one of its types.
func (s *Selection) Wants(topic *bridge.Topic, typeName string) bool {
	name := topic.Name
	call, called := bridge.CallTopicOf(name, typeName)
	if s.excluded[name] || s.excludedActions[call.Action] || s.excludedTypes[typeName] ||
		s.exclude != nil && s.exclude.MatchString(name) {
		return false
	}
	if s.Topics[name] {
		return true
	}
	named := s.calls[name] || s.Actions[call.Action]
	asked := called && (named || call.Action != "" && s.allActions || call.Action == "" && s.allServices)
	switch {
	case call.Ending == bridge.CallRequests, call.Ending == bridge.CallReplies:
		return asked && (named || !onEveryNode(typeName)) && Served(topic)
	case name == codec.EventTopic, // events of a recording that is being played
		s.Own[name] && !slices.ContainsFunc(topic.Publishers, foreign),
		!s.hidden && bridge.IsHidden(name) && !asked,
		!s.unpublished && len(topic.Publishers) == 0,
		s.ignoreLeafs && !named && !slices.ContainsFunc(topic.Subscribers, foreign):
		return false
	}
	return s.all || asked || s.types[typeName] || s.regex != nil && s.regex.MatchString(name) || s.byNode(topic)
}

// Services reports whether calls of services or actions are recorded.
func (s *Selection) Services() bool {
	return s.allServices || s.allActions || len(s.calls)+len(s.Actions) > 0
}

// Automatic reports whether topics can be recorded that are not named.
func (s *Selection) Automatic() bool {
	return s.all || s.allServices || s.allActions || s.regex != nil || len(s.nodes)+len(s.types)+len(s.Actions) > 0
}

// byNode reports whether a selected node publishes or subscribes to a topic.
func (s *Selection) byNode(topic *bridge.Topic) bool {
	of := func(e bridge.Endpoint) bool { return s.nodes[e.Node] }
	return len(s.nodes) > 0 && (slices.ContainsFunc(topic.Publishers, of) || slices.ContainsFunc(topic.Subscribers, of))
}

// foreign reports whether an endpoint belongs to another node.
func foreign(e bridge.Endpoint) bool { return !e.Own }

// TypesOf returns the types that are published on topic or, without a publisher, subscribed to.
func TypesOf(topic *bridge.Topic) []string {
	if len(topic.Publishers) == 0 {
		return topic.Types
	}
	var types []string
	for _, p := range topic.Publishers {
		if !slices.Contains(types, p.Type) {
			types = append(types, p.Type)
		}
	}
	return types
}
