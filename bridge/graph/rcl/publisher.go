//go:build rcl

package rcl

// #include "native.h"
import "C"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/codec"
	"tapedeck/codec/text/plural"
)

// publisher implements bridge.Publisher.
type publisher struct {
	node         *node
	topic        string
	qos          codec.QoS
	rclgo        *rclgo.Publisher
	handle       *C.rcl_publisher_t
	incompatible *event

	closing atomic.Bool
	using   sync.RWMutex // held for reading by calls of rcl; held for writing by Close, forever
}

func (n *node) newPublisher(topic, typeName string, qos codec.QoS) (*publisher, error) {
	t, err := loadTopicType(typeName)
	if err != nil {
		return nil, err
	}
	p := &publisher{node: n, qos: qos}
	err = n.make(func() (err error) {
		p.rclgo, err = n.node.NewPublisher(topic, t, &rclgo.PublisherOptions{Qos: toRCL(qos)})
		if err != nil {
			return err
		}
		p.handle, err = publisherHandle(p.rclgo)
		return err
	})
	if err != nil {
		return nil, n.explain(err, topic, typeName)
	}
	p.topic = C.GoString(C.rcl_publisher_get_topic_name(p.handle))
	p.incompatible = &event{C.publisher_incompatible(p.handle)}
	n.graph.add(p)
	return p, nil
}

func (p *publisher) Topic() string { return p.topic }

// ackPause is the time for which a publisher waits for acknowledgements before it checks whether it was closed.
const ackPause = 50 * time.Millisecond

func (p *publisher) Publish(data []byte) error {
	if len(data) < 4 {
		return fmt.Errorf("publish on %s: the payload has %s, not even those of its encapsulation header", p.topic,
			plural.Count(len(data), "byte"))
	}
	p.using.RLock()
	defer p.using.RUnlock()
	for acknowledged := false; ; {
		if p.closing.Load() {
			return fmt.Errorf("publish on %s: %w", p.topic, errClosed)
		}
		err := check(C.publish(p.handle, unsafe.Pointer(unsafe.SliceData(data)), C.size_t(len(data))))
		if err == nil {
			return nil
		}
		// Some middleware, for example Fast DDS, fails if a subscriber's acknowledgements are behind for a while.
		if p.qos.History == codec.KeepAll && p.qos.Reliability != codec.BestEffort && !acknowledged {
			var waitErr error
			acknowledged, waitErr = p.acknowledged(ackPause)
			if waitErr == nil {
				continue
			}
		}
		return fmt.Errorf("publish on %s: %w", p.topic, err)
	}
}

// PublishAt is Publish: rcl takes no source time.
func (p *publisher) PublishAt(data []byte, _ int64) error { return p.Publish(data) }

// Lend is Publish: the middleware makes the only copy.
func (p *publisher) Lend(data []byte, _ *codec.Buffer) error { return p.Publish(data) }

func (p *publisher) Subscribers() int {
	p.using.RLock()
	defer p.using.RUnlock()
	if p.closing.Load() {
		return 0
	}
	var n int
	_ = try(func() (err error) { // it fails only for an invalid publisher
		n, err = p.rclgo.GetSubscriptionCount()
		return err
	})
	return n
}

// acknowledged waits until all published samples are acknowledged, for at most the given time. It reports whether they
// are.
func (p *publisher) acknowledged(wait time.Duration) (bool, error) {
	var all C.bool
	err := check(C.wait_acknowledged(p.handle, C.int64_t(wait), &all))
	return bool(all), err
}

func (p *publisher) Flush(ctx context.Context) error {
	p.using.RLock()
	defer p.using.RUnlock()
	for {
		all, err := false, errClosed
		if !p.closing.Load() {
			all, err = p.acknowledged(ackPause)
		}
		if err == nil {
			err = ctx.Err()
		}
		if all {
			return nil
		}
		if err != nil {
			return fmt.Errorf("wait for acknowledgements on %s: %w", p.topic, err)
		}
	}
}

// Close waits for a Publish that the middleware blocks.
func (p *publisher) Close() error {
	return p.node.owned.End(p, func() error {
		p.closing.Store(true)
		p.node.graph.remove(p)
		p.using.Lock()
		defer p.using.Unlock()
		if err := p.node.make(func() error { return errors.Join(p.incompatible.close(), p.rclgo.Close()) }); err !=
			nil {
			return fmt.Errorf("close publisher of %s: %w", p.topic, err)
		}
		return nil
	})
}

func (p *publisher) warnOfIncompatible() {
	p.node.warnOfIncompatible(p.incompatible, p.topic, p.qos, true)
}
