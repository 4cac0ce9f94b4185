package codec

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEventMessage(t *testing.T) {
	for _, e := range []Event{
		{Kind: EventDrop, Topic: "/imu", Time: 1700000000_123456789, Until: 1700000001_000000001, Count: 12,
			Text: "the disk is slow"},
		{Kind: EventSplit, Text: "only this"},
		{Kind: EventPause, Time: -1, Until: -1e9},
		{},
	} {
		m, err := EventMessage(e)
		require.NoError(t, err)
		require.Equal(t, EventTopic, m.Channel.Topic)
		require.Equal(t, "tapedeck/msg/RecordingEvent", m.Channel.Type)
		require.Contains(t, string(m.Channel.Schema.Data), "MSG: builtin_interfaces/Time")
		require.Regexp(t, "^RIHS01_[0-9a-f]{64}$", m.Channel.TypeHash)
		got, ok := ParseEvent(m)
		require.True(t, ok)
		require.Equal(t, e, got)

		m1 := EventMessage1(e)
		require.Equal(t, EncodingROS1, m1.Channel.Encoding)
		require.Equal(t, m.LogTime, m1.LogTime)
		got, ok = ParseEvent(m1)
		require.True(t, ok)
		require.Equal(t, e, got)
		for n := range m1.Data {
			_, ok = ParseEvent(&Message{Channel: m1.Channel, Data: m1.Data[:n]})
			require.False(t, ok)
		}
	}
	first, err := EventMessage(Event{Time: 3, Until: 7})
	require.NoError(t, err)
	require.EqualValues(t, 7, first.LogTime)
	second, err := EventMessage(Event{Time: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, second.LogTime)
	require.Same(t, first.Channel, second.Channel)
}

func TestNoEvent(t *testing.T) {
	m, err := EventMessage(Event{Kind: EventGap, Topic: "/a"})
	require.NoError(t, err)
	for _, other := range []Message{
		{Channel: &Channel{Topic: EventTopic, Type: "std_msgs/msg/String", Encoding: EncodingCDR}, Data: m.Data},
		{Channel: &Channel{Topic: "/events", Type: eventType, Encoding: EncodingCDR}, Data: m.Data},
		{Channel: m.Channel, Data: m.Data[:len(m.Data)-3]},
		{Channel: m.Channel},
	} {
		_, ok := ParseEvent(&other)
		require.False(t, ok)
	}
}

func TestTotals(t *testing.T) {
	want := Totals{Received: 100, Written: 90, Dropped: 8, Lost: 2}
	for _, whole := range []bool{false, true} {
		e := want.Event("/imu", 5, 9, whole)
		require.Equal(t, "/imu", e.Topic)
		require.EqualValues(t, 90, e.Count)
		got, isWhole, ok := ParseTotals(e)
		require.True(t, ok)
		require.Equal(t, want, got)
		require.Equal(t, whole, isWhole)
	}
	for _, e := range []Event{{Kind: EventTotals}, {Kind: EventTotals, Text: wholeText},
		{Kind: EventDrop, Text: want.Event("", 0, 0, false).Text}} {
		_, _, ok := ParseTotals(e)
		require.False(t, ok)
	}
}

func TestMissingError(t *testing.T) {
	e := &MissingError{Path: "a.mcap", Err: syscall.EFBIG, Start: 1, End: 2e9, Topics: []TopicInfo{
		{Channel: &Channel{}, MessageCount: 3}, {Channel: &Channel{}, MessageCount: 4},
		{Channel: eventChannel(), MessageCount: 5},
	}}
	require.ErrorIs(t, e, syscall.EFBIG)
	require.EqualValues(t, 7, e.Count())
	require.Equal(t, Event{
		Kind: EventDisk, Time: 1, Until: 2e9, Count: 7,
		Text: "file too large: 7 messages from " + clock(1) + " to " + clock(2e9) + " are missing",
	}, e.Event())
	require.EqualError(t, e, "write a.mcap: "+e.Event().Text+"; what was written before is readable, have the "+
		"recording split into smaller files before going on")
	e.Topics = e.Topics[:0]
	e.Err = errors.New("gone")
	require.EqualError(t, e, "write a.mcap: gone; what was written before is readable, look at the disk before going "+
		"on")
}
