package main

import (
	"context"
	"sync"
	"time"
)

// clock is the time of the playback: recorded time that runs at a rate and can stand still.
type clock struct {
	mu      sync.Mutex
	rate    float64   // recorded seconds per second
	paused  bool      // until resumed
	steps   int       // messages to let pass while paused
	base    int64     // recorded time, ns, at wall
	wall    time.Time // when base was set
	changed chan struct{}
	timer   *time.Timer // of wait
}

// newClock returns a clock that stands at start, in ns.
func newClock(start int64, rate float64) *clock {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &clock{rate: rate, paused: true, base: start, wall: time.Now(), changed: make(chan struct{}), timer: timer}
}

// now returns the recorded time, ns since the Unix epoch.
func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at(time.Now())
}

func (c *clock) at(wall time.Time) int64 {
	if c.paused {
		return c.base
	}
	return c.base + int64(float64(wall.Sub(c.wall))*c.rate)
}

// change rebases the clock, lets do change it, and wakes who waits.
func (c *clock) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.base, c.wall = c.at(now), now
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *clock) resume()              { c.change(func() { c.paused = false }) }
func (c *clock) toggle()              { c.change(func() { c.paused = !c.paused }) }
func (c *clock) setRate(rate float64) { c.change(func() { c.rate = rate }) }

// step lets one message pass while the clock is paused.
func (c *clock) step() {
	c.change(func() {
		if c.paused {
			c.steps++
		}
	})
}

// state returns the rate and whether the clock is paused.
func (c *clock) state() (rate float64, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rate, c.paused
}

// wait returns when it is t, in ns, or when a step brings the clock there. It is for one goroutine. The error is that
// of ctx.
func (c *clock) wait(ctx context.Context, t int64) error {
	for {
		c.mu.Lock()
		now := time.Now()
		ahead := t - c.at(now)
		if ahead <= 0 {
			c.mu.Unlock()
			return ctx.Err()
		}
		if c.paused && c.steps > 0 {
			c.steps--
			c.base, c.wall = t, now
			c.mu.Unlock()
			return ctx.Err()
		}
		if !c.paused {
			c.timer.Reset(time.Duration(float64(ahead) / c.rate))
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-changed:
		case <-c.timer.C:
		}
		c.timer.Stop()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}
