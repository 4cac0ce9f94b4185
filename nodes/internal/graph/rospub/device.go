package rospub

import (
	"context"
	"errors"
	"path"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
)

// Topics are the topics of a device, advertised when they are needed. Its methods may be called from several
// goroutines at once.
type Topics struct {
	node bridge.Node
	name string

	mu     sync.Mutex
	list   []*Topic
	byName map[string]*Topic
	closed atomic.Bool
}

// NewTopics returns the topics of a node below a name.
func NewTopics(node bridge.Node, name string) *Topics {
	return &Topics{node: node, name: name, byName: map[string]*Topic{}}
}

// Topic returns the topic name, for messages of the type of m. The first call advertises it. After Close the error is
// context.Canceled, also that of sending.
func (t *Topics) Topic(name string, m msgs.Message, qos codec.QoS) (*Topic, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if topic := t.byName[name]; topic != nil {
		return topic, nil
	}
	if t.closed.Load() {
		return nil, context.Canceled
	}
	topic, err := Advertise(t.node, path.Join(t.name, name), m, qos)
	if err != nil {
		return nil, err
	}
	topic.closed = &t.closed
	t.byName[name], t.list = topic, append(t.list, topic)
	return topic, nil
}

// Offers returns the publishers, in the order of their first calls.
func (t *Topics) Offers() []Offer {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Offer
	for _, topic := range t.list {
		list = append(list, topic.Offer)
	}
	return list
}

// Close closes the publishers. Calls that are blocked in sending then fail.
func (t *Topics) Close() {
	t.closed.Store(true)
	Close(t.Offers())
}

// Device is what Run runs.
type Device struct {
	Run    func(context.Context) error // until the context or the device ends
	Topics *Topics                     // on which Run publishes; nil: none
}

// diagnosticsPeriod is how often devices report their health.
const diagnosticsPeriod = time.Second

// Run runs devices, each in a goroutine, until all have ended. When one fails, the context of the others ends. When ctx
// ends or a device fails, the topics of all are closed, as a publisher may wait long for a slow subscriber. While they
// run, tick is called each second. The error is that of the devices; the end of ctx is none.
func Run(ctx context.Context, devices []Device, tick func(time.Time)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error)
	for _, d := range devices {
		if d.Topics != nil {
			defer context.AfterFunc(ctx, d.Topics.Close)()
		}
		go func() { ended <- d.Run(ctx) }()
	}
	every := time.NewTicker(diagnosticsPeriod)
	defer every.Stop()
	var errs []error
	for running := len(devices); running > 0; {
		select {
		case err := <-ended:
			running--
			if err != nil && !errors.Is(err, context.Canceled) {
				errs = append(errs, err)
				cancel()
			}
		case now := <-every.C:
			tick(now)
		}
	}
	return errors.Join(errs...)
}
