package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// throttle lets through only some of the messages of a topic. The zero value lets all through.
type throttle struct {
	period int64  // ns; 0: it is not the rate that counts
	next   int64  // log time, ns since the Unix epoch, when the next message is due
	every  uint64 // of so many messages the first; 0: all
	count  uint64 // of messages
}

// early is by which part of a period a message may be before its time. It does not make more messages pass: the times stay a
// period apart.
const early = 4

// passes says whether a message with that log time is recorded.
func (t *throttle) passes(stamp int64) bool {
	if t.every > 0 {
		t.count++
		return (t.count-1)%t.every == 0
	}
	switch until := t.next - stamp; {
	case until < -t.period || until > 2*t.period: // none came for a while, or simulated time began anew
		t.next = stamp + t.period
	case until > t.period/early:
		return false
	default:
		t.next += t.period
	}
	return true
}

// throttleRule is a throttle for topics.
type throttleRule struct {
	topics   *regexp.Regexp
	throttle throttle
}

// parseThrottles reads the values of the option: TOPIC=5Hz, TOPIC=1/10.
func parseThrottles(texts []string) ([]throttleRule, error) {
	var list []throttleRule
	for _, text := range texts {
		name, limit, _ := strings.Cut(text, "=")
		rule := throttleRule{topics: wildcard(name)}
		if rate, isRate := strings.CutSuffix(strings.ToLower(limit), "hz"); isRate {
			hz, _ := strconv.ParseFloat(strings.TrimSpace(rate), 64)
			if period := float64(time.Second) / hz; period > 0 && period < math.MaxInt32*float64(time.Second) {
				rule.throttle.period = int64(period)
			}
		} else if every, isEvery := strings.CutPrefix(limit, "1/"); isEvery {
			rule.throttle.every, _ = strconv.ParseUint(every, 10, 64)
		}
		if name == "" || rule.throttle == (throttle{}) {
			return nil, fmt.Errorf("%q is not allowed, want TOPIC=5Hz or TOPIC=1/10", text)
		}
		list = append(list, rule)
	}
	return list, nil
}

// throttleOf returns the throttle of a topic by the first rule that matches, nil if there is none.
func throttleOf(rules []throttleRule, topic string) *throttle {
	for _, rule := range rules {
		if rule.topics.MatchString(topic) {
			t := rule.throttle
			return &t
		}
	}
	return nil
}
