// Package pattern has the patterns by which options select topics, and throttles for the selected topics.
package pattern

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Pattern selects names of topics or types. It is a name, a name in which * stands for anything, or else a regular
// expression that must match the whole name.
type Pattern struct {
	Text string
	re   *regexp.Regexp
}

// Parse parses a pattern.
func Parse(text string) (Pattern, error) {
	expression := `^(?:` + text + `)$`
	if !strings.ContainsAny(text, `\.+?()[]{}|^$`) {
		expression = "(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(text), `\*`, ".*") + "$"
	}
	p := Pattern{Text: text}
	var err error
	p.re, err = regexp.Compile(expression)
	if err != nil {
		return p, fmt.Errorf("%q is neither a name nor a regular expression: %w", text, err)
	}
	return p, nil
}

// Match reports whether p matches a name.
func (p Pattern) Match(name string) bool { return p.re.MatchString(name) }

// Patterns is a list of patterns, any of which may match.
type Patterns []Pattern

// ParseAll parses several patterns.
func ParseAll(texts []string) (Patterns, error) {
	var all Patterns
	for _, text := range texts {
		p, err := Parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// Match reports whether one of p matches a name.
func (p Patterns) Match(name string) bool {
	return slices.ContainsFunc(p, func(one Pattern) bool { return one.Match(name) })
}

// MatchType reports whether one of p matches a type. A pattern may also match pkg/msg/Type for ROS 1's pkg/Type.
func (p Patterns) MatchType(name string) bool {
	return p.Match(name) || strings.Count(name, "/") == 1 && p.Match(strings.Replace(name, "/", "/msg/", 1))
}

// Numbered is a pattern of topics with a number, such as "/camera/*=1".
type Numbered struct {
	Pattern
	number int
}

// ParseNumbered parses the values of an option. A value without a number gets the number missing. Numbers must be at
// least least.
func ParseNumbered(texts []string, missing, least int) ([]Numbered, error) {
	var list []Numbered
	for _, text := range texts {
		name, number, given := strings.Cut(text, "=")
		p := Numbered{number: missing}
		if given {
			n, err := strconv.Atoi(number)
			if err != nil {
				return nil, fmt.Errorf("%q is not allowed, want TOPIC=NUMBER", text)
			}
			p.number = n
		}
		if name == "" || p.number < least {
			return nil, fmt.Errorf("%q is not allowed, want TOPIC=NUMBER, at least %d", text, least)
		}
		var err error
		p.Pattern, err = Parse(name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// NumberOf returns the number of the first pattern that matches the topic.
func NumberOf(list []Numbered, topic string) (number int, found bool) {
	for _, p := range list {
		if p.Match(topic) {
			return p.number, true
		}
	}
	return 0, false
}
