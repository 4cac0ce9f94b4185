package mavlink

import (
	"context"
	"time"
)

// Clock is the time source of a Link.
type Clock interface {
	// Now returns ns since the Unix epoch.
	Now() int64
	// Sleep returns after d, or early with ctx's error when ctx ends.
	Sleep(ctx context.Context, d time.Duration) error
}

// systemClock is this computer's clock.
type systemClock struct{}

func (systemClock) Now() int64 { return time.Now().UnixNano() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// maxPause is the longest pause in a log that is kept; longer ones mean another day rather than silence.
const maxPause = int64(time.Minute)

// pacer replays the time of a log at rate times real speed.
type pacer struct {
	clock Clock
	rate  float64 // 0: without waiting

	started bool
	began   int64 // by the clock, in ns
	first   int64 // stamp due at began, in ns
	last    int64 // stamp of the last frame, in ns
}

// wait waits until the frame with this stamp is due.
func (p *pacer) wait(ctx context.Context, stamp int64) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	if !p.started || stamp < p.last || stamp-p.last > maxPause {
		p.started, p.began, p.first = true, p.clock.Now(), stamp
	}
	p.last = stamp
	due := p.began + int64(float64(stamp-p.first)/p.rate)
	if ahead := due - p.clock.Now(); ahead > 0 {
		return p.clock.Sleep(ctx, time.Duration(ahead))
	}
	return ctx.Err()
}
