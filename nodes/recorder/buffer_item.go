package main

import (
	"sync"
	"sync/atomic"

	"tapedeck/bridge"
)

// item is one received message on its way to a file. It may wait in the backlog, in the snapshot ring and in snapshots
// being written at once; each of them holds one reference.
type item struct {
	stream      *stream
	receiveTime int64 // ns since the Unix epoch, by the wall clock
	payload     bridge.Payload
	logTime     int64 // receiveTime, or simulated time
	publishTime int64 // ns since the Unix epoch, by the publisher's clock
	refs        atomic.Int32

	// In the backlog, whose lock guards these.
	position uint64
	newer    *item // of the same topic

	link link // in the snapshot ring
}

// itemOverhead is what an item takes beside its payload, in bytes, so that floods of small messages stay within the
// bounds too: the item, what the middleware keeps with the payload, and what their allocators add.
const itemOverhead = 280

// slab is a handful of items that are not used. They change hands by the slab, which is cheaper than one by one.
type slab struct{ items []*item }

const slabSize = 64

var (
	fullSlabs  sync.Pool // of *slab with at least one item
	emptySlabs = sync.Pool{New: func() any { return &slab{make([]*item, 0, slabSize)} }}
)

// take returns an item. The zero slab is ready.
func (s *slab) take() *item {
	if len(s.items) == 0 {
		full, ok := fullSlabs.Get().(*slab)
		if !ok {
			return new(item)
		}
		s.items, full.items = full.items, s.items[:0]
		if cap(full.items) > 0 {
			emptySlabs.Put(full)
		}
	}
	last := len(s.items) - 1
	it := s.items[last]
	s.items = s.items[:last]
	return it
}

func newItem(s *stream, sample *bridge.Sample, logTime int64, refs int32) *item {
	it := s.spare.take()
	it.stream = s
	it.receiveTime = sample.ReceiveTime
	it.logTime = logTime
	it.publishTime = sample.SourceTime
	it.payload = sample.Retain()
	it.refs.Store(refs)
	return it
}

// size is what the item counts for in bounds, in bytes.
func (it *item) size() int64 { return int64(len(it.payload.Data)) + itemOverhead }

// release gives up one reference.
func (it *item) release() { releaseAll([]*item{it}) }

// releaseAll gives up one reference to each item.
func releaseAll(list []*item) {
	var free *slab
	for i, it := range list {
		list[i] = nil
		if it.refs.Add(-1) > 0 {
			continue
		}
		it.payload.Release()
		it.stream = nil
		if free == nil {
			free = emptySlabs.Get().(*slab)
		}
		if free.items = append(free.items, it); len(free.items) == slabSize {
			fullSlabs.Put(free)
			free = nil
		}
	}
	if free != nil {
		fullSlabs.Put(free)
	}
}
