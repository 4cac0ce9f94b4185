package main

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/queue"
)

// fileEvents returns the events for the end of a file: what was not written yet, and its totals.
func (s *session) fileEvents(start, end int64, last bool) []codec.Event {
	s.collect()
	if last {
		s.notePause(s.recorder.clock.Now())
		s.noteSilences()
	}
	events := s.journal.Take(time.Now(), true)
	list := s.recorder.recorded()
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := map[string]codec.Totals{}
	s.tally = map[string][]topicTally{}
	for _, rec := range list {
		topic, all, now := rec.Channel.Load().Topic, rec.counts(), rec.unfiled()
		if n := now.throttled; n > 0 {
			events = append(events, codec.Event{Kind: codec.EventThrottle, Topic: topic, Time: start, Until: end, Count: n,
				Text: "left out, as throttle asks"})
		}
		s.tally[topic] = append(s.tally[topic], topicTally{rec, now})
		all.Received = all.Written + all.Dropped
		whole[topic] = plus(whole[topic], all.Totals)
	}
	for _, topic := range slices.Sorted(maps.Keys(s.tally)) {
		events = append(events, sum(s.tally[topic]).Event(topic, start, end, false))
	}
	if last && s.files.Several() {
		for _, topic := range slices.Sorted(maps.Keys(whole)) {
			events = append(events, whole[topic].Event(topic, s.began, end, true))
		}
	}
	return events
}

// topicTally is what is to be said of a recording in the totals of a file.
type topicTally struct {
	rec    *topicRecorder
	counts counts
}

func sum(list []topicTally) (t codec.Totals) {
	for _, tally := range list {
		t = plus(t, tally.counts.Totals)
	}
	return t
}

func plus(a, b codec.Totals) codec.Totals {
	return codec.Totals{
		Received: a.Received + b.Received, Written: a.Written + b.Written,
		Dropped: a.Dropped + b.Dropped, Lost: a.Lost + b.Lost,
	}
}

// unfiled returns what was counted and is in no totals yet. The session is locked.
func (rec *topicRecorder) unfiled() counts {
	c := rec.counts()
	written, dropped := c.Written-rec.filed.Written, c.Dropped-rec.filed.Dropped
	return counts{
		Totals: codec.Totals{
			Received: written + dropped, Written: written, Dropped: dropped, Lost: c.Lost - rec.filed.Lost,
		},
		throttled: c.throttled - rec.filed.throttled,
	}
}

// file takes note that c is in the totals of a file.
func (rec *topicRecorder) file(c counts) {
	rec.filed.Totals = plus(rec.filed.Totals, c.Totals)
	rec.filed.throttled += c.throttled
}

