package main

import (
	"context"
	"fmt"
	"time"
)

// show tells on a terminal a few times a second how far the playback is, until ctx ends.
func (p *player) show(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil {
		p.line.Show(p.state())
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// state says where the playback is: "[PLAYING] 2026-11-21 10:00:05.2  5.2 / 20.0 s  rate 1.00  1234 messages".
func (p *player) state() string {
	rate, paused := p.clock.state()
	word := "PLAYING"
	if paused {
		word = "PAUSED "
	}
	now := p.clock.now() - p.shift.Load()
	return fmt.Sprintf("[%s] %s  %.1f / %.1f s  rate %.2f  %d messages", word, time.Unix(0, now).Format("2006-01-02 15:04:05.0"),
		float64(now-p.start)/1e9, float64(p.end-p.start)/1e9, rate, p.published.Load())
}
