package dds

// #include "entity.h"
// #include "inbox.h"
import "C"

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/internal/endpoints"
	"tapedeck/codec"
)

// subscription implements bridge.Subscription.
type subscription struct {
	node     *node
	topic    string
	reader   C.dds_entity_t
	guid     bridge.GUID
	inbox    *C.struct_inbox
	attached C.dds_attach_t
	handle   func([]bridge.Sample)
	created  time.Time // reception time of messages that this process latched earlier
	calls    bool      // the topic has the requests or replies of a service
	replier  *writer   // see balance; nil unless the topic has requests

	losses endpoints.Gaps
	lost   atomic.Uint64

	done chan struct{} // closed after the last call of handle
}

func (n *node) newSubscription(topic, typeName string, qos codec.QoS,
	handle func([]bridge.Sample)) (*subscription, error) {
	s := &subscription{node: n, topic: topic, handle: handle, created: time.Now(), done: make(chan struct{})}
	q := toC(qos)
	depth := q.depth
	if qos.History != codec.KeepLast { // treat an unknown history as KeepAll
		q.keep_all, depth = true, 0
	}
	s.inbox = n.dispatcher.add(s, depth)
	name, calls := bridge.CallsToDDS(topic)
	s.calls = calls
	if !calls {
		name = bridge.TopicToDDS(topic)
	}
	var err error
	s.reader, err = n.createReader(name, bridge.TypeToDDS(typeName), q, n.typeHash(typeName), C.inbox_cache(s.inbox))
	if err != nil {
		n.dispatcher.remove(s.inbox)
		C.inbox_free(s.inbox)
		return nil, err
	}
	s.guid = guidOf(s.reader)
	C.dds_set_status_mask(s.reader, C.DDS_SUBSCRIPTION_MATCHED_STATUS) // the inbox gets the data
	s.attached, err = n.attach(s.reader, func() error {
		n.greetMatched(s.reader, s.guid)
		return nil
	})
	if err != nil {
		s.drain()
		return nil, errors.Join(err, check(C.dds_delete(s.reader)))
	}
	if calls {
		err = s.balance(typeName)
	} else {
		err = n.graph.add(s.guid)
	}
	if err != nil {
		n.detach(s.reader, s.attached)
		s.drain()
		return nil, errors.Join(err, check(C.dds_delete(s.reader)))
	}
	return s, nil
}

// balance adds a reply writer per request reader; Fast DDS clients require equal counts.
func (s *subscription) balance(typeName string) (err error) {
	service, ok := strings.CutSuffix(s.topic, bridge.CallRequests)
	if !ok {
		return nil
	}
	reply := bridge.TypeToDDS(strings.TrimSuffix(typeName, "_Request") + "_Response")
	s.replier, err = s.node.newWriter(bridge.ServiceReplyToDDS(service), reply, replyQoS(), "")
	return err
}

// deliver calls the handler with samples, for which it uses the memory of samples and kept. It allocates only for new
// publishers.
func (s *subscription) deliver(blobs []*C.struct_blob, samples []bridge.Sample, kept []bool) {
	var lost uint64
	ahead, created := s.node.dispatcher.ahead, bridge.Monotonic(s.created)
	for i, b := range blobs {
		samples[i] = bridge.Sample{
			Data:        payload(b),
			SourceTime:  int64(b.c.timestamp.v),
			ReceiveTime: int64(b.received),
			Received:    int64(b.received_monotonic) + ahead,
			Publisher:   publisherOf(b),
			Sequence:    uint64(b.sequence),
			Memory:      memory{},
			Ref:         uintptr(unsafe.Pointer(b)),
			Kept:        &kept[i],
		}
		sample := &samples[i]
		if sample.Received < created {
			sample.Received, sample.ReceiveTime = created, s.created.UnixNano()
		}
		sample.Lost = s.losses.Count(sample.Publisher, sample.Sequence)
		lost += sample.Lost
		if s.calls && !s.node.isFastDDS(sample.Publisher) {
			if _, message, err := cutCallHeader(sample.Data); err == nil {
				sample.Data = message
			}
		}
	}
	if lost > 0 {
		s.lost.Add(lost)
	}
	s.handle(samples)
}

func (s *subscription) Topic() string { return s.topic }

func (s *subscription) Lost() uint64 { return s.lost.Load() }

// Close waits for the handler, so the handler must not call it.
func (s *subscription) Close() error {
	return s.node.owned.End(s, func() error {
		s.node.detach(s.reader, s.attached)
		s.drain()
		var err error
		if s.replier != nil {
			err = s.replier.close()
		}
		err = errors.Join(err, s.node.graph.remove(s.guid), check(C.dds_delete(s.reader)))
		if err != nil {
			return fmt.Errorf("close subscription of %s: %w", s.topic, err)
		}
		return nil
	})
}

// drain waits until the handler was called for all received samples. The handler is not called any more after drain.
func (s *subscription) drain() {
	C.inbox_close(s.inbox)
	<-s.done
	s.node.dispatcher.remove(s.inbox)
}
