package main

import (
	"fmt"
	"slices"
	"time"

	"tapedeck/nodes/internal/human"
)

// stamp is what a comparison keeps of a message.
type stamp struct {
	hash uint64 // of the payload
	log  int64  // ns since the Unix epoch
	size uint32
}

// hunk is a difference of two sequences: elements a0 to a1 of the first are in place of b0 to b1 of the second.
type hunk struct{ a0, a1, b0, b1 int }

// changed, missing and extra count the elements of a hunk that differ, and those that only the first or the second
// sequence has.
func (h hunk) changed() int { return min(h.a1-h.a0, h.b1-h.b0) }
func (h hunk) missing() int { return h.a1 - h.a0 - h.changed() }
func (h hunk) extra() int   { return h.b1 - h.b0 - h.changed() }

// Sizes of the windows in which resync searches.
const (
	firstWindow = 16
	lastWindow  = 1 << 16
)

// align returns where two sequences of payloads differ. It takes linear time, and so may find a few more differences
// than necessary.
func align(a, b []stamp) []hunk {
	start := 0
	for start < len(a) && start < len(b) && a[start].hash == b[start].hash {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1].hash == b[endB-1].hash {
		endA--
		endB--
	}
	hunks := resync(a[:endA], b[:endB], start)
	// If no message is lost, repeated payloads can mislead resync.
	if endA == endB {
		if inPlace := positional(a[:endA], b[:endB], start); weight(inPlace) < weight(hunks) {
			return inPlace
		}
	}
	return hunks
}

// weight counts the differences in hunks.
func weight(hunks []hunk) int {
	sum := 0
	for _, h := range hunks {
		sum += h.changed() + h.missing() + h.extra()
	}
	return sum
}

// positional compares elements of equal index from start on.
func positional(a, b []stamp, start int) []hunk {
	var hunks []hunk
	for i := start; i < len(a); i++ {
		if a[i].hash != b[i].hash {
			hunks = grow(hunks, hunk{i, i + 1, i, i + 1})
		}
	}
	return hunks
}

// grow adds a hunk behind the others, to the last one if they touch.
func grow(hunks []hunk, h hunk) []hunk {
	if last := len(hunks) - 1; last >= 0 && hunks[last].a1 == h.a0 && hunks[last].b1 == h.b0 {
		hunks[last].a1, hunks[last].b1 = h.a1, h.b1
		return hunks
	}
	return append(hunks, h)
}

// resync walks along both sequences from start on, and at each difference searches the nearest place where they are
// equal again.
func resync(a, b []stamp, start int) []hunk {
	var hunks []hunk
	for i, j := start, start; i < len(a) || j < len(b); {
		if i < len(a) && j < len(b) && a[i].hash == b[j].hash {
			i++
			j++
			continue
		}
		var h hunk
		for window := firstWindow; ; window *= 8 {
			h = hunk{i, min(i+window, len(a)), j, min(j+window, len(b))}
			di, dj, ok := nearest(a[h.a0:h.a1], b[h.b0:h.b1])
			if ok {
				h.a1, h.b1 = i+di, j+dj
			}
			if ok || window >= lastWindow || h.a1 == len(a) && h.b1 == len(b) {
				break
			}
		}
		hunks = grow(hunks, h)
		i, j = h.a1, h.b1
	}
	return hunks
}

// nearest finds the equal elements with the least sum of their indices.
func nearest(a, b []stamp) (i, j int, ok bool) {
	first := make(map[uint64]int, len(b))
	for k := len(b) - 1; k >= 0; k-- {
		first[b[k].hash] = k
	}
	best := len(a) + len(b)
	for k := 0; k < len(a) && k <= best; k++ {
		at, found := first[a[k].hash]
		if !found {
			continue
		}
		// Of equal sums prefer changed messages to missing and extra ones.
		if sum := k + at; sum < best || sum == best && abs(k-at) < abs(i-j) {
			best, i, j, ok = sum, k, at, true
		}
	}
	return i, j, ok
}

