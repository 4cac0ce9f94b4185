package main

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// pattern is a name of topics in which * stands for anything, with a number: "/camera/*=1".
type pattern struct {
	topics *regexp.Regexp
	number int
}

// parsePatterns reads the values of an option. Where only a topic is given, its number is missing.
func parsePatterns(texts []string, missing, least int) ([]pattern, error) {
	var list []pattern
	for _, text := range texts {
		name, number, given := strings.Cut(text, "=")
		p := pattern{number: missing}
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
		p.topics = wildcard(name)
		list = append(list, p)
	}
	return list, nil
}

// wildcard returns what matches names of topics in which * stands for anything.
func wildcard(name string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(name), `\*`, ".*") + "$")
}

// numberOf returns the number of the first pattern that matches the topic.
func numberOf(list []pattern, topic string) (number int, found bool) {
	for _, p := range list {
		if p.topics.MatchString(topic) {
			return p.number, true
		}
	}
	return 0, false
}
