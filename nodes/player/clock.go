package main

import (
	"context"
	"math"
	"sync"
	"time"
)

// The rates that a clock can run at.
const (
	minRate = 0.001
	maxRate = 1e6
)

// clock is the time of the playback: recorded time that runs at a rate and can stand still. It never runs ahead of what is
// played: when that takes its time, the clock waits, and catches up.
type clock struct {
	mu      sync.Mutex
	rate    float64   // recorded seconds per second
	paused  bool      // until resumed
	steps   int       // messages to let pass while paused
	base    int64     // recorded time, ns, at wall
	wall    time.Time // when base was set
	next    int64     // what wait was called for last: the clock stops there
	changed chan struct{}
	timer   *time.Timer // of wait
}

// newClock returns a clock that stands at start, in ns.
func newClock(start int64, rate float64) *clock {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &clock{rate: rate, paused: true, base: start, wall: time.Now(), next: start, changed: make(chan struct{}), timer: timer}
}

// now returns the recorded time, ns since the Unix epoch.
func (c *clock) now() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return min(c.at(time.Now()), c.next)
}

// at returns what the time is if nothing holds the clock up.
func (c *clock) at(wall time.Time) int64 {
	if c.paused {
		return c.base
	}
	return c.base + nanoseconds(float64(wall.Sub(c.wall))*c.rate)
}

// nanoseconds converts a number that may be larger than a century, which it is cut to.
func nanoseconds(ns float64) int64 { return int64(min(ns, float64(math.MaxInt64/4))) }

// change rebases the clock, lets do change it, and wakes who waits.
func (c *clock) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.base, c.wall = min(c.at(now), c.next), now
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *clock) resume() { c.change(func() { c.paused, c.steps = false, 0 }) }
func (c *clock) toggle() { c.change(func() { c.paused, c.steps = !c.paused, 0 }) }

// scale changes the rate by a factor.
func (c *clock) scale(factor float64) {
	c.change(func() { c.rate = min(max(c.rate*factor, minRate), maxRate) })
}

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

// wait returns when it is t, in ns, or when a step brings the clock there. It is for one goroutine, and t does not
// decrease from call to call. The error is that of ctx.
func (c *clock) wait(ctx context.Context, t int64) error {
	c.mu.Lock()
	c.next = t
	for {
		now := time.Now()
		ahead := t - c.at(now)
		switch {
		case c.paused && c.steps > 0:
			c.steps--
			c.base = t
			ahead = 0
		case c.paused:
			ahead = math.MaxInt64
		}
		if ahead <= 0 {
			c.mu.Unlock()
			return ctx.Err()
		}
		if !c.paused {
			c.timer.Reset(time.Duration(nanoseconds(float64(ahead) / c.rate)))
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			c.timer.Stop()
			return ctx.Err()
		case <-changed:
		case <-c.timer.C:
		}
		c.timer.Stop()
		c.mu.Lock()
	}
}
