package diff

import (
	"iter"
	"slices"
)

// message has the data that a comparison keeps of a message: 24 bytes.
type message struct {
	hash    uint64 // of the payload
	logTime int64  // log time, ns since the Unix epoch
	partner int32  // index of the message in the other recording to compare with, or none
	padding uint8  // bytes missing in a CDR payload to a multiple of 4
	equal   bool   // the payload is equal to the partner's
}

// none is the partner of a message that the other recording lacks.
const none = -1

// pair makes a[i] and b[j] partners. They are equal if their hashes are equal.
func pair(a, b []message, i, j int) {
	same := a[i].hash == b[j].hash
	a[i].partner, a[i].equal = int32(j), same
	b[j].partner, b[j].equal = int32(i), same
}

// hunk is a difference of two sequences: elements a0 to a1 of the first are in the place of b0 to b1 of the second.
type hunk struct{ a0, a1, b0, b1 int }

// changed, missing and extra return the number of elements that differ, that only the first sequence has, and that only
// the second sequence has.
func (h hunk) changed() int { return min(h.a1-h.a0, h.b1-h.b0) }
func (h hunk) missing() int { return h.a1 - h.a0 - h.changed() }
func (h hunk) extra() int   { return h.b1 - h.b0 - h.changed() }

// differences yields the differences between a and b in order: a changed message, or a run of messages that only one
// sequence has.
func differences(a, b []message) iter.Seq[hunk] {
	return func(yield func(hunk) bool) {
		for i, j := 0, 0; i < len(a) || j < len(b); {
			h := hunk{i, i, j, j}
			for h.a1 < len(a) && a[h.a1].partner == none {
				h.a1++
			}
			if h.a1 == i {
				for h.b1 < len(b) && b[h.b1].partner == none {
					h.b1++
				}
			}
			same := false
			if h.a1 == i && h.b1 == j {
				h.a1, h.b1, same = i+1, j+1, a[i].equal
			}
			if !same && !yield(h) {
				return
			}
			i, j = h.a1, h.b1
		}
	}
}

// match finds the partners of messages. Messages with equal payloads become partners first, then messages between them,
// which may have changed. If byTime is set and a and b differ in the number of such messages, those with equal log
// times become partners. match takes linear time, and so may find a few more differences than necessary.
//
// If payloads repeat and one recording lacks some, payloads do not show which. match returns these stretches for
// placeByTime.
func match(a, b []message, byTime bool) (repeats []hunk) {
	for _, all := range [][]message{a, b} {
		for i := range all {
			all[i].partner, all[i].equal = none, false
		}
	}
	hunks := align(a, b)
	i, j := 0, 0
	for n, h := range hunks {
		for ; i < h.a0; i, j = i+1, j+1 {
			pair(a, b, i, j)
		}
		if !byTime || h.a1-h.a0 == h.b1-h.b0 || !linkByTime(a, b, h) {
			for k := range h.changed() {
				pair(a, b, h.a0+k, h.b0+k)
			}
		}
		i, j = h.a1, h.b1
		first, last := 0, len(a)
		if n > 0 {
			first = hunks[n-1].a1
		}
		if n+1 < len(hunks) {
			last = hunks[n+1].a0
		}
		if run, ok := repeatedStretch(a, b, h, first, last); ok {
			repeats = append(repeats, run)
		}
	}
	for ; i < len(a); i, j = i+1, j+1 {
		pair(a, b, i, j)
	}
	return repeats
}

// linkByTime makes messages of a hunk with equal log times partners. It returns false if there are none.
func linkByTime(a, b []message, h hunk) (found bool) {
	for i, j := h.a0, h.b0; i < h.a1 && j < h.b1; {
		switch {
		case a[i].logTime < b[j].logTime:
			i++
		case a[i].logTime > b[j].logTime:
			j++
		default:
			pair(a, b, i, j)
			i, j, found = i+1, j+1, true
		}
	}
	return found
}

// repeatedStretch returns the stretch of one payload around a hunk, between first and last in a, if the only difference
// is that one side lacks some messages with that payload.
func repeatedStretch(a, b []message, h hunk, first, last int) (hunk, bool) {
	if h.changed() > 0 {
		return hunk{}, false
	}
	lacked := slices.Concat(a[h.a0:h.a1], b[h.b0:h.b1])
	hash := lacked[0].hash
	if slices.ContainsFunc(lacked, func(m message) bool { return m.hash != hash }) {
		return hunk{}, false
	}
	for h.a0 > first && a[h.a0-1].hash == hash {
		h.a0, h.b0 = h.a0-1, h.b0-1
	}
	for h.a1 < last && a[h.a1].hash == hash {
		h.a1, h.b1 = h.a1+1, h.b1+1
	}
	return h, true
}

// placeByTime finds new partners in a stretch of one payload of which one side lacks some messages. Each message of
// that side gets the other side's message with the nearest log time. Log times in b are offset later than in a.
func placeByTime(a, b []message, run hunk, offset int64) {
	if run.extra() > 0 {
		placeByTime(b, a, hunk{run.b0, run.b1, run.a0, run.a1}, -offset)
		return
	}
	later := make([]int, run.a1-run.a0) // index of the next message with another time
	for i := run.a1 - 1; i >= run.a0; i-- {
		later[i-run.a0] = i + 1
		if i+1 < run.a1 && a[i].logTime == a[i+1].logTime {
			later[i-run.a0] = later[i+1-run.a0]
		}
		a[i].partner, a[i].equal = none, false
	}
	i := run.a0
	for j := run.b0; j < run.b1; j++ {
		distance := func(i int) int64 { return abs(b[j].logTime - offset - a[i].logTime) }
		best := i
		limit := run.a1 - (run.b1 - j)
		for next := later[i-run.a0]; next <= limit && distance(next) <= distance(best); next = later[next-run.a0] {
			if distance(next) < distance(best) {
				best = next
			}
		}
		pair(a, b, best, j)
		i = best + 1
	}
}

func abs[N int | int64](n N) N { return max(n, -n) }

// align returns the differences of two sequences of payloads.
func align(a, b []message) []hunk {
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
	// If no message is lost, repeated payloads can mislead resync: there may be fewer differences between messages of
	// equal indices.
	if endA == endB {
		found, inPlace := 0, 0
		for _, h := range hunks {
			found += h.changed() + h.missing() + h.extra()
		}
		for i := start; i < endA; i++ {
			if a[i].hash != b[i].hash {
				inPlace++
			}
		}
		if inPlace < found {
			return []hunk{{start, endA, start, endB}}
		}
	}
	return hunks
}

// Sizes of the windows in which resync searches, in messages.
const (
	firstWindow = 16
	lastWindow  = 1 << 16
)

// resync walks along both sequences from start on. At each difference it searches the nearest place where they are
// equal again.
func resync(a, b []message, start int) (hunks []hunk) {
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
		i, j = h.a1, h.b1
		if last := len(hunks) - 1; last >= 0 && hunks[last].a1 == h.a0 && hunks[last].b1 == h.b0 {
			hunks[last].a1, hunks[last].b1 = h.a1, h.b1
		} else {
			hunks = append(hunks, h)
		}
	}
	return hunks
}

// nearest finds the equal elements with the least sum of their indices.
func nearest(a, b []message) (i, j int, ok bool) {
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
		// For equal sums prefer changed messages to missing and extra ones.
		if sum := k + at; sum < best || sum == best && abs(k-at) < abs(i-j) {
			best, i, j, ok = sum, k, at, true
		}
	}
	return i, j, ok
}
