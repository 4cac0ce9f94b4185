package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/msgs/wire"
	"tapedeck/nodes/internal/calls"
	"tapedeck/nodes/internal/human"
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
	failing  bool // the last request was not sent
	late     int  // replies that come once a goal is reached
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

// drop counts a request that is not sent, and logs the first reason.
func (c *caller) drop(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsent++; c.unsent == 1 {
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

// await waits until the services are there, and returns the names of those that are missing when ctx ends.
func (all callers) await(ctx context.Context) (missing []string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		missing = nil
		for _, c := range all.list {
			if !c.client.Available() {
				missing = append(missing, c.client.Service())
			}
		}
		if missing == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return missing
		}
	}
}

// goalID is the identifier of a goal, the first field of all requests of actions.
type goalID [16]byte

// goalIDEnd is where it ends in a payload.
const goalIDEnd = wire.HeaderSize + len(goalID{})

// action gives the goals that are sent new identifiers, as an action server accepts each identifier only once.
type action struct {
	mu    sync.Mutex
	goals map[goalID]*goal // by the recorded identifier
}

// goal is a goal that was sent.
type goal struct {
	id                 goalID
	answered, accepted bool
	waiting            []func() // requests about the goal that came before it was answered
}

// send sends a request of the action.
func (a *action) send(c *caller, part string, request []byte, playingTime func(int64) int64) error {
	stamped := part == calls.CancelGoal
	if len(request) < goalIDEnd || stamped && len(request) < goalIDEnd+8 {
		return errMismatch
	}
	request = append([]byte(nil), request...)
	recorded := goalID(request[wire.HeaderSize:])
	if part == calls.SendGoal {
		a.sendGoal(c, recorded, request)
		return nil
	}
	if stamped {
		moveStamp(request[1]&1 != 0, request[goalIDEnd:], playingTime)
	}
	if stamped && recorded == (goalID{}) { // all goals, or those up to the stamp
		c.send(request, false, nil)
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.goals[recorded]
	if g == nil {
		c.drop("its goal was not sent")
		return nil
	}
	copy(request[wire.HeaderSize:], g.id[:])
	send := func() {
		if g.accepted {
			c.send(request, part == calls.GetResult, nil)
		} else {
			c.drop("its goal was not accepted")
		}
	}
	if g.answered {
		send()
	} else {
		g.waiting = append(g.waiting, send)
	}
	return nil
}

func (a *action) sendGoal(c *caller, recorded goalID, request []byte) {
	g := new(goal)
	rand.Read(g.id[:])
	copy(request[wire.HeaderSize:], g.id[:])
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.goals, recorded)
	if c.send(request, false, func(response []byte) { a.answer(c, g, response) }) {
		a.goals[recorded] = g
	}
}

// answer sends what waited for the answer to a goal.
func (a *action) answer(c *caller, g *goal, response []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g.answered = true
	if g.accepted = len(response) > wire.HeaderSize && response[wire.HeaderSize] != 0; !g.accepted {
		c.node.Log(bridge.Warn, "a goal of %s was rejected", strings.TrimSuffix(c.client.Service(), calls.SendGoal))
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
	for _, g := range a.goals {
		g.release()
	}
}

// moveStamp moves a builtin_interfaces/msg/Time to the time of playing, unless it is 0.
func moveStamp(little bool, stamp []byte, playingTime func(int64) int64) {
	var order binary.ByteOrder = binary.BigEndian
	if little {
		order = binary.LittleEndian
	}
	t := int64(int32(order.Uint32(stamp)))*1e9 + int64(order.Uint32(stamp[4:]))
	if t != 0 {
		t = playingTime(t)
		order.PutUint32(stamp, uint32(t/1e9))
		order.PutUint32(stamp[4:], uint32(t%1e9))
	}
}
