package main

import (
	"maps"
	"slices"
	"time"

	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/accounting"
)

// fileTotals are the totals at the ends of files. Each message is in those of one file, as written or as dropped, even if
// it got lost with the disk after it was written. They are guarded by session.mu, as are the counts of topicRecorder
// that they are made of.
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

// topicCounts are counts of a topicRecorder. Those of several types may have the same topic.
type topicCounts struct {
	rec *topicRecorder
	counts
}

// missing is what was done about a *codec.MissingError.
type missing struct {
	reported bool
	inTotals map[string]uint64 // messages by topic that totals have as written
}

func newFileTotals() fileTotals {
	return fileTotals{late: map[string][]codec.Event{}, missing: map[*codec.MissingError]*missing{}}
}

// since returns what was counted after o. Received are the messages that are written or dropped by now.
func (c counts) since(o counts) counts {
	written, dropped := c.Written-o.Written, c.Dropped-o.Dropped
	return counts{
		Totals: codec.Totals{
			Received: written + dropped, Written: written, Dropped: dropped, Lost: c.Lost - o.Lost,
		},
		throttled: c.throttled - o.throttled,
	}
}

func (c counts) plus(o counts) counts {
	return counts{
		Totals: codec.Totals{
			Received: c.Received + o.Received, Written: c.Written + o.Written, Dropped: c.Dropped + o.Dropped,
			Lost: c.Lost + o.Lost,
		},
		throttled: c.throttled + o.throttled,
	}
}

// newCounts returns what was counted and is in no totals yet.
func (rec *topicRecorder) newCounts() counts { return rec.counts().since(rec.inTotals) }

// totalsEvents returns the events of totals, by topic.
func totalsEvents(topics map[string][]topicCounts, start, end int64, whole bool) (events []codec.Event) {
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		var sum counts
		for _, c := range topics[topic] {
			sum = sum.plus(c.counts)
		}
		events = append(events, sum.Event(topic, start, end, whole))
	}
	return events
}

// fileEvents returns the events for the end of a file: what was not written yet, and its totals.
func (s *session) fileEvents(start, end int64, last bool) []codec.Event {
	s.noteLosses()
	list := s.recorder.recorded()
	if last {
		s.notePause(s.recorder.clock.Now())
		for _, rec := range list {
			rec.NoteGap(time.Now().UnixNano(), s.recorder.clock.Now())
		}
	}
	events := s.journal.Take(time.Now(), true)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unconfirmed = map[string][]topicCounts{}
	whole := map[string][]topicCounts{}
	for _, rec := range list {
		topic, c := rec.Name(), rec.newCounts()
		if c.throttled > 0 {
			events = append(events, codec.Event{Kind: codec.EventThrottle, Topic: topic, Time: start, Until: end,
				Count: c.throttled, Text: "left out, as throttle asks"})
		}
		s.unconfirmed[topic] = append(s.unconfirmed[topic], topicCounts{rec, c})
		whole[topic] = append(whole[topic], topicCounts{rec, rec.counts().since(counts{})})
	}
	events = append(events, totalsEvents(s.unconfirmed, start, end, false)...)
	if last && s.files.Several() {
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
		c.rec.inTotals = c.rec.inTotals.plus(c.counts)
	}
	delete(s.unconfirmed, e.Topic)
}

// takeTotals returns the totals of what is in none yet. s.mu is held.
func takeTotals(list []*topicRecorder) []codec.Event {
	topics := map[string][]topicCounts{}
	for _, rec := range list {
		if c := rec.newCounts(); c.Totals != (codec.Totals{}) {
			rec.inTotals = rec.inTotals.plus(c)
			topics[rec.Name()] = append(topics[rec.Name()], topicCounts{rec, c})
		}
	}
	return totalsEvents(topics, 0, 0, false)
}

// next continues with the totals of the next file. s.mu is held.
func (s *session) next(list []*topicRecorder, opened string) {
	if s.failed && !s.answered {
		s.late[s.open] = takeTotals(list)
	}
	s.open, s.failed, s.answered = opened, false, false
	for _, rec := range list {
		rec.before = rec.Written.Load()
	}
}

// countMissing counts missing messages as dropped, once. s.mu is held.
func (s *session) countMissing(list []*topicRecorder, err *codec.MissingError) *missing {
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
		i := slices.IndexFunc(list, func(rec *topicRecorder) bool {
			own := rec.Channel.Load()
			return own.Topic == name && own.Type == topic.Channel.Type
		})
		if i < 0 {
			continue
		}
		rec := list[i]
		n := min(topic.MessageCount, rec.Written.Load())
		inTotals := uint64(0)
		if current { // the first of the file may be some that were repeated
			n = min(n, rec.Written.Load()-rec.before)
			inTotals = n - min(n, rec.newCounts().Written) // the last are the missing ones
		} else {
			if written, ok := totals[name]; ok {
				n = min(n, written)
				totals[name] -= n
			}
			n = min(n, rec.inTotals.Written)
			rec.before -= min(n, rec.before)
			inTotals = n
		}
		rec.Written.Add(-n)
		rec.Dropped.Add(n)
		rec.noted.Dropped += n
		rec.inTotals.Written -= inTotals
		rec.inTotals.Dropped += inTotals
		m.inTotals[name] += inTotals
	}
	return m
}

// ending is codec.CreateOptions.Ending. It returns the totals of the file and those of its other events that are
// missing.
func (s *session) ending(err *codec.MissingError) []codec.Event {
	list := s.recorder.recorded()
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
	list := s.recorder.recorded()
	why := "dropped, as the disk did not keep up"
	if s.writer.Late() {
		why = "dropped, as PNGs were not made as fast as pictures came"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range list {
		c := rec.counts()
		if n := c.Lost - rec.noted.Lost; n > 0 {
			when := rec.LossRange()
			if when == (accounting.TimeRange{}) {
				when = accounting.TimeRange{From: s.collected, Until: now}
			}
			s.journal.Note(codec.Event{Kind: codec.EventLost, Topic: rec.Name(), Time: when.From, Until: when.Until,
				Count: n, Text: "lost on the way from a publisher"})
		}
		if n := c.Dropped - rec.noted.Dropped; n > 0 {
			s.journal.Note(codec.Event{Kind: codec.EventDrop, Topic: rec.Name(), Time: s.collected, Until: now, Count: n,
				Text: why})
		}
		rec.noted = c
	}
	s.collected = now
}

// notePause notes that the recording was paused until t, if it was.
func (s *session) notePause(t int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != 0 {
		s.journal.Note(codec.Event{Kind: codec.EventPause, Time: s.paused, Until: t, Text: "recording was paused"})
		s.paused = 0
	}
}
