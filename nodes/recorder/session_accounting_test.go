package main

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/diskguard"
	"tapedeck/nodes/recorder/internal/filewriter"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/subscription"
)

func newTestReceiver(topic string, q *queue.Queue) *intake.Receiver {
	return intake.NewReceiver(&codec.Channel{Topic: topic}, intake.Options{Clock: new(bridge.SimTime), Queue: q})
}

// newTestSession returns a session that records /a to the file "0".
func newTestSession() (*session, *subscription.Topic) {
	a := &subscription.Topic{Receiver: newTestReceiver("/a", queue.New(1<<20))}
	s := &session{recorded: func() []*subscription.Topic { return []*subscription.Topic{a} },
		fileTotals: newFileTotals()}
	s.open = "0"
	return s, a
}

func (s *session) change(opened string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextTotals(s.recorded(), opened)
}

func missingOf(path string, a *subscription.Topic, n uint64, events ...codec.Event) *codec.MissingError {
	topics := []codec.TopicInfo{{Channel: a.Channel.Load(), MessageCount: n}}
	return &codec.MissingError{Path: path, Topics: topics, Events: events, Err: syscall.ENOSPC}
}

func totalsEvent(written, dropped uint64) codec.Event {
	return codec.Totals{Received: written + dropped, Written: written, Dropped: dropped}.Event("/a", 0, 0, false)
}

// A file that an error ended in the middle gets its totals, before and after another one is begun.
func TestTotalsOfAFileThatFailed(t *testing.T) {
	for _, late := range []bool{false, true} {
		s, a := newTestSession()
		a.Written.Store(10)
		missing := missingOf("0", a, 3)
		if late {
			s.countMissing(s.recorded(), missing)
			s.change("1")
			a.Written.Add(5)
		}
		require.Equal(t, []codec.Event{totalsEvent(7, 3)}, s.ending(missing))
		if !late {
			s.change("1")
			a.Written.Add(5)
		}
		require.Equal(t, uint64(5), newCounts(a).Written)
		require.Zero(t, newCounts(a).Dropped)
		require.Empty(t, s.late)
	}
}

// Totals that were written and are missing are written once more, without what is missing.
func TestTotalsThatAreMissing(t *testing.T) {
	for _, late := range []bool{false, true} {
		s, a := newTestSession()
		a.Written.Store(10)
		s.unconfirmed = map[string][]topicCounts{"/a": {{a, newCounts(a)}}}
		s.confirm(totalsEvent(10, 0))
		if late {
			s.change("1")
			a.Written.Add(5)
		}
		other := codec.Event{Kind: codec.EventGap, Topic: "/a", Time: 1}
		whole := codec.Totals{Written: 10}.Event("/a", 1, 2, true)
		missing := missingOf("0", a, 3, other, totalsEvent(10, 0), whole)
		require.Equal(t, []codec.Event{totalsEvent(7, 3), other}, s.ending(missing))
		if !late {
			s.change("1")
			a.Written.Add(5)
		}
		require.Equal(t, uint64(12), a.Written.Load())
		require.Equal(t, uint64(5), newCounts(a).Written)
		require.Zero(t, newCounts(a).Dropped)
	}
}

// Messages that were repeated at the beginning of a file were not counted, and are not counted as dropped.
func TestRepeatedMessagesThatAreMissing(t *testing.T) {
	for _, late := range []bool{false, true} {
		s, a := newTestSession()
		a.Written.Store(10)
		s.unconfirmed = map[string][]topicCounts{"/a": {{a, newCounts(a)}}}
		s.confirm(totalsEvent(10, 0))
		s.change("1")
		a.Written.Add(2)
		missing := missingOf("1", a, 3)
		if late {
			s.unconfirmed = map[string][]topicCounts{"/a": {{a, newCounts(a)}}}
			s.confirm(totalsEvent(2, 0))
			missing.Events = []codec.Event{totalsEvent(2, 0)}
			s.change("2")
		}
		require.Equal(t, []codec.Event{totalsEvent(0, 2)}, s.ending(missing))
		require.Equal(t, uint64(10), a.Written.Load())
	}
}

// lastFile is a recording at its last file.
type lastFile struct{ codec.Splitter }

func (lastFile) File() string { return "last" }

// Messages that miss in a file are dropped, and no error of the recording, if it went on in another file as it was to.
func TestErrorsThatARecordingOutlives(t *testing.T) {
	first := &codec.MissingError{Path: "first", Err: syscall.ENOSPC}
	last := &codec.MissingError{Path: "last", Err: syscall.ENOSPC}
	other := errors.New("complete first: rename")
	for action, goesOn := range map[string]bool{diskguard.Delete: true, diskguard.Pause: true, diskguard.Stop: false} {
		w := filewriter.New(nil, lastFile{}, nil, filewriter.Callbacks{})
		s := &session{guard: &diskguard.Guard{Action: action}, writer: w}
		require.NoError(t, s.final(nil))
		require.Equal(t, goesOn, s.final(first) == nil)
		require.Equal(t, goesOn, s.final(errors.Join(first, first)) == nil)
		require.ErrorIs(t, s.final(last), last)
		require.ErrorIs(t, s.final(errors.Join(first, other)), other)
	}
}
