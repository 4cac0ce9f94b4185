package mavlink

import (
	"context"
	"time"
)

// sleep returns after d, or early with ctx's error when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxPause is the longest pause in a log that is kept; longer ones mean another day rather than silence.
const maxPause = int64(time.Minute)

// pacer replays the time of a log at rate times real speed.
type pacer struct {
	rate float64 // 0: without waiting

	started bool
	began   time.Time
	first   int64 // stamp due at began, in ns
	last    int64 // stamp of the last frame, in ns
}

// wait waits until the frame with this stamp is due.
func (p *pacer) wait(ctx context.Context, stamp int64) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	if !p.started || stamp < p.last || stamp-p.last > maxPause {
		p.started, p.began, p.first = true, time.Now(), stamp
	}
	p.last = stamp
	due := p.began.Add(time.Duration(float64(stamp-p.first) / p.rate))
	if ahead := time.Until(due); ahead > 0 {
		return sleep(ctx, ahead)
	}
	return ctx.Err()
}
