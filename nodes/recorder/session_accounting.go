package main

import (
	"maps"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/subscription"
)

// fileTotals are the totals at the ends of files. Each message is in those of one file, as written or as dropped, even
// if it got lost with the disk after it was written. They are guarded by session.mu, as is Topic.Accounting that they
// are made of.
type fileTotals struct {
	open     string // path of the file that is being written
	failed   bool   // an error ended it
	answered bool   // and ending has returned its totals

	// unconfirmed are the totals that fileEvents returned and that are not in the file yet, by topic.
	unconfirmed map[string][]topicCounts
	// late are the totals of files that failed and for which ending was not called yet, by path.
	late    map[string][]codec.Event
	missing map[*codec.MissingError]*missing // that were counted
}

// topicCounts are counts of a topic. Those of several types may have the same topic.
type topicCounts struct {
	rec *subscription.Topic
	accounting.Counts
}

// missing is what was done about a *codec.MissingError.
type missing struct {
	reported bool
	inTotals map[string]uint64 // messages by topic that totals have as written
}

func newFileTotals() fileTotals {
	return fileTotals{late: map[string][]codec.Event{}, missing: map[*codec.MissingError]*missing{}}
}

// newCounts returns what was counted and is in no totals yet.
func newCounts(rec *subscription.Topic) accounting.Counts {
	return rec.Counts().Since(rec.Accounting.InTotals)
}

// totalsEvents returns the events of totals, by topic.
func totalsEvents(topics map[string][]topicCounts, start, end int64, whole bool) (events []codec.Event) {
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		var sum accounting.Counts
		for _, c := range topics[topic] {
			sum = sum.Plus(c.Counts)
		}
		events = append(events, sum.Event(topic, start, end, whole))
	}
	return events
}

