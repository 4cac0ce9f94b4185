package recorder

import (
	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/filewriter"
)

// note writes an event to the recording, unless the recorder is in snapshot mode.
func (s *session) note(e codec.Event) {
	if s.writer != nil {
		s.writer.Note(e)
	}
}

// onFileEnd notes the events at the end of a file, whose messages have log times from start to end. The last file of a
// recording also gets the events of the whole recording.
func (s *session) onFileEnd(start, end int64, last bool) {
	s.noteLosses()
	list := s.recorded()
	if last {
		s.notePause(s.recorder.clock.Now(), true)
		for _, rec := range list {
			rec.NoteGap(bridge.Now(), s.recorder.clock.Now())
		}
		s.noteVerdict()
	}
	for _, rec := range list {
		throttled := rec.Throttled.Load()
		if n := throttled - rec.Noted.Throttled; n > 0 {
			s.note(codec.Event{Kind: codec.EventThrottle, Topic: rec.Name(), Time: start, Until: end, Count: n,
				Text: "left out by throttle"})
		}
		rec.Noted.Throttled = throttled
	}
}

// countedTopics returns the topics of the recording with the counts for their totals.
func (s *session) countedTopics() (list []filewriter.Counted) {
	for _, rec := range s.recorded() {
		list = append(list, filewriter.Counted{Topic: rec.Topic, Lost: rec.Lost()})
	}
	return list
}

// noteLosses notes the messages lost and dropped since the last call. It leaves out messages that the disk lost: the
// totals of their file count them. The goroutine of writer calls it.
func (s *session) noteLosses() {
	now := s.recorder.clock.Now()
	list := s.recorded()
	why := "dropped, as the disk did not keep up"
	if s.late() {
		why = "dropped because PNG encoding could not keep up"
	}
	for _, rec := range list {
		lost, dropped := rec.Lost(), rec.Dropped.Load()
		if n := lost - rec.Noted.Lost; n > 0 {
			from, until := rec.LossRange()
			if from == 0 && until == 0 {
				from, until = s.collected, now
			}
			s.note(codec.Event{Kind: codec.EventLost, Topic: rec.Name(), Time: from, Until: until, Count: n,
				Text: "lost in transport from a publisher"})
		}
		if n := dropped - rec.Noted.Dropped; n > 0 {
			text := why
			if reason, ok := s.recorder.refusals.Load(rec.Name()); ok {
				text = "dropped: " + reason.(string)
			}
			s.note(codec.Event{Kind: codec.EventDrop, Topic: rec.Name(), Time: s.collected, Until: now,
				Count: n, Text: text})
		}
		rec.Noted.Lost, rec.Noted.Dropped = lost, dropped
	}
	s.collected = now
}

// notePause notes a pause that lasted until t, if recording was paused. If it is still paused, another pause begins at
// t.
func (s *session) notePause(t int64, still bool) {
	next := int64(0)
	if still {
		next = t
	}
	if since := s.paused.Load(); since != 0 && s.paused.CompareAndSwap(since, next) {
		s.note(codec.Event{Kind: codec.EventPause, Time: since, Until: t, Text: "recording was paused"})
	}
}