// wrote notes that the totals of a topic are in a file.
func (s *session) wrote(e codec.Event) {
	_, whole, ok := codec.ParseTotals(e)
	if !ok || whole {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tally[e.Topic] {
		t.rec.file(t.counts)
	}
	delete(s.tally, e.Topic)
}

// split goes on with another file, which begins at the log time t.
func (s *session) split(closed, opened string, t int64) {
	list := s.recorder.recorded()
	s.mu.Lock()
	s.next(list, opened)
	s.mu.Unlock()
	s.files.Begun()
	s.journal.Note(codec.Event{Kind: codec.EventSplit, Time: cmp.Or(t, s.recorder.clock.Now()),
		Text: "goes on from " + closed})
	s.recorder.node.Log(bridge.Info, "recording goes on in %s", opened)
	s.recorder.announceSplit(closed, opened)
}

// next goes on with the totals of the next file. The session is locked.
func (s *session) next(list []*topicRecorder, opened string) {
	if s.failing && !s.tallied {
		s.endings[s.open] = fileTotals(list)
	}
	s.open, s.failing, s.tallied = opened, false, false
	for _, rec := range list {
		rec.begun = rec.Written.Load()
	}
}

// failed counts and reports an error of writing or completing files.
func (s *session) failed(err error) {
	r := s.recorder
	list := r.recorded()
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing *codec.MissingError
	if !errors.As(err, &missing) {
		s.journal.Note(codec.Event{Kind: codec.EventDisk, Time: r.clock.Now(), Text: err.Error()})
	} else { // the file itself says what is missing
		m := s.count(list, missing)
		if m.said {
			return
		}
		m.said = true
	}
	if s.guard.Waits(err) { // else it is what the recording ends with
		r.node.Log(bridge.Error, "%v", err)
	}
}

// missed is what became of a *codec.MissingError.
type missed struct {
	said  bool
	filed map[string]uint64 // missing messages by topic that totals have as written
}

// count counts missing messages as dropped, once. The session is locked.
func (s *session) count(list []*topicRecorder, missing *codec.MissingError) *missed {
	m := s.missing[missing]
	if m != nil {
		return m
	}
	m = &missed{filed: map[string]uint64{}}
	s.missing[missing] = m
	totals := map[string]uint64{} // of an earlier file, as its last messages are missing, too
	for _, e := range missing.Events {
		if t, whole, ok := codec.ParseTotals(e); ok && !whole {
			totals[e.Topic] += t.Written
		}
	}
	current := missing.Path == s.open
	s.failing = s.failing || current
	for _, topic := range missing.Topics {
		rec := find(list, topic.Channel)
		if rec == nil {
			continue
		}
		n := min(topic.MessageCount, rec.Written.Load())
		var filed uint64
		if current { // the first of the file may be some that were repeated
			n = min(n, rec.Written.Load()-rec.begun)
			filed = n - min(n, rec.unfiled().Written) // the last are the missing ones
		} else {
			if written, ok := totals[topic.Channel.Topic]; ok {
				n = min(n, written)
				totals[topic.Channel.Topic] -= n
			}
			n = min(n, rec.filed.Written)
			rec.begun -= min(n, rec.begun)
			filed = n
		}
		rec.Written.Add(-n)
		rec.Dropped.Add(n)
		rec.noted.Dropped += n
		rec.filed.Written -= filed
		rec.filed.Dropped += filed
		m.filed[rec.Channel.Load().Topic] += filed
	}
	return m
}

// ending is codec.CreateOptions.Ending. It returns the totals of the file and those of its other events that are
// missing.
func (s *session) ending(missing *codec.MissingError) []codec.Event {
	list := s.recorder.recorded()
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.count(list, missing)
	var totals, events []codec.Event
	for _, e := range missing.Events {
		t, whole, ok := codec.ParseTotals(e)
		switch {
		case whole: // it is in the next file, unless the recording fails
		case ok:
			n := min(m.filed[e.Topic], t.Written)
			t.Written -= n
			t.Dropped += n
			totals = append(totals, t.Event(e.Topic, 0, 0, false))
		default:
			events = append(events, e)
		}
	}
	if missing.Path == s.open {
		s.tallied = true
		totals = append(totals, fileTotals(list)...)
	} else {
		totals = append(totals, s.endings[missing.Path]...)
		delete(s.endings, missing.Path)
	}
	return append(totals, events...)
}

// fileTotals returns the totals of what is in no totals yet. The session is locked.
func fileTotals(list []*topicRecorder) (events []codec.Event) {
	topics := map[string]codec.Totals{}
	for _, rec := range list {
		if c := rec.unfiled(); c.Totals != (codec.Totals{}) {
			rec.file(c)
			topic := rec.Channel.Load().Topic
			topics[topic] = plus(topics[topic], c.Totals)
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		events = append(events, topics[topic].Event(topic, 0, 0, false))
	}
	return events
}

// find returns the recording of a channel's topic and type, nil if there is none.
func find(list []*topicRecorder, c *codec.Channel) *topicRecorder {
	for _, rec := range list {
		if own := rec.Channel.Load(); own.Topic == c.Topic && own.Type == c.Type {
			return rec
		}
	}
	return nil
}

// refused reports why a message of a topic, or what goes with messages, cannot be written.
func (s *session) refused(t *queue.Topic, err error) {
	what := ""
	if t != nil {
		what = t.Name()
	}
	s.recorder.warn("refused "+what, "%v", err)
}

// endAt ends the recording at a limit.
func (s *session) endAt(limit string) {
	s.mu.Lock()
	s.reason = limit
	s.mu.Unlock()
	s.recorder.quit()
}

// collect notes what was lost and dropped since it was called last.
func (s *session) collect() {
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
		topic := rec.Channel.Load().Topic
		if n := c.Lost - rec.noted.Lost; n > 0 {
			when := rec.LossRange()
			if when == (accounting.TimeRange{}) {
				when = accounting.TimeRange{From: s.collected, Until: now}
			}
			s.journal.Note(codec.Event{Kind: codec.EventLost, Topic: topic, Time: when.From, Until: when.Until, Count: n,
				Text: "lost on the way from a publisher"})
		}
		if n := c.Dropped - rec.noted.Dropped; n > 0 {
			s.journal.Note(codec.Event{Kind: codec.EventDrop, Topic: topic, Time: s.collected, Until: now, Count: n, Text: why})
		}
		rec.noted = c
	}
	s.collected = now
}

// noteSilences notes of which topics nothing is heard any more.
func (s *session) noteSilences() {
	for _, rec := range s.recorder.recorded() {
		rec.NoteGap(time.Now().UnixNano(), s.recorder.clock.Now())
	}
}
