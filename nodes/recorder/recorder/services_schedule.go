package recorder

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/nodes/recorder/internal/queue"
)

// newDeadline returns a deadline with the time and mode of a request. It fails for unknown modes.
func newDeadline(t builtin_interfaces.Time, mode int32) (queue.Deadline, error) {
	if mode < 0 || mode >= queue.NumberOfModes {
		return queue.Deadline{}, fmt.Errorf("unknown mode %d: want 0 for the node's clock, 1 for publish times or "+
			"2 for receive times", mode)
	}
	return queue.Deadline{Mode: mode, Time: t.Nanoseconds()}, nil
}

// schedule holds functions to be called at times of the node's clock, each under a name. A new function replaces the
// function with the same name.
type schedule struct {
	ctx   context.Context // its end cancels all functions
	clock *bridge.SimTime

	pending sync.Map // context.CancelFunc by name
}

// ended reports whether functions set now will never be called.
func (p *schedule) ended() bool { return p.ctx.Err() != nil }

// set calls do at t, ns since the Unix epoch, on a goroutine of its own.
func (p *schedule) set(name string, t int64, do func()) {
	ctx, cancel := context.WithCancel(p.ctx)
	if before, set := p.pending.Swap(name, cancel); set {
		before.(context.CancelFunc)()
	}
	go func() {
		defer cancel()
		tick := time.NewTicker(5 * time.Millisecond) // the clock may be simulated
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

// cancel removes a function, unless it is running already.
func (p *schedule) cancel(name string) {
	if cancel, set := p.pending.Load(name); set {
		cancel.(context.CancelFunc)()
	}
}
