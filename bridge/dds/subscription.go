package dds

// #include "entity.h"
import "C"

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// subscription implements bridge.Subscription.
type subscription struct {
	node    *node
	topic   string
	reader  *reader
	waitset C.dds_entity_t
	handle  func([]bridge.Sample)
	created int64

	samples []bridge.Sample
	kept    []bool
	losses  losses
	lost    atomic.Uint64

	closing atomic.Int64 // since when, ns since the Unix epoch; 0: it is not closed
	done    chan struct{}
}

func (n *node) newSubscription(topic, typeName string, qos codec.QoS, handle func([]bridge.Sample)) (*subscription, error) {
	s := &subscription{
		node: n, topic: topic, handle: handle, created: time.Now().UnixNano(),
		samples: make([]bridge.Sample, C.BATCH_SIZE), kept: make([]bool, C.BATCH_SIZE), done: make(chan struct{}),
	}
	q := toC(qos)
	q.keep_all = q.keep_all || qos.History != codec.KeepLast // of a history that is not known nothing is to be missed
	var err error
	s.reader, err = n.newReader(bridge.TopicToDDS(topic), bridge.TypeToDDS(typeName), q, n.typeHash(typeName))
	if err != nil {
		return nil, err
	}
	s.waitset = C.create_waitset(n.participant)
	err = check(s.waitset)
	if err == nil {
		err = check(C.dds_waitset_attach(s.waitset, s.reader.entity, 1))
	}
	if err == nil {
		err = n.graph.add(s.reader.guid)
	}
	if err != nil {
		return nil, errors.Join(err, s.release())
	}
	go s.run()
	return s, nil
}

// run hands samples to the handler, at the end what had arrived by then. It allocates nothing, but for publishers that it
// sees first.
func (s *subscription) run() {
	defer close(s.done)
	for {
		closing, waitset := s.closing.Load(), s.waitset
		if closing != 0 {
			waitset = 0
		}
		blobs, err := s.reader.take(waitset)
		if err != nil {
			s.node.Log(bridge.Error, "subscription of %s ends: %v", s.topic, err)
			return
		}
		if closing != 0 && (len(blobs) == 0 || int64(blobs[0].received) > closing) {
			return
		}
		if len(blobs) == 0 {
			continue // it is closed
		}
		samples, kept := s.samples[:len(blobs)], s.kept[:len(blobs)]
		clear(kept)
		var lost uint64
		for i, b := range blobs {
			samples[i] = bridge.Sample{
				Data:        payload(b),
				SourceTime:  int64(b.c.timestamp.v),
				ReceiveTime: max(int64(b.received), s.created),
				Publisher:   publisherOf(b),
				Sequence:    uint64(b.sequence),
				Memory:      memory{},
				Ref:         uintptr(unsafe.Pointer(b)),
				Kept:        &kept[i],
			}
			lost += s.losses.count(samples[i].Publisher, samples[i].Sequence)
		}
		if lost > 0 {
			s.lost.Add(lost)
		}
		s.handle(samples)
		s.reader.keep(kept)
	}
}

func (s *subscription) Topic() string { return s.topic }

func (s *subscription) Lost() uint64 { return s.lost.Load() }

// Close must not be called by the handler, for which it waits.
func (s *subscription) Close() error {
	return s.node.end(s, func() error {
		s.closing.Store(time.Now().UnixNano())
		C.dds_waitset_set_trigger(s.waitset, true)
		<-s.done
		if err := errors.Join(s.node.graph.remove(s.reader.guid), s.release()); err != nil {
			return fmt.Errorf("close subscription of %s: %w", s.topic, err)
		}
		return nil
	})
}

func (s *subscription) release() error {
	return errors.Join(check(C.dds_delete(s.waitset)), s.reader.close())
}

// losses finds the gaps in the sequence numbers of each publisher. Its zero value is ready.
type losses struct {
	last    *uint64 // of the publisher that was seen last, as most samples in a row are from one
	lastGot bridge.GUID
	byGUID  map[bridge.GUID]*uint64
}

// count returns how many samples are missing before this one. A publisher begins with the first of its samples.
func (l *losses) count(publisher bridge.GUID, sequence uint64) uint64 {
	if sequence == 0 {
		return 0
	}
	if l.last == nil || l.lastGot != publisher {
		l.lastGot, l.last = publisher, l.byGUID[publisher]
		if l.last == nil {
			if l.byGUID == nil {
				l.byGUID = make(map[bridge.GUID]*uint64)
			}
			l.last = new(uint64)
			*l.last = sequence
			l.byGUID[publisher] = l.last
			return 0
		}
	}
	before := *l.last
	if sequence <= before {
		return 0
	}
	*l.last = sequence
	return sequence - before - 1
}
