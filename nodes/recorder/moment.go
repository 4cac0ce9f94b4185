package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/msgs/builtin_interfaces"
)

// What a moment is told by, as rosbag2's Resume and SplitBagfile number it.
const (
	byClock       = iota // the node's
	byPublishing         // the publish time of messages
	byReception          // their log time
	numberOfModes = iota
)

// moment is when something is to happen that a service was asked for.
type moment struct {
	mode  int32
	time  int64  // ns since the Unix epoch; 0: now
	topic string // whose messages tell; "": all
}

func newMoment(t builtin_interfaces.Time, mode int32) (moment, error) {
	if mode < 0 || mode >= numberOfModes {
		return moment{}, fmt.Errorf("mode %d is none, want 0 for the node's clock, 1 for publish times or 2 for receive times", mode)
	}
	return moment{mode: mode, time: int64(t.Sec)*1e9 + int64(t.Nanosec)}, nil
}

// come says whether the moment is there at the time now of the node's clock, or past. Publish times are up to the messages.
func (m *moment) come(now int64) bool { return m.time == 0 || m.mode != byPublishing && m.time <= now }

// toldBy says whether a message tells that the moment is there.
func (m *moment) toldBy(topic string, publishTime, logTime int64) bool {
	t := logTime
	if m.mode == byPublishing {
		t = publishTime
	}
	return t >= m.time && (m.topic == "" || m.topic == topic)
}

// planPace is how often a plan looks at the clock, which may be a simulated one.
const planPace = 5 * time.Millisecond

// plans are what is to be done at a time by the node's clock, each under a name. A later one takes the place of the one before.
type plans struct {
	ctx   context.Context // ends all
	clock *bridge.SimTime

	mu      sync.Mutex
	pending map[string]context.CancelFunc
}

func newPlans(ctx context.Context, clock *bridge.SimTime) *plans {
	return &plans{ctx: ctx, clock: clock, pending: map[string]context.CancelFunc{}}
}

// ended reports whether plans that are made now come to nothing.
func (p *plans) ended() bool { return p.ctx.Err() != nil }

// set has do called at t, ns since the Unix epoch.
func (p *plans) set(name string, t int64, do func()) {
	p.drop(name)
	ctx, cancel := context.WithCancel(p.ctx)
	p.mu.Lock()
	p.pending[name] = cancel
	p.mu.Unlock()
	go func() {
		defer cancel()
		tick := time.NewTicker(planPace)
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

// drop forgets a plan.
func (p *plans) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cancel := p.pending[name]; cancel != nil {
		cancel()
	}
}

// resumesAt returns the index of the message that ends a pause, len(samples) if none does.
func (s *stream) resumesAt(samples []bridge.Sample) int {
	if !s.paused || s.resumption == nil {
		return len(samples)
	}
	m := s.resumption.Load()
	if m == nil {
		return len(samples)
	}
	topic := s.channel.Load().Topic
	for i := range samples {
		if m.toldBy(topic, samples[i].SourceTime, s.clock.Stamp(samples[i].ReceiveTime)) && s.resumption.CompareAndSwap(m, nil) {
			return i
		}
	}
	return len(samples)
}
