package bridgetest

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/rosidl"
)

// Network is a ROS graph inside the process, without middleware, for tests of packages that use a bridge.Node. The zero
// value is ready to use.
type Network struct {
	// Library holds definitions of types. Publishers announce the hashes of its types. With nil they announce none.
	Library *rosidl.Library

	mu      sync.Mutex
	nodes   []*memoryNode
	lastID  uint64
	changed chan struct{} // closed at the next change of the graph
	clock   time.Duration // by which SetClock set the clock

	unhandled int        // number of samples whose handlers have not returned
	handled   *sync.Cond // signals that unhandled is 0; nil before Drain
}

// Drain waits until the handlers of subscriptions have returned for all published samples.
func (w *Network) Drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.handled == nil {
		w.handled = sync.NewCond(&w.mu)
	}
	for w.unhandled > 0 {
		w.handled.Wait()
	}
}

// SetClock sets the wall clock by which samples are sent and received to the system's clock and d.
func (w *Network) SetClock(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = d
}

// done counts samples as handled. The caller holds w.mu.
func (w *Network) done(samples int) {
	w.unhandled -= samples
	if w.unhandled == 0 && w.handled != nil {
		w.handled.Broadcast()
	}
}

// Open adds a node.
func (w *Network) Open(o bridge.Options) (bridge.Node, error) {
	names, err := bridge.NewNames(o)
	if err != nil {
		return nil, err
	}
	n := &memoryNode{net: w, names: names, parameters: bridge.NewParameters(names.Node(), o.Parameters)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	w.mu.Lock()
	w.nodes = append(w.nodes, n)
	w.mu.Unlock()

	rosout, err := n.Advertise("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS())
	if err == nil {
		n.logger = bridge.NewLogger(n.Name(), o.LogLevel, cmp.Or[io.Writer](o.Console, os.Stderr), rosout.Publish)
		err = n.parameters.Serve(n, o.Declare)
	}
	if err != nil {
		n.Close()
		return nil, err
	}
	return n, nil
}

// announce wakes all goroutines that wait for a change of the graph. The caller holds w.mu.
func (w *Network) announce() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// change returns a channel that is closed at the next change of the graph. The caller holds w.mu.
func (w *Network) change() <-chan struct{} {
	if w.changed == nil {
		w.changed = make(chan struct{})
	}
	return w.changed
}

func (w *Network) newGUID() (g bridge.GUID) {
	w.lastID++
	binary.BigEndian.PutUint64(g[8:], w.lastID)
	return g
}

var errClosed = errors.New("the node is closed")

type memoryNode struct {
	net        *Network
	names      *bridge.Names
	parameters *bridge.Parameters
	logger     *bridge.Logger
	ctx        context.Context // ends with the node
	cancel     context.CancelFunc

	// The fields below are guarded by net.mu.
	publishers    []*memoryPublisher
	subscriptions []*memorySubscription
	services      []*memoryService
}

func (n *memoryNode) Name() string                   { return n.names.Node() }
func (n *memoryNode) Parameters() *bridge.Parameters { return n.parameters }
func (n *memoryNode) Calls() []bridge.Topic          { return nil }
func (n *memoryNode) Delivered() int64               { return 0 }
func (n *memoryNode) Security() bridge.Security      { return bridge.Security{} }

func (n *memoryNode) Define(string, *rosidl.Library) error { return nil }

func (n *memoryNode) Log(level bridge.LogLevel, format string, args ...any) {
	n.logger.Log(level, format, args...)
}

func (n *memoryNode) Advertise(topic, typeName string, qos codec.QoS) (bridge.Publisher, error) {
	name, err := n.names.Topic(topic)
	if err != nil {
		return nil, err
	}
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	if n.ctx.Err() != nil {
		return nil, errClosed
	}
	p := &memoryPublisher{node: n, topic: name, endpoint: bridge.Endpoint{GUID: n.net.newGUID(), Node: n.Name(),
		Type: typeName, QoS: qos}}
	if n.net.Library != nil {
		p.endpoint.TypeHash, _ = n.net.Library.Hash(typeName) // "" for a type that is not in the library
	}
	n.publishers = append(n.publishers, p)
	n.net.announce()
	return p, nil
}

func (n *memoryNode) Subscribe(topic, typeName string, qos codec.QoS,
	handle func([]bridge.Sample)) (bridge.Subscription, error) {
	name, err := n.names.Topic(topic)
	if err != nil {
		return nil, err
	}
	s := &memorySubscription{node: n, topic: name, wake: make(chan struct{}, 1), done: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(n.ctx)
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	if n.ctx.Err() != nil {
		return nil, errClosed
	}
	s.endpoint = bridge.Endpoint{GUID: n.net.newGUID(), Node: n.Name(), Type: typeName, QoS: qos}
	n.subscriptions = append(n.subscriptions, s)
	if qos.Durability == codec.TransientLocal {
		for _, other := range n.net.nodes {
			for _, p := range other.publishers {
				if p.matches(s) {
					s.push(p.latched...)
				}
			}
		}
	}
	go s.run(handle)
	n.net.announce()
	return s, nil
}

func (n *memoryNode) Serve(service, typeName string,
	handle func(context.Context, []byte) ([]byte, error)) (bridge.Service, error) {
	name, err := n.names.Service(service)
	if err != nil {
		return nil, err
	}
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	if n.ctx.Err() != nil {
		return nil, errClosed
	}
	s := &memoryService{node: n, name: name, typeName: typeName, handle: handle, calls: bridge.NewCalls(n, name)}
	n.services = append(n.services, s)
	n.net.announce()
	return s, nil
}

func (n *memoryNode) Call(ctx context.Context, service, typeName string, request []byte) ([]byte, error) {
	c, err := n.Client(service, typeName)
	if err != nil {
		return nil, err
	}
	response, err := bridge.Call(ctx, n, c, request)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", c.Service(), err)
	}
	return response, nil
}

func (n *memoryNode) Client(service, typeName string) (bridge.Client, error) {
	name, err := n.names.Service(service)
	if err != nil {
		return nil, err
	}
	return &memoryClient{n, name, typeName}, nil
}

type memoryClient struct {
	node           *memoryNode
	name, typeName string
}

func (c *memoryClient) Service() string { return c.name }

func (c *memoryClient) Available() bool {
	c.node.net.mu.Lock()
	defer c.node.net.mu.Unlock()
	return c.node.net.service(c.name, c.typeName) != nil
}

func (c *memoryClient) Send(request []byte) (func(context.Context) ([]byte, error), error) {
	n := c.node
	n.net.mu.Lock()
	s := n.net.service(c.name, c.typeName)
	n.net.mu.Unlock()
	switch {
	case n.ctx.Err() != nil:
		return nil, errClosed
	case s == nil:
		return nil, bridge.ErrUnavailable
	}
	reply := make(chan []byte, 1)
	s.answer(slices.Clone(request), reply)
	return func(ctx context.Context) ([]byte, error) {
		select {
		case response := <-reply:
			return response, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-n.ctx.Done():
			return nil, errClosed
		}
	}, nil
}

// service returns a service, or nil if there is none. The caller holds w.mu.
func (w *Network) service(name, typeName string) *memoryService {
	for _, n := range w.nodes {
		for _, s := range n.services {
			if s.name == name && s.typeName == typeName {
				return s
			}
		}
	}
	return nil
}

func (n *memoryNode) Topics() []bridge.Topic {
	n.net.mu.Lock()
	defer n.net.mu.Unlock()
	topics := make(map[string]*bridge.Topic)
	add := func(name string, e bridge.Endpoint) *bridge.Topic {
		t := topics[name]
		if t == nil {
			t = &bridge.Topic{Name: name}
			topics[name] = t
		}
		if !slices.Contains(t.Types, e.Type) {
			t.Types = append(t.Types, e.Type)
		}
		return t
	}
	for _, other := range n.net.nodes {
		for _, p := range other.publishers {
			e := p.endpoint
			e.Own = other == n
			t := add(p.topic, e)
			t.Publishers = append(t.Publishers, e)
		}
		for _, s := range other.subscriptions {
			e := s.endpoint
			e.Own = other == n
			t := add(s.topic, e)
			t.Subscribers = append(t.Subscribers, e)
		}
	}
	byGUID := func(a, b bridge.Endpoint) int { return slices.Compare(a.GUID[:], b.GUID[:]) }
	list := make([]bridge.Topic, 0, len(topics))
	for _, t := range topics {
		slices.SortFunc(t.Publishers, byGUID)
		slices.SortFunc(t.Subscribers, byGUID)
		slices.Sort(t.Types)
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b bridge.Topic) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (n *memoryNode) Watch(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	n.net.mu.Lock()
	change := n.net.change()
	n.net.mu.Unlock()
	go func() {
		defer close(c)
		for {
			select {
			case <-change:
			case <-ctx.Done():
				return
			case <-n.ctx.Done():
				return
			}
			n.net.mu.Lock()
			change = n.net.change()
			n.net.mu.Unlock()
			select {
			case c <- struct{}{}:
			default:
			}
		}
	}()
	return c
}

func (n *memoryNode) Close() error {
	n.net.mu.Lock()
	n.cancel()
	subscriptions, services := n.subscriptions, n.services
	n.publishers, n.subscriptions, n.services = nil, nil, nil
	n.net.nodes = slices.DeleteFunc(n.net.nodes, func(other *memoryNode) bool { return other == n })
	n.net.announce()
	n.net.mu.Unlock()
	for _, s := range subscriptions {
		<-s.done
	}
	for _, s := range services {
		s.calls.Close()
	}
	return nil
}

type memoryPublisher struct {
	node     *memoryNode
	topic    string
	endpoint bridge.Endpoint

	// The fields below are guarded by net.mu.
	sequence uint64
	latched  []bridge.Sample
}

func (p *memoryPublisher) matches(s *memorySubscription) bool {
	ok, _ := bridge.Compatible(p.endpoint.QoS, s.endpoint.QoS)
	return ok && p.topic == s.topic && p.endpoint.Type == s.endpoint.Type
}

func (p *memoryPublisher) Topic() string             { return p.topic }
func (p *memoryPublisher) Publish(data []byte) error { return p.publish(data, nil) }

func (p *memoryPublisher) Lend(data []byte, _ *codec.Buffer) error { return p.Publish(data) }

func (p *memoryPublisher) PublishAt(data []byte, sourceTime int64) error {
	return p.publish(data, &sourceTime)
}

// publish publishes data with a source time; nil is now.
func (p *memoryPublisher) publish(data []byte, sourceTime *int64) error {
	w := p.node.net
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(p.node.publishers, p) {
		return fmt.Errorf("publish on %s: the publisher is closed", p.topic)
	}
	p.sequence++
	now := time.Now()
	wall := now.Add(w.clock).UnixNano()
	sample := bridge.Sample{
		Data: slices.Clone(data), SourceTime: *cmp.Or(sourceTime, &wall), ReceiveTime: wall,
		Received:  bridge.Monotonic(now),
		Publisher: p.endpoint.GUID, Sequence: p.sequence,
	}
	if qos := p.endpoint.QoS; qos.Durability == codec.TransientLocal {
		p.latched = append(p.latched, sample)
		if qos.History == codec.KeepLast && len(p.latched) > qos.Depth {
			p.latched = p.latched[1:]
		}
	}
	for _, n := range w.nodes {
		for _, s := range n.subscriptions {
			if p.matches(s) {
				s.push(sample)
			}
		}
	}
	return nil
}

func (p *memoryPublisher) Subscribers() int {
	w := p.node.net
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for _, n := range w.nodes {
		for _, s := range n.subscriptions {
			if p.matches(s) {
				count++
			}
		}
	}
	return count
}

func (p *memoryPublisher) Flush(ctx context.Context) error { return ctx.Err() }

func (p *memoryPublisher) Close() error {
	w := p.node.net
	w.mu.Lock()
	defer w.mu.Unlock()
	p.node.publishers = slices.DeleteFunc(p.node.publishers, func(other *memoryPublisher) bool { return other == p })
	w.announce()
	return nil
}

type memorySubscription struct {
	node     *memoryNode
	topic    string
	endpoint bridge.Endpoint
	ctx      context.Context
	cancel   context.CancelFunc
	wake     chan struct{} // wakes run after push
	done     chan struct{} // closed when run has returned

	queue []bridge.Sample // guarded by net.mu
}

func (s *memorySubscription) Topic() string { return s.topic }
func (s *memorySubscription) Lost() uint64  { return 0 }

// push queues samples. The caller holds net.mu.
func (s *memorySubscription) push(samples ...bridge.Sample) {
	if s.ctx.Err() != nil {
		return
	}
	s.queue = append(s.queue, samples...)
	s.node.net.unhandled += len(samples)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run calls handle with queued samples until the subscription is closed.
func (s *memorySubscription) run(handle func([]bridge.Sample)) {
	w := s.node.net
	defer close(s.done)
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		w.mu.Unlock()
		select {
		case <-s.wake:
		case <-s.ctx.Done():
		}
		w.mu.Lock()
		batch := s.queue
		s.queue = nil
		closed := s.ctx.Err() != nil
		if len(batch) > 0 && !closed {
			w.mu.Unlock()
			handle(batch)
			w.mu.Lock()
		}
		w.done(len(batch))
		if closed {
			return
		}
	}
}

func (s *memorySubscription) Close() error {
	w := s.node.net
	w.mu.Lock()
	s.cancel()
	s.node.subscriptions = slices.DeleteFunc(s.node.subscriptions,
		func(other *memorySubscription) bool { return other == s })
	w.announce()
	w.mu.Unlock()
	<-s.done
	return nil
}

type memoryService struct {
	node     *memoryNode
	name     string
	typeName string
	handle   func(context.Context, []byte) ([]byte, error)
	calls    *bridge.Calls
}

func (s *memoryService) Name() string { return s.name }

// answer calls the handler in a goroutine, and sends the response to reply unless the handler fails.
func (s *memoryService) answer(request []byte, reply chan<- []byte) {
	if s.calls.Begin(len(request)) {
		s.calls.Answer(len(request), func(ctx context.Context) error {
			response, err := s.handle(ctx, request)
			if err == nil {
				reply <- response
			}
			return err
		})
	}
}

func (s *memoryService) Close() error {
	w := s.node.net
	w.mu.Lock()
	s.node.services = slices.DeleteFunc(s.node.services, func(other *memoryService) bool { return other == s })
	w.announce()
	w.mu.Unlock()
	s.calls.Close()
	return nil
}
