package main

import (
	"time"

	"tapedeck/codec"
)

// pause has what is received from now on not recorded. Subscriptions, and the messages kept for snapshots, go on.
func (r *recorder) pause() { r.setPaused(true) }

// resume records again what is received, and what was latched meanwhile.
func (r *recorder) resume() { r.setPaused(false) }

func (r *recorder) paused() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pausing
}

func (r *recorder) setPaused(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if on == r.pausing {
		return
	}
	r.pausing = on
	if on {
		r.pausedAt = time.Now().UnixNano()
	}
	for _, rec := range r.recorders {
		rec.Pause(on, r.pausedAt)
	}
	if s := r.session.Load(); on {
		s.mu.Lock()
		s.paused = r.clock.Now()
		s.mu.Unlock()
	} else {
		s.notePause(r.clock.Now())
	}
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
