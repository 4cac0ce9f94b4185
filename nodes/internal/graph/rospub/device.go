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

// Topics are the topics of a device. They are advertised when they are needed. Topics is safe for concurrent use.
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

// Topic returns the topic called name, for messages of the type of m. The first call advertises it. After Close, Topic
// and the methods of topics return context.Canceled.
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

// Offers returns the publishers, in the order in which they were advertised.
func (t *Topics) Offers() []Offer {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []Offer
	for _, topic := range t.list {
		list = append(list, topic.Offer)
	}
	return list
}

// Close closes the publishers. Calls that are blocked while sending then fail.
func (t *Topics) Close() {
	t.closed.Store(true)
	Close(t.Offers())
}

// Device is a device that publishes.
type Device struct {
	Run    func(context.Context) error // publishes until the context or the device ends
	Topics *Topics                     // topics that Run publishes; nil: none
}

// diagnosticsPeriod is how often devices report their health.
const diagnosticsPeriod = time.Second

// Run runs devices, each in a goroutine, until all have ended. Meanwhile it calls tick each second. When a device
// fails, the context of the others ends. When ctx ends or a device fails, all topics are closed, because a publisher
// may wait long for a slow subscriber. Run returns the errors of the devices. The end of ctx is not an error.
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
