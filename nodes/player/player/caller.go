package player

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/text/human"
	"tapedeck/msgs/action_msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosidl/wire"
)

// replyPatience is how long a reply is waited for.
const replyPatience = 5 * time.Minute

// caller sends requests to one service. Its methods may be called from several goroutines at once.
type caller struct {
	node   bridge.Node
	client bridge.Client
	ctx    context.Context
	cancel context.CancelFunc

	mu       sync.Mutex
	sent     int
	unsent   int
	answered int
	failing  bool     // the last request was not sent
	reasons  []string // why others were not, each once
	late     int      // replies that come once a goal is reached
	replied  chan struct{}
}

func newCaller(node bridge.Node, client bridge.Client) *caller {
	c := &caller{node: node, client: client, replied: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// send sends a request and calls then, unless it is nil, with the reply. It reports false if the request was not sent.
func (c *caller) send(request []byte, late bool, then func(response []byte)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	wait, err := c.client.Send(request)
	if err != nil {
		c.unsent++
		if !c.failing && c.ctx.Err() == nil {
			c.node.Log(bridge.Error, "a request of %s was not sent: %v", c.client.Service(), err)
		}
		c.failing = true
		return false
	}
	c.sent++
	c.failing = false
	if late {
		c.late++
	}
	go func() {
		ctx, cancel := context.WithTimeout(c.ctx, replyPatience)
		defer cancel()
		response, err := wait(ctx)
		if err == nil && then != nil {
			then(response)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil {
			c.answered++
		}
		if err == nil && late {
			c.late--
		}
		select {
		case c.replied <- struct{}{}:
		default:
		}
	}()
	return true
}

// drop counts a request that is not sent, and logs each reason once.
func (c *caller) drop(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent++
	if !slices.Contains(c.reasons, reason) {
		c.reasons = append(c.reasons, reason)
		c.node.Log(bridge.Warn, "a request of %s is not sent: %s", c.client.Service(), reason)
	}
}

// settle waits until ctx ends for replies, but not for results of goals.
func (c *caller) settle(ctx context.Context) {
	for {
		c.mu.Lock()
		open := c.sent - c.answered - c.late
		c.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-c.replied:
		case <-ctx.Done():
			return
		}
	}
}

// report ends the caller and logs what became of the requests.
func (c *caller) report() {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	service := c.client.Service()
	c.node.Log(bridge.Info, "sent %s to %s; %d answered", human.Count(c.sent, "request"), service, c.answered)
	if c.unsent > 0 {
		c.node.Log(bridge.Warn, "%s to %s not sent", human.Count(c.unsent, "request"), service)
	}
}

// callers send the recorded requests.
type callers struct {
	list    []*caller // by service
	actions []*action
}

// finish waits until ctx ends for replies and logs what became of the requests.
func (all callers) finish(ctx context.Context) {
	for _, c := range all.list {
		c.settle(ctx)
	}
	for _, a := range all.actions {
		a.finish()
	}
	for _, c := range all.list {
		c.settle(ctx)
		c.report()
	}
}

// missing returns the names of the services that are not there.
func (all callers) missing() (names []string) {
	for _, c := range all.list {
		if !c.client.Available() {
			names = append(names, c.client.Service())
		}
	}
	return names
}

// goalID is the identifier of a goal, the first field of all requests of actions.
type goalID [16]byte

// action gives the goals that are sent new identifiers, as an action server accepts each identifier only once.
type action struct {
	mu    sync.Mutex
	goals map[goalID]*goal // by the recorded identifier
	open  map[*goal]bool   // those without an answer, also of earlier rounds
}

// goal is a goal that was sent.
type goal struct {
	id                 goalID
	answered, accepted bool
	waiting            []func() // requests about the goal that came before it was answered
}

// send sends a request of the action.
func (a *action) send(c *caller, part string, request []byte, playingTime func(int64) int64) error {
	if len(request) < wire.HeaderSize+len(goalID{}) {
		return errMismatch
	}
	request = slices.Clone(request)
	recorded := goalID(request[wire.HeaderSize:])
	a.mu.Lock()
	defer a.mu.Unlock()
	switch part {
	case bridge.SendGoal:
		a.sendGoal(c, recorded, request)
		return nil
	case bridge.CancelGoal:
		var m action_msgs.CancelGoal_Request
		if err := cdr.Unmarshal(request, &m); err != nil {
			return fmt.Errorf("%w: %w", errMismatch, err)
		}
		if t := &m.GoalInfo.Stamp; t.Sec != 0 || t.Nanosec != 0 {
			*t = builtin_interfaces.TimeAt(playingTime(t.Nanoseconds()))
		}
		request, _ = cdr.Marshal(&m)
		if recorded == (goalID{}) { // all goals, or those up to the stamp
			c.send(request, false, nil)
			return nil
		}
	}
	g := a.goals[recorded]
	if g == nil {
		c.drop("its goal was not sent")
		return nil
	}
	copy(request[wire.HeaderSize:], g.id[:])
	send := func() {
		switch {
		case g.accepted:
			c.send(request, part == bridge.GetResult, nil)
		case g.answered:
			c.drop("its goal was not accepted")
		default:
			c.drop("its goal was not answered in time")
		}
	}
	if g.answered {
		send()
	} else {
		g.waiting = append(g.waiting, send)
	}
	return nil
}

// sendGoal sends a goal with a new identifier. a.mu is held.
func (a *action) sendGoal(c *caller, recorded goalID, request []byte) {
	g := new(goal)
	rand.Read(g.id[:])
	copy(request[wire.HeaderSize:], g.id[:])
	delete(a.goals, recorded)
	if c.send(request, false, func(response []byte) { a.answer(c, g, response) }) {
		a.goals[recorded] = g
		a.open[g] = true
	}
}

// answer sends what waited for the answer to a goal.
func (a *action) answer(c *caller, g *goal, response []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, g)
	g.answered = true
	g.accepted = len(response) > wire.HeaderSize && response[wire.HeaderSize] != 0
	if !g.accepted {
		c.node.Log(bridge.Warn, "a goal of %s was rejected", strings.TrimSuffix(c.client.Service(), bridge.SendGoal))
	}
	g.release()
}

// release sends what waited for the answer, or drops it if the goal was not accepted. a.mu is held.
func (g *goal) release() {
	for _, send := range g.waiting {
		send()
	}
	g.waiting = nil
}

// finish drops what still waits for an answer.
func (a *action) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for g := range a.open {
		g.release()
	}
}
