package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// status shows on a terminal how far the playback is.
type status struct {
	player   *player
	terminal io.Writer // nil without one
}

func newStatus(p *player) *status {
	s := &status{player: p}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		s.terminal = os.Stderr
		if !p.options.KeyboardOff && term.IsTerminal(int(os.Stdin.Fd())) {
			fmt.Fprintln(s.terminal, "Space pauses and resumes, s or → plays the next message while paused, ↑ and ↓ change the rate.")
		}
	}
	return s
}

// run shows the state a few times a second until ctx ends.
func (s *status) run(ctx context.Context) {
	if s.terminal == nil {
		return
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		fmt.Fprintf(s.terminal, "\r\x1b[K%s", s)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (s *status) clear() {
	if s.terminal != nil {
		fmt.Fprint(s.terminal, "\r\x1b[K")
	}
}

// String says where the playback is: "[PLAYING] 2026-11-21 10:00:05.2  5.2 / 20.0 s  rate 1.0  1234 messages".
func (s *status) String() string {
	p := s.player
	rate, paused := p.clock.state()
	word := "PLAYING"
	if paused {
		word = "PAUSED "
	}
	now := p.clock.now() - p.shift.Load()
	return fmt.Sprintf("[%s] %s  %.1f / %.1f s  rate %.2f  %d messages", word, time.Unix(0, now).Format("2006-01-02 15:04:05.0"),
		float64(now-p.start)/1e9, float64(p.end-p.start)/1e9, rate, p.published.Load())
}
