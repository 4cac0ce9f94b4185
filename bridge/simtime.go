package bridge

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rosgraph_msgs"
)

// SimTime is the clock of a node: /clock while the node's parameter use_sim_time is set, else this machine's clock.
type SimTime struct {
	node Node
	sim  atomic.Bool
	now  atomic.Int64 // ns, the latest /clock

	mu           sync.Mutex
	subscription Subscription // nil while the machine's clock is used
}

// NewSimTime returns the clock of n. It follows changes of use_sim_time and ends with n.
func NewSimTime(n Node) (*SimTime, error) {
	c := &SimTime{node: n}
	err := n.Parameters().Follow("use_sim_time", func(value any) error { return c.use(value.(bool)) })
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Now returns the present time in ns since the Unix epoch. Simulated time is 0 until /clock is received.
func (c *SimTime) Now() int64 {
	if c.sim.Load() {
		return c.now.Load()
	}
	return time.Now().UnixNano()
}

func (c *SimTime) use(sim bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if sim == (c.subscription != nil) {
		return nil
	}
	if !sim {
		c.sim.Store(false)
		err := c.subscription.Close()
		c.subscription = nil
		return err
	}
	c.now.Store(0)
	s, err := c.node.Subscribe("/clock", "rosgraph_msgs/msg/Clock", ClockQoS(), c.handle)
	if err != nil {
		return fmt.Errorf("use_sim_time: subscribe to /clock: %w", err)
	}
	c.subscription = s
	c.sim.Store(true)
	return nil
}

func (c *SimTime) handle(batch []Sample) {
	var clock rosgraph_msgs.Clock
	for _, s := range batch {
		if cdr.Unmarshal(s.Data, &clock) == nil {
			c.now.Store(clock.Clock.Nanoseconds())
		}
	}
}

// Stamp returns the time, in ns since the Unix epoch, for a message that was received at wall, a time by this machine's
// clock. With use_sim_time it returns the present simulated time once /clock was received, else wall.
func (c *SimTime) Stamp(wall int64) int64 {
	if now := c.now.Load(); c.sim.Load() && now != 0 {
		return now
	}
	return wall
}
