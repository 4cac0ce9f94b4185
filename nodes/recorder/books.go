package main

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// What a session keeps books of, for its sink: it implements desk.

// happened implements desk.
func (s *session) happened() []codec.Event { return s.journal.take(time.Now(), false) }

// ended implements desk.
func (s *session) ended(start, end int64, last bool) []codec.Event {
	s.collect()
	if last {
		s.notePause(s.recorder.clock.Now())
		s.noteSilences()
	}
	events := s.journal.take(time.Now(), true)
	list := s.recorder.recorded()
	s.mu.Lock()
	defer s.mu.Unlock()
	file, whole := map[string]codec.Totals{}, map[string]codec.Totals{}
	for _, rec := range list {
		topic, all, before := rec.channel.Load().Topic, rec.counts(), rec.filed
		t, w := file[topic], whole[topic]
		if n := all.throttled - before.throttled; n > 0 {
			events = append(events, codec.Event{Kind: codec.EventThrottle, Topic: topic, Time: start, Until: end, Count: n, Text: "left out, as throttle asks"})
		}
		written, dropped := all.Written-before.Written, all.Dropped-before.Dropped
		file[topic] = codec.Totals{
			Received: t.Received + written + dropped, Written: t.Written + written, Dropped: t.Dropped + dropped,
			Lost: t.Lost + all.Lost - before.Lost,
		}
		whole[topic] = codec.Totals{
			Received: w.Received + all.Received, Written: w.Written + all.Written, Dropped: w.Dropped + all.Dropped, Lost: w.Lost + all.Lost,
		}
	}
	for _, topic := range slices.Sorted(maps.Keys(file)) {
		events = append(events, file[topic].Event(topic, start, end, false))
	}
	if last && s.files.split() {
		for _, topic := range slices.Sorted(maps.Keys(whole)) {
			events = append(events, whole[topic].Event(topic, s.began, end, true))
		}
	}
	return events
}

// latched implements desk.
func (s *session) latched(t int64) []*item { return s.recorder.latched(t) }

// split implements desk.
func (s *session) split(closed, opened string, t int64) {
	list := s.recorder.recorded()
	s.mu.Lock()
	for _, rec := range list {
		rec.filed = rec.counts()
	}
	s.mu.Unlock()
	s.files.begun()
	s.journal.note(codec.Event{Kind: codec.EventSplit, Time: cmp.Or(t, s.recorder.clock.Now()), Text: "goes on from " + closed})
	s.recorder.node.Log(bridge.Info, "recording goes on in %s", opened)
	s.recorder.announceSplit(closed, opened)
}

// failed implements desk. It is called for errors of completing files, too.
func (s *session) failed(err error) {
	r := s.recorder
	list := r.recorded()
	s.mu.Lock()
	defer s.mu.Unlock()
	var missing *codec.MissingError
	switch {
	case !errors.As(err, &missing):
		s.journal.note(codec.Event{Kind: codec.EventDisk, Time: r.clock.Now(), Text: err.Error()})
	case s.missing[missing]:
		return
	default: // the file itself says what is missing
		s.missing[missing] = true
		for _, topic := range missing.Topics {
			if rec := find(list, topic.Channel); rec != nil {
				n := min(topic.MessageCount, rec.written.Load()) // among them may be what was repeated
				rec.written.Add(-n)
				rec.dropped.Add(n)
				rec.noted.Dropped += n
				if missing.Path != s.sink.file() { // but a file before
					rec.filed.Written -= min(n, rec.filed.Written)
					rec.filed.Dropped += n
				}
			}
		}
	}
	if s.guard.waits(err) { // else it is what the recording ends with
		r.node.Log(bridge.Error, "%v", err)
	}
}

// find returns the recording of a channel's topic and type, nil if there is none.
func find(list []*recording, c *codec.Channel) *recording {
	for _, rec := range list {
		if own := rec.channel.Load(); own.Topic == c.Topic && own.Type == c.Type {
			return rec
		}
	}
	return nil
}

// refused implements desk.
func (s *session) refused(stream *stream, err error) {
	what := ""
	if stream != nil {
		what = stream.channel.Load().Topic
	}
	s.recorder.warn("refused "+what, "%v", err)
}

// enough implements desk.
func (s *session) enough(limit string) {
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
	if s.sink.late() {
		why = "dropped, as PNGs were not made as fast as pictures came"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range list {
		c := rec.counts()
		topic := rec.channel.Load().Topic
		if n := c.Lost - rec.noted.Lost; n > 0 {
			when := rec.lossSpan()
			if when == (span{}) {
				when = span{s.collected, now}
			}
			s.journal.note(codec.Event{Kind: codec.EventLost, Topic: topic, Time: when.from, Until: when.until, Count: n, Text: "lost on the way from a publisher"})
		}
		if n := c.Dropped - rec.noted.Dropped; n > 0 {
			s.journal.note(codec.Event{Kind: codec.EventDrop, Topic: topic, Time: s.collected, Until: now, Count: n, Text: why})
		}
		rec.noted = c
	}
	s.collected = now
}

// noteSilences notes of which topics nothing is heard any more.
func (s *session) noteSilences() {
	for _, rec := range s.recorder.recorded() {
		if e, silent := rec.silence(time.Now().UnixNano(), s.recorder.clock.Now()); silent {
			s.journal.note(e)
		}
	}
}
