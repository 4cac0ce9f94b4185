package main

import (
	"fmt"
	"slices"
	"time"

	"tapedeck/nodes/internal/human"
)

// times describes how the times of messages with equal payloads differ.
type times struct {
	matched   int   // messages
	offset    int64 // log time in the second recording minus that in the first, the median
	mean, max float64
	worst     *topicComparison // where max is
	at        pair
}

// compareTimes fills in d.times, and marks messages that are padded or late.
func (d *comparison) compareTimes() {
	var offsets []int64
	t := &d.times
	for _, c := range d.topics {
		for p := range c.matches {
			a, b := &c.a.messages[p.a], &c.b.messages[p.b]
			if a.hash == b.hash && a.size != b.size {
				c.padded++
			}
			offsets = append(offsets, b.log-a.log)
		}
	}
	if t.matched = len(offsets); t.matched == 0 {
		return
	}
	slices.Sort(offsets)
	t.offset = offsets[t.matched/2]
	sum := 0.0
	for _, c := range d.topics {
		for p := range c.matches {
			off := c.b.messages[p.b].log - c.a.messages[p.a].log - t.offset
			off = max(off, -off)
			sum += float64(off)
			if float64(off) > t.max {
				t.max, t.worst, t.at = float64(off), c, p
			}
			if d.tolerance >= 0 && time.Duration(off) > d.tolerance {
				c.late = append(c.late, p)
			}
		}
	}
	t.mean = sum / float64(t.matched)
}

// note describes how times differ.
func (t *times) note() string {
	shift := fmt.Sprintf("log times in B are %s s later than in A", human.Seconds(t.offset))
	if t.offset < 0 {
		shift = fmt.Sprintf("log times in B are %s s earlier than in A", human.Seconds(-t.offset))
	}
	switch {
	case t.offset == 0 && t.max == 0:
		return "log times are the same"
	case t.max == 0:
		return shift + ", all of them"
	}
	return fmt.Sprintf("%s; beyond that they differ by %v on average and by %v at most, at message %d of %s", shift,
		rounded(t.mean), rounded(t.max), t.at.a, t.worst.key)
}

func rounded(ns float64) time.Duration {
	d := time.Duration(ns)
	if d > 10*time.Microsecond {
		return d.Round(time.Microsecond)
	}
	return d
}
