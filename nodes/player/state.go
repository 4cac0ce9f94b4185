package main

import (
	"fmt"
	"time"
)

// state says how a playback goes.
type state struct {
	word       string
	paused     bool
	rate       float64
	position   int64 // recorded time, ns
	start, end int64 // likewise, of what is played
	played     uint64
}

// String returns "[PLAYING] 2026-11-21 10:00:05.2  5.2 / 20.0 s  rate 1.00  1234 messages".
func (s state) String() string {
	rate := fmt.Sprintf("%.2f", s.rate)
	if s.rate == immediate {
		rate = "max"
	}
	return fmt.Sprintf("[%-7s] %s  %.1f / %.1f s  rate %s  %d messages", s.word, time.Unix(0, s.position).Format("2006-01-02 15:04:05.0"),
		float64(s.position-s.start)/1e9, float64(s.end-s.start)/1e9, rate, s.played)
}

// snapshot is what state makes a state of.
type snapshot struct {
	state   state
	line    timeline
	due     int64
	running bool
}

// show keeps the state for others than the goroutine of run.
func (e *engine) show() {
	s := snapshot{state{"PLAYING", e.paused, e.line.rate, e.line.recorded, e.start, e.end, e.played}, e.line, e.due(), e.running()}
	switch {
	case e.feed == nil:
		s.state.word = "WAITING"
	case e.finished:
		s.state.word = "ENDED"
	case e.paused:
		s.state.word = "PAUSED"
	case e.lock.held():
		s.state.word = "HELD"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = s
}

// state returns how the playback goes. It does not wait for the stage.
func (e *engine) state() state {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.shown
	if s.running {
		s.state.position = min(s.line.at(e.timer.now()), s.due)
	}
	return s.state
}
