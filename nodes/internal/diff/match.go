package diff

import (
	"iter"
	"slices"
)

// message is what a comparison keeps of a message: 24 bytes.
type message struct {
	hash    uint64 // of the payload
	log     int64  // ns since the Unix epoch
	partner int32  // index of the message of the other recording that it is compared with, or none
	padding uint8  // bytes that a CDR payload is short of a multiple of 4
	same    bool   // as its partner
}

// none is the partner of a message that the other recording lacks.
const none = -1

// link makes a[i] and b[j] partners. They are the same if their hashes are.
func link(a, b []message, i, j int) {
	same := a[i].hash == b[j].hash
	a[i].partner, a[i].same = int32(j), same
	b[j].partner, b[j].same = int32(i), same
}

// hunk is a difference of two sequences: elements a0 to a1 of the first are in place of b0 to b1 of the second.
type hunk struct{ a0, a1, b0, b1 int }

// changed, missing and extra count the elements of a hunk that differ, and those that only the first or the second
// sequence has.
func (h hunk) changed() int { return min(h.a1-h.a0, h.b1-h.b0) }
func (h hunk) missing() int { return h.a1 - h.a0 - h.changed() }
func (h hunk) extra() int   { return h.b1 - h.b0 - h.changed() }

// differences yields the differences between a and b in order: a changed message, or a run of messages that only one of
// them has.
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
				h.a1, h.b1, same = i+1, j+1, a[i].same
			}
			if !same && !yield(h) {
				return
			}
			i, j = h.a1, h.b1
		}
	}
}

// match finds the partners of messages: those of equal payloads first, then those that may have changed, which lie
// between them. If byTime, where one recording has more of these than the other, those of equal log times are partners.
// match takes linear time, and so may find a few more differences than necessary.
//
// Where payloads repeat and one recording lacks some, payloads do not tell which. match returns the stretches where
// that is so, for place.
func match(a, b []message, byTime bool) (repeats []hunk) {
	for _, all := range [][]message{a, b} {
		for i := range all {
			all[i].partner, all[i].same = none, false
		}
	}
	hunks := align(a, b)
	i, j := 0, 0
	for n, h := range hunks {
		for ; i < h.a0; i, j = i+1, j+1 {
			link(a, b, i, j)
		}
		if !byTime || h.a1-h.a0 == h.b1-h.b0 || !linkByTime(a, b, h) {
			for k := range h.changed() {
				link(a, b, h.a0+k, h.b0+k)
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
		if run, ok := repeat(a, b, h, first, last); ok {
			repeats = append(repeats, run)
		}
	}
	for ; i < len(a); i, j = i+1, j+1 {
		link(a, b, i, j)
	}
	return repeats
}

// linkByTime makes messages of a hunk partners that have equal log times. It returns false if there are none.
func linkByTime(a, b []message, h hunk) (found bool) {
	for i, j := h.a0, h.b0; i < h.a1 && j < h.b1; {
		switch {
		case a[i].log < b[j].log:
			i++
		case a[i].log > b[j].log:
			j++
		default:
			link(a, b, i, j)
			i, j, found = i+1, j+1, true
		}
	}
	return found
}

// repeat returns the stretch of one payload around a hunk, between first and last in a, if one side only lacks some
// messages with that payload.
func repeat(a, b []message, h hunk, first, last int) (hunk, bool) {
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

// place finds partners anew in a stretch of one payload that one side lacks some messages of: each message of that side
// gets the one of the other side that is next to it in log time. Log times in b are offset later than in a.
func place(a, b []message, run hunk, offset int64) {
	if run.extra() > 0 {
		place(b, a, hunk{run.b0, run.b1, run.a0, run.a1}, -offset)
		return
	}
	later := make([]int, run.a1-run.a0) // where the next message of another time is: many may have one time
	for i := run.a1 - 1; i >= run.a0; i-- {
		later[i-run.a0] = i + 1
		if i+1 < run.a1 && a[i].log == a[i+1].log {
			later[i-run.a0] = later[i+1-run.a0]
		}
		a[i].partner, a[i].same = none, false
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
		link(a, b, best, j)
		i = best + 1
	}
}

func abs[N int | int64](n N) N { return max(n, -n) }

// align returns where two sequences of payloads differ.
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

// Sizes of the windows in which resync searches.
const (
	firstWindow = 16
	lastWindow  = 1 << 16
)

// resync walks along both sequences from start on, and at each difference searches the nearest place where they are
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
		// Of equal sums prefer changed messages to missing and extra ones.
		if sum := k + at; sum < best || sum == best && abs(k-at) < abs(i-j) {
			best, i, j, ok = sum, k, at, true
		}
	}
	return i, j, ok
}
