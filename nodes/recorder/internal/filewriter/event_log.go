package filewriter

import (
	"cmp"
	"slices"
	"time"

	"tapedeck/codec"
)

// EventLog holds events of a recording until they are written into it. The zero value is ready. It is not for
// concurrent use.
type EventLog struct {
	entries []entry
}

// entry is an event that may still grow.
type entry struct {
	codec.Event
	noted time.Time
}

// MergeTime is how long an event that counts messages waits to be merged with others.
const MergeTime = time.Second

// Note adds an event. An event that counts messages of a topic is merged with a waiting one of the same kind and topic.
func (l *EventLog) Note(e codec.Event) {
	if e.Topic != "" && e.Count > 0 {
		for i := range l.entries {
			if f := &l.entries[i]; f.Kind == e.Kind && f.Topic == e.Topic {
				f.Time = min(f.Time, e.Time)
				f.Until = max(f.Until, e.Until)
				f.Count += e.Count
				return
			}
		}
	}
	l.entries = append(l.entries, entry{e, time.Now()})
}

// Take removes and returns the events that can no longer grow at now, or all events, in the order of their times.
func (l *EventLog) Take(now time.Time, all bool) []codec.Event {
	var list []codec.Event
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool {
		due := all || e.Count == 0 || now.Sub(e.noted) >= MergeTime
		if due {
			list = append(list, e.Event)
		}
		return due
	})
	slices.SortStableFunc(list, func(a, b codec.Event) int { return cmp.Compare(a.Time, b.Time) })
	return list
}