// fileEvents returns the events for the end of a file: what was not written yet, and its totals.
func (s *session) fileEvents(start, end int64, last bool) []codec.Event {
	s.noteLosses()
	list := s.recorded()
	if last {
		s.notePause(s.recorder.clock.Now(), true)
		for _, rec := range list {
			rec.NoteGap(queue.Now(), s.recorder.clock.Now())
		}
		s.noteVerdict()
	}
	events := s.journal.Take(time.Now(), true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unconfirmed = map[string][]topicCounts{}
	whole := map[string][]topicCounts{}
	for _, rec := range list {
		topic, c := rec.Name(), newCounts(rec)
		if c.Throttled > 0 {
			events = append(events, codec.Event{Kind: codec.EventThrottle, Topic: topic, Time: start, Until: end,
				Count: c.Throttled, Text: "left out by throttle"})
		}
		s.unconfirmed[topic] = append(s.unconfirmed[topic], topicCounts{rec, c})
		whole[topic] = append(whole[topic], topicCounts{rec, rec.Counts().Since(rec.Accounting.Begun)})
	}
	events = append(events, totalsEvents(s.unconfirmed, start, end, false)...)
	if last && s.output.Load().files.Several() {
		events = append(events, totalsEvents(whole, s.began, end, true)...)
	}
	return events
}

// confirm notes that the totals of a topic are in a file.
func (s *session) confirm(e codec.Event) {
	_, whole, ok := codec.ParseTotals(e)
	if !ok || whole {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.unconfirmed[e.Topic] {
		c.rec.Accounting.InTotals = c.rec.Accounting.InTotals.Plus(c.Counts)
	}
	delete(s.unconfirmed, e.Topic)
}

// takeTotals returns the totals of what is in none yet. s.mu is held.
func takeTotals(list []*subscription.Topic) []codec.Event {
	topics := map[string][]topicCounts{}
	for _, rec := range list {
		if c := newCounts(rec); c.Totals != (codec.Totals{}) {
			rec.Accounting.InTotals = rec.Accounting.InTotals.Plus(c)
			topics[rec.Name()] = append(topics[rec.Name()], topicCounts{rec, c})
		}
	}
	return totalsEvents(topics, 0, 0, false)
}

// nextTotals continues with the totals of the next file. s.mu is held.
func (s *session) nextTotals(list []*subscription.Topic, opened string) {
	if s.failed && !s.answered {
		s.late[s.open] = takeTotals(list)
	}
	s.open, s.failed, s.answered = opened, false, false
	for _, rec := range list {
		rec.Accounting.Before = rec.Written.Load()
	}
}

// countMissing counts missing messages as dropped, once. s.mu is held.
func (s *session) countMissing(list []*subscription.Topic, err *codec.MissingError) *missing {
	if m := s.missing[err]; m != nil {
		return m
	}
	m := &missing{inTotals: map[string]uint64{}}
	s.missing[err] = m
	totals := map[string]uint64{} // of an earlier file, whose last messages are missing too
	for _, e := range err.Events {
		if t, whole, ok := codec.ParseTotals(e); ok && !whole {
			totals[e.Topic] += t.Written
		}
	}
	current := err.Path == s.open
	s.failed = s.failed || current
	for _, topic := range err.Topics {
		name := topic.Channel.Topic
		i := slices.IndexFunc(list, func(rec *subscription.Topic) bool {
			own := rec.Channel.Load()
			return own.Topic == name && own.Type == topic.Channel.Type
		})
		if i < 0 {
			continue
		}
		rec := list[i]
		n := min(topic.MessageCount, rec.Written.Load())
		var inTotals uint64
		if current { // the first of the file may be some that were repeated
			n = min(n, rec.Written.Load()-rec.Accounting.Before)
			inTotals = n - min(n, newCounts(rec).Written) // the last are the missing ones
		} else {
			if written, ok := totals[name]; ok {
				n = min(n, written)
				totals[name] -= n
			}
			n = min(n, rec.Accounting.InTotals.Written)
			rec.Accounting.Before -= min(n, rec.Accounting.Before)
			inTotals = n
		}
		rec.Written.Add(-n)
		rec.Dropped.Add(n)
		rec.Accounting.Noted.Dropped += n
		rec.Accounting.InTotals.Written -= inTotals
		rec.Accounting.InTotals.Dropped += inTotals
		m.inTotals[name] += inTotals
	}
	return m
}

// ending is codec.CreateOptions.Ending. It returns the totals of the file and those of its other events that are
// missing.
func (s *session) ending(err *codec.MissingError) []codec.Event {
	list := s.recorded()
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.countMissing(list, err)
	var totals, events []codec.Event
	for _, e := range err.Events {
		t, whole, ok := codec.ParseTotals(e)
		switch {
		case whole: // it is in the next file, unless the recording fails
		case ok:
			n := min(m.inTotals[e.Topic], t.Written)
			t.Written -= n
			t.Dropped += n
			totals = append(totals, t.Event(e.Topic, 0, 0, false))
		default:
			events = append(events, e)
		}
	}
	if err.Path == s.open {
		s.answered = true
		totals = append(totals, takeTotals(list)...)
	} else {
		totals = append(totals, s.late[err.Path]...)
		delete(s.late, err.Path)
	}
	return append(totals, events...)
}

// noteLosses notes what was lost and dropped since it was called last.
func (s *session) noteLosses() {
	now := s.recorder.clock.Now()
	list := s.recorded()
	why := "dropped, as the disk did not keep up"
	if s.writer.Late() {
		why = "dropped because PNG encoding could not keep up"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range list {
		c := rec.Counts()
		if n := c.Lost - rec.Accounting.Noted.Lost; n > 0 {
			when := rec.LossRange()
			if when == (accounting.TimeRange{}) {
				when = accounting.TimeRange{From: s.collected, Until: now}
			}
			s.journal.Note(codec.Event{Kind: codec.EventLost, Topic: rec.Name(), Time: when.From, Until: when.Until,
				Count: n, Text: "lost in transport from a publisher"})
		}
		if n := c.Dropped - rec.Accounting.Noted.Dropped; n > 0 {
			text := why
			if reason, ok := s.recorder.refusals.Load(rec.Name()); ok {
				text = "dropped: " + reason.(string)
			}
			s.journal.Note(codec.Event{Kind: codec.EventDrop, Topic: rec.Name(), Time: s.collected, Until: now,
				Count: n, Text: text})
		}
		rec.Accounting.Noted = c
	}
	s.collected = now
}

// notePause notes that the recording was paused until t, if it was, and whether it still is.
func (s *session) notePause(t int64, still bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != 0 {
		s.journal.Note(codec.Event{Kind: codec.EventPause, Time: s.paused, Until: t, Text: "recording was paused"})
		if s.paused = 0; still {
			s.paused = t
		}
	}
}
