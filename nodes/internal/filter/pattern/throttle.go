package pattern

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Throttle passes only some messages of a topic. The zero value passes all.
type Throttle struct {
	period int64  // ns; 0: not limited by rate
	next   int64  // log time at which the next message is due, ns since the Unix epoch
	every  uint64 // pass one message in every; 0: all
	count  uint64 // messages so far
}

// early is the inverse of the part of a period by which a message may come before it is due. Due times stay a period
// apart, so the tolerance passes no additional messages.
const early = 4

// Passes reports whether a message passes. stamp is its log time in ns since the Unix epoch.
func (t *Throttle) Passes(stamp int64) bool {
	if t.every > 0 {
		t.count++
		return (t.count-1)%t.every == 0
	}
	switch until := t.next - stamp; {
	case until < -t.period || until > 2*t.period: // after a gap, or simulated time was reset
		t.next = stamp + t.period
	case until > t.period/early:
		return false
	default:
		t.next += t.period
	}
	return true
}

// ThrottleRule is a throttle for topics.
type ThrottleRule struct {
	Pattern
	throttle Throttle
}

// ParseThrottles parses rules, TOPIC=5Hz or TOPIC=1/10, where TOPIC is a pattern.
func ParseThrottles(texts []string) ([]ThrottleRule, error) {
	var list []ThrottleRule
	for _, text := range texts {
		name, limit, _ := strings.Cut(text, "=")
		topics, err := Parse(name)
		if err != nil {
			return nil, err
		}
		rule := ThrottleRule{Pattern: topics}
		if rate, isRate := strings.CutSuffix(strings.ToLower(limit), "hz"); isRate {
			hz, _ := strconv.ParseFloat(strings.TrimSpace(rate), 64)
			if period := float64(time.Second) / hz; period > 0 && period < math.MaxInt32*float64(time.Second) {
				rule.throttle.period = int64(period)
			}
		} else if every, isEvery := strings.CutPrefix(limit, "1/"); isEvery {
			rule.throttle.every, _ = strconv.ParseUint(every, 10, 64)
		}
		if name == "" || rule.throttle == (Throttle{}) {
			return nil, fmt.Errorf("%q is not allowed, want TOPIC=5Hz or TOPIC=1/10", text)
		}
		list = append(list, rule)
	}
	return list, nil
}

// ThrottleOf returns a throttle for a topic by the first matching rule, nil if no rule matches.
func ThrottleOf(rules []ThrottleRule, topic string) *Throttle {
	for _, rule := range rules {
		if rule.Match(topic) {
			t := rule.throttle
			return &t
		}
	}
	return nil
}
