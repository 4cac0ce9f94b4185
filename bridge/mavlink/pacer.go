package mavlink

import (
	"context"
	"time"
)

// maxPause is the longest pause in a log that is kept; longer ones are stamps of another day rather than silence.
const maxPause = int64(time.Minute)

// pacer lets the time of a log pass at rate times real speed.
type pacer struct {
	clock Clock
	rate  float64 // 0 for at once

	started bool
	began   int64 // by the clock, in ns
	first   int64 // stamp that is due then, in ns
	last    int64 // stamp of the last frame, in ns
}

// wait returns when the frame with this stamp is due.
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
