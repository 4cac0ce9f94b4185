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

// replyPatience is the time to wait for a reply.
const replyPatience = 5 * time.Minute

// caller sends requests to one service. Its methods may be called from several goroutines at once.
type caller struct {
	node   bridge.Node
	client bridge.Client
	ctx    context.Context
	cancel context.CancelFunc

	mu             sync.Mutex
	sent           int
	unsent         int
	answered       int
	failing        bool     // the last request was not sent
	reasons        []string // logged reasons for which requests were dropped
	pendingResults int      // replies that come only when a goal is reached
	replied        chan struct{}
}

func newCaller(node bridge.Node, client bridge.Client) *caller {
	c := &caller{node: node, client: client, replied: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// send sends a request. It calls onReply, unless nil, with the reply. isResult means that the reply comes only when a
// goal is reached. It returns false if the request was not sent.
func (c *caller) send(request []byte, isResult bool, onReply func(response []byte)) bool {
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
	if isResult {
		c.pendingResults++
	}
	go func() {
		ctx, cancel := context.WithTimeout(c.ctx, replyPatience)
		defer cancel()
		response, err := wait(ctx)
		if err == nil && onReply != nil {
			onReply(response)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil {
			c.answered++
		}
		if err == nil && isResult {
			c.pendingResults--
		}
		select {
		case c.replied <- struct{}{}:
		default:
		}
	}()
	return true
}

// drop counts a request that is not sent. It logs each reason once.
func (c *caller) drop(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsent++
	if !slices.Contains(c.reasons, reason) {
		c.reasons = append(c.reasons, reason)
		c.node.Log(bridge.Warn, "a request of %s is not sent: %s", c.client.Service(), reason)
	}
}

// awaitReplies waits until ctx ends for replies, but not for results of goals.
func (c *caller) awaitReplies(ctx context.Context) {
	for {
		c.mu.Lock()
		open := c.sent - c.answered - c.pendingResults
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

// report ends the caller and logs the numbers of sent, answered and unsent requests.
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

// finish waits until ctx ends for replies, and logs the numbers of requests.
func (all callers) finish(ctx context.Context) {
	for _, c := range all.list {
		c.awaitReplies(ctx)
	}
	for _, a := range all.actions {
		a.finish()
	}
	for _, c := range all.list {
		c.awaitReplies(ctx)
		c.report()
	}
}

// missing returns the names of the services that are not available.
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

// action gives each sent goal a new identifier, because an action server accepts an identifier only once.
type action struct {
	mu    sync.Mutex
	goals map[goalID]*goal // by recorded identifier
	open  map[*goal]bool   // goals without an answer, also of earlier rounds
}

// goal is a goal that was sent.
type goal struct {
	id                 goalID
	answered, accepted bool
	waiting            []func() // requests about the goal, sent once it is answered
}

// send sends a request of the action's service operation, such as bridge.SendGoal.
func (a *action) send(c *caller, operation string, request []byte, playingTime func(int64) int64) error {
	if len(request) < wire.HeaderSize+len(goalID{}) {
		return errMismatch
	}
	request = slices.Clone(request)
	recorded := goalID(request[wire.HeaderSize:])
	a.mu.Lock()
	defer a.mu.Unlock()
	switch operation {
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
		if recorded == (goalID{}) { // all goals, or all up to the stamp
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
			c.send(request, operation == bridge.GetResult, nil)
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

// sendGoal sends a goal with a new identifier. The caller must hold a.mu.
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

// answer handles the response to a goal.
func (a *action) answer(c *caller, g *goal, response []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.open, g)
	g.answered = true
	g.accepted = len(response) > wire.HeaderSize && response[wire.HeaderSize] != 0
	if !g.accepted {
		c.node.Log(bridge.Warn, "a goal of %s was rejected", strings.TrimSuffix(c.client.Service(), bridge.SendGoal))
	}
	g.sendWaiting()
}

// sendWaiting sends the waiting requests, or drops them if the goal was not accepted. The caller must hold the action's
// mu.
func (g *goal) sendWaiting() {
	for _, send := range g.waiting {
		send()
	}
	g.waiting = nil
}

// finish drops the requests that wait for answers to goals.
func (a *action) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for g := range a.open {
		g.sendWaiting()
	}
}
