//go:build rcl

package rcl

// #include "native.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
	"tapedeck/codec"
)

// subscription implements bridge.Subscription. One goroutine takes samples from the middleware at once, so that no
// limit of the middleware is reached while the handler is slow. Another goroutine calls the handler.
type subscription struct {
	node     *node
	topic    string
	qos      codec.QoS
	rclgo    *rclgo.Subscription
	handle   *C.rcl_subscription_t
	spin     *spin
	batch    *C.struct_batch
	drained  time.Time // time of the last drain
	received int64     // reception of the last sample, by the clock of bridge.Monotonic
	losses   endpoints.Gaps
	gaps     atomic.Uint64 // number of samples that are missing between sequence numbers
	counts   atomic.Bool   // the middleware reports sequence numbers

	incompatible *event

	losing sync.Mutex
	loss   *event // nil after close
	lost   uint64 // the last result of loss

	closing atomic.Int64 // time of Close in ns since the Unix epoch; 0: not closed

	mu      sync.Mutex
	arrived []bridge.Sample
	ended   bool
	wake    chan struct{} // has a value when there are new samples or the subscription is closed
	done    chan struct{} // closed after the last call of the handler
}

func (n *node) newSubscription(topic, typeName string, qos codec.QoS,
	handle func([]bridge.Sample)) (*subscription, error) {
	t, err := loadTopicType(typeName)
	if err != nil {
		return nil, err
	}
	if qos.History != codec.KeepLast { // treat an unknown history as KeepAll
		qos.History = codec.KeepAll
	}
	s := &subscription{node: n, qos: qos, wake: make(chan struct{}, 1), done: make(chan struct{})}
	err = n.make(func() (err error) {
		s.rclgo, err = n.node.NewSubscription(topic, t, &rclgo.SubscriptionOptions{Qos: toRCL(qos)},
			func(*rclgo.Subscription) { s.drain() })
		if err != nil {
			return err
		}
		s.handle, err = subscriptionHandle(s.rclgo)
		return err
	})
	if err != nil {
		return nil, n.explain(err, topic, typeName)
	}
	s.topic = C.GoString(C.rcl_subscription_get_topic_name(s.handle))
	s.batch = (*C.struct_batch)(C.calloc(1, C.sizeof_struct_batch))
	s.incompatible = &event{C.subscription_incompatible(s.handle)}
	s.loss = &event{C.subscription_lost(s.handle)}
	s.spin, err = n.spin("subscription of "+s.topic, func(set *rclgo.WaitSet) { set.AddSubscriptions(s.rclgo) })
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	n.graph.add(s)
	go s.run(handle)
	return s, nil
}

// At a high rate, a subscription is polled, so that the middleware need not wake a thread for each sample. Waking takes
// it longer than all other work for a small sample.
const (
	pause = 300 * time.Microsecond
	busy  = 4 * pause // since there were samples
)

// drain takes samples until there are none, or none for a while if there were some not long ago.
func (s *subscription) drain() {
	linger := time.Since(s.drained) < busy
	for idle := time.Duration(0); s.closing.Load() == 0; {
		if s.take(0) > 0 {
			idle = 0
			continue
		}
		if !linger || idle >= busy {
			break
		}
		time.Sleep(pause)
		idle += pause
	}
	s.drained = time.Now()
}

