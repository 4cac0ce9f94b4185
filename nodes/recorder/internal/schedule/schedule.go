// Package schedule calls functions at times of the node's clock, and decides which message reaches a deadline.
package schedule

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/msgs/builtin_interfaces"
)

// The clock by which a deadline is reached, as rosbag2's Resume and SplitBagfile number it.
const (
	ByClock       = iota // the node's
	ByPublishing         // the publish time of messages
	byReception          // their log time
	NumberOfModes = iota
)

// Deadline is a time at which a service request takes effect.
type Deadline struct {
	Mode  int32
	Time  int64  // ns since the Unix epoch; 0: now
	Topic string // messages of this topic alone reach the deadline; "": those of all topics
}

// NewDeadline returns a deadline with the time and mode of a request. It fails for unknown modes.
func NewDeadline(t builtin_interfaces.Time, mode int32) (Deadline, error) {
	if mode < 0 || mode >= NumberOfModes {
		return Deadline{}, fmt.Errorf("unknown mode %d: want 0 for the node's clock, 1 for publish times or 2 for "+
			"receive times", mode)
	}
	return Deadline{Mode: mode, Time: t.Nanoseconds()}, nil
}

// Reached reports whether the deadline has come at now, the time of the node's clock. Deadlines by publish time are
// reached by messages only.
func (m *Deadline) Reached(now int64) bool {
	return m.Time == 0 || m.Mode != ByPublishing && m.Time <= now
}

// ReachedBy reports whether a message with these times, ns since the Unix epoch, reaches the deadline.
func (m *Deadline) ReachedBy(topic string, publishTime, logTime int64) bool {
	t := logTime
	if m.Mode == ByPublishing {
		t = publishTime
	}
	return t >= m.Time && (m.Topic == "" || m.Topic == topic)
}

// pace is how often the clock, which may be simulated, is read.
const pace = 5 * time.Millisecond

// Schedule holds functions to be called at times of the node's clock, each under a name. A new function replaces the
// one with its name.
type Schedule struct {
	ctx   context.Context // ends all
	clock *bridge.SimTime

	pending sync.Map // by name a context.CancelFunc
}

// New returns an empty Schedule that runs until ctx ends. Deadlines are times of clock.
func New(ctx context.Context, clock *bridge.SimTime) *Schedule {
	return &Schedule{ctx: ctx, clock: clock}
}

// Ended reports whether functions set now will never be called.
func (p *Schedule) Ended() bool { return p.ctx.Err() != nil }

// Set calls do at t, ns since the Unix epoch, on a goroutine of its own.
func (p *Schedule) Set(name string, t int64, do func()) {
	ctx, cancel := context.WithCancel(p.ctx)
	if before, set := p.pending.Swap(name, cancel); set {
		before.(context.CancelFunc)()
	}
	go func() {
		defer cancel()
		tick := time.NewTicker(pace)
		defer tick.Stop()
		for p.clock.Now() < t {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		do()
	}()
}

// Cancel removes a function, unless it is running already.
func (p *Schedule) Cancel(name string) {
	if cancel, set := p.pending.Load(name); set {
		cancel.(context.CancelFunc)()
	}
}
