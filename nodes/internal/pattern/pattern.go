// Package pattern has the patterns that options name topics by.
package pattern

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Numbered is a name of topics in which * stands for anything, with a number: "/camera/*=1".
type Numbered struct {
	topics *regexp.Regexp
	number int
}

// ParseNumbered reads the values of an option. Where only a topic is given, its number is missing.
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
		p.topics = Wildcard(name)
		list = append(list, p)
	}
	return list, nil
}

// Wildcard returns what matches names of topics in which * stands for anything.
func Wildcard(name string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*") + "$")
}

// NumberOf returns the number of the first pattern that matches the topic.
func NumberOf(list []Numbered, topic string) (number int, found bool) {
	for _, p := range list {
		if p.topics.MatchString(topic) {
			return p.number, true
		}
	}
	return 0, false
}