// take takes samples, passes them to the handler's goroutine and returns their number. until is a time in ns since the
// Unix epoch, or 0. If until is not 0, take returns 0 when the samples were received later than until.
func (s *subscription) take(until int64) int {
	n := int(C.take_batch(s.handle, s.batch))
	if err := check(s.batch.error); err != nil {
		s.batch.error = nil
		s.node.Log(bridge.Error, "subscription of %s: %v", s.topic, err)
	}
	if n == 0 {
		return 0
	}
	samples := s.batch.samples[:n]
	now := time.Now()
	wallAhead := now.UnixNano() - bridge.Monotonic(now)
	var gaps uint64
	s.mu.Lock()
	for i := range samples {
		c := &samples[i]
		// Fast DDS returns the samples of a publisher in order. A sample of which a fragment was sent again may have a
		// later time of reception than the next sample.
		s.received = max(s.received, bridge.MonotonicOf(int64(c.received), now))
		sample := bridge.Sample{
			Data:        unsafe.Slice((*byte)(c.data), int(c.size)),
			SourceTime:  int64(c.sent),
			ReceiveTime: s.received + wallAhead,
			Received:    s.received,
			Publisher:   *(*bridge.GUID)(unsafe.Pointer(&c.publisher)),
			Sequence:    uint64(c.sequence),
			Memory:      memory{},
			Ref:         uintptr(unsafe.Pointer(c.data)),
		}
		sample.Lost = s.losses.Count(sample.Publisher, sample.Sequence)
		gaps += sample.Lost
		s.arrived = append(s.arrived, sample)
	}
	s.mu.Unlock()
	s.notify()
	if gaps > 0 {
		s.gaps.Add(gaps)
	}
	if samples[n-1].sequence != 0 {
		s.counts.Store(true)
	}
	if until != 0 && int64(samples[n-1].sent) > until {
		return 0
	}
	return n
}

func (s *subscription) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run calls the handler. It allocates only if more samples wait than ever before.
func (s *subscription) run(handle func([]bridge.Sample)) {
	defer close(s.done)
	const large = 1 << 14 // from this number of samples on, their memory is not reused
	var samples []bridge.Sample
	var kept []bool
	var unkept []C.uintptr_t
	for {
		if cap(samples) > large {
			samples, kept, unkept = nil, nil, nil
		}
		s.mu.Lock()
		samples, s.arrived = s.arrived, samples[:0]
		ended := s.ended
		s.mu.Unlock()
		if len(samples) == 0 {
			if ended {
				return
			}
			<-s.wake
			continue
		}
		kept = slices.Grow(kept[:0], len(samples))[:len(samples)]
		clear(kept)
		for i := range samples {
			samples[i].Kept = &kept[i]
		}
		handle(samples)
		unkept = unkept[:0]
		for i := range samples {
			if !kept[i] {
				unkept = append(unkept, C.uintptr_t(samples[i].Ref))
			}
		}
		C.free_blocks(unsafe.SliceData(unkept), C.int32_t(len(unkept)))
	}
}

func (s *subscription) Topic() string { return s.topic }

func (s *subscription) Lost() uint64 {
	if s.counts.Load() {
		return s.gaps.Load()
	}
	s.losing.Lock()
	defer s.losing.Unlock()
	if s.loss != nil {
		s.lost = max(s.lost, s.loss.lost())
	}
	return s.lost
}

func (s *subscription) warnOfIncompatible() {
	s.node.warnOfIncompatible(s.incompatible, s.topic, s.qos, false)
}

// Close waits for the handler, so the handler must not call it.
func (s *subscription) Close() error {
	return s.node.owned.End(s, func() error {
		now := time.Now().UnixNano()
		s.closing.Store(now)
		s.node.graph.remove(s)
		err := s.spin.stop()
		for s.take(now) > 0 { // take the samples that were received before Close
		}
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		s.notify()
		<-s.done
		if err := errors.Join(err, s.release()); err != nil {
			return fmt.Errorf("close subscription of %s: %w", s.topic, err)
		}
		return nil
	})
}

func (s *subscription) release() error {
	C.free(unsafe.Pointer(s.batch))
	s.losing.Lock()
	defer s.losing.Unlock()
	s.lost = max(s.lost, s.loss.lost())
	loss := s.loss
	s.loss = nil
	return s.node.make(func() error { return errors.Join(loss.close(), s.incompatible.close(), s.rclgo.Close()) })
}

// memory implements bridge.Memory. Each sample has its own block of memory, which outlives the subscription.
type memory struct{}

func (memory) Free(ref uintptr) { C.free_block(C.uintptr_t(ref)) }