func abs[N int | int64](n N) N { return max(n, -n) }

// equalRuns returns for each hunk the stretch of one payload around it if one side only lacks some of these: payloads
// do not tell which. For other hunks the run is empty.
func equalRuns(a, b []stamp, hunks []hunk) []hunk {
	runs := make([]hunk, len(hunks))
	for n, h := range hunks {
		lacked := slices.Concat(a[h.a0:h.a1], b[h.b0:h.b1])
		hash := lacked[0].hash
		if h.changed() > 0 || slices.ContainsFunc(lacked, func(s stamp) bool { return s.hash != hash }) {
			continue
		}
		first, last := 0, len(a)
		if n > 0 {
			first = hunks[n-1].a1
		}
		if n+1 < len(hunks) {
			last = hunks[n+1].a0
		}
		for h.a0 > first && a[h.a0-1].hash == hash {
			h.a0, h.b0 = h.a0-1, h.b0-1
		}
		for h.a1 < last && a[h.a1].hash == hash {
			h.a1, h.b1 = h.a1+1, h.b1+1
		}
		runs[n] = h
	}
	return runs
}

// byTime returns the hunks with those that lie in runs moved to where the log times of the others, minus offset in b,
// differ least.
func byTime(a, b []stamp, hunks, runs []hunk, offset int64) []hunk {
	var moved []hunk
	for n, run := range runs {
		switch {
		case run == hunk{}:
			moved = append(moved, hunks[n])
		case run.missing() > 0:
			moved = append(moved, lacking(a, b, run, offset)...)
		default:
			for _, h := range lacking(b, a, run.reversed(), -offset) {
				moved = append(moved, h.reversed())
			}
		}
	}
	return moved
}

func (h hunk) reversed() hunk { return hunk{h.b0, h.b1, h.a0, h.a1} }

// lacking returns which elements of a run b lacks, if each of b's is paired with the one of a next to it in time.
func lacking(a, b []stamp, run hunk, offset int64) (hunks []hunk) {
	later := make([]int, run.a1-run.a0) // where the next one of another time is: many may have the same
	for i := run.a1 - 1; i >= run.a0; i-- {
		later[i-run.a0] = i + 1
		if i+1 < run.a1 && a[i].log == a[i+1].log {
			later[i-run.a0] = later[i+1-run.a0]
		}
	}
	i := run.a0
	for j := run.b0; j < run.b1; j++ {
		distance := func(i int) int64 { return abs(b[j].log - offset - a[i].log) }
		best := i
		limit := run.a1 - (run.b1 - j)
		for next := later[i-run.a0]; next <= limit && distance(next) <= distance(best); next = later[next-run.a0] {
			if distance(next) < distance(best) {
				best = next
			}
		}
		if best > i {
			hunks = append(hunks, hunk{i, best, j, j})
		}
		i = best + 1
	}
	if i < run.a1 {
		hunks = append(hunks, hunk{i, run.a1, run.b1, run.b1})
	}
	return hunks
}

// pairByTime moves hunks of all topics by time. The offset is the median of messages that payloads alone pair.
func (d *comparison) pairByTime() {
	var offsets []int64
	runs := make([][]hunk, len(d.topics))
	for n, c := range d.topics {
		runs[n] = equalRuns(c.a.messages, c.b.messages, c.hunks)
		k := 0
		for p := range c.matches {
			for k < len(runs[n]) && runs[n][k].a1 <= p.a {
				k++
			}
			if k == len(runs[n]) || p.a < runs[n][k].a0 {
				offsets = append(offsets, c.b.messages[p.b].log-c.a.messages[p.a].log)
			}
		}
	}
	offset := int64(0)
	if slices.Sort(offsets); len(offsets) > 0 {
		offset = offsets[len(offsets)/2]
	}
	for n, c := range d.topics {
		c.hunks = byTime(c.a.messages, c.b.messages, c.hunks, runs[n], offset)
	}
}

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
