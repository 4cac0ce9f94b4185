package main

import (
	"sync"
	"sync/atomic"

	"tapedeck/bridge"
)

// item is one received message on its way to a file. It may wait in the queue, in the snapshot ring and in snapshots
// being written at once; each of them holds one reference.
type item struct {
	stream      *stream
	receiveTime int64 // ns since the Unix epoch, by the wall clock
	logTime     int64 // the same, or simulated time
	publishTime int64 // ns since the Unix epoch, by the publisher's clock
	payload     bridge.Payload
	refs        atomic.Int32
	link        link // in the snapshot ring
}

// itemOverhead is what an item takes beside its payload, so that floods of small messages stay within the bounds too.
const itemOverhead = 160 // bytes

var items = sync.Pool{New: func() any { return new(item) }}

func newItem(s *stream, sample *bridge.Sample, logTime int64, refs int32) *item {
	it := items.Get().(*item)
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
func (it *item) release() {
	if it.refs.Add(-1) == 0 {
		it.payload.Release()
		it.stream = nil
		items.Put(it)
	}
}

func releaseAll(list []*item) {
	for i, it := range list {
		it.release()
		list[i] = nil
	}
}
