package filewriter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

func TestEventLog(t *testing.T) {
	var l EventLog
	drop := func(topic string, from, until int64, n uint64) {
		l.Note(codec.Event{Kind: codec.EventDrop, Topic: topic, Time: from, Until: until, Count: n})
	}
	drop("/a", 30, 40, 1)
	drop("/b", 10, 20, 2)
	drop("/a", 20, 50, 3)
	l.Note(codec.Event{Kind: codec.EventLost, Topic: "/a", Time: 5, Count: 4})
	l.Note(codec.Event{Kind: codec.EventSplit, Time: 3})
	l.Note(codec.Event{Kind: codec.EventSplit, Time: 4})
	now := time.Now()
	require.Equal(t, []codec.Event{{Kind: codec.EventSplit, Time: 3}, {Kind: codec.EventSplit, Time: 4}},
		l.Take(now, false), "events with a count may still grow")
	require.Empty(t, l.Take(now, false))
	want := []codec.Event{
		{Kind: codec.EventLost, Topic: "/a", Time: 5, Count: 4},
		{Kind: codec.EventDrop, Topic: "/b", Time: 10, Until: 20, Count: 2},
		{Kind: codec.EventDrop, Topic: "/a", Time: 20, Until: 50, Count: 4},
	}
	require.Equal(t, want, l.Take(now.Add(MergeTime), false))
	drop("/a", 1, 2, 1)
	require.Len(t, l.Take(now, true), 1)
}
