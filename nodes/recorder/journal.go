package main

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"tapedeck/codec"
)

// journal collects what happens to a recording until it is written into it. The zero value is ready.
type journal struct {
	mu      sync.Mutex
	entries []entry
}

// entry is an event that may still grow.
type entry struct {
	codec.Event
	noted time.Time
}

// growth is how long an event that counts messages waits for more of them.
const growth = time.Second

// note adds an event. One that counts messages of a topic, and comes within growth of another of its kind, becomes one with it.
func (j *journal) note(e codec.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e.Topic != "" && e.Count > 0 {
		for i := range j.entries {
			if f := &j.entries[i]; f.Kind == e.Kind && f.Topic == e.Topic {
				f.Time = min(f.Time, e.Time)
				f.Until = max(f.Until, e.Until)
				f.Count += e.Count
				return
			}
		}
	}
	j.entries = append(j.entries, entry{e, time.Now()})
}

// take returns the events that do not grow any more at now, or all of them, in the order in which they began.
func (j *journal) take(now time.Time, all bool) []codec.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []codec.Event
	j.entries = slices.DeleteFunc(j.entries, func(e entry) bool {
		due := all || e.Count == 0 || now.Sub(e.noted) >= growth
		if due {
			list = append(list, e.Event)
		}
		return due
	})
	slices.SortStableFunc(list, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	return list
}
