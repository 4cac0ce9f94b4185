// Package queue holds received messages in memory: in a queue until they are written, and in a ring for snapshots.
package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
)

// Item is one received message. It is shared by its holders: the queue or the writer, the ring, views of the ring, and
// the latched messages of a publisher.
//
// References are counted by one rule. Topic.NewItem returns an item with one reference, which belongs to the caller.
// Push of Queue and Ring takes the caller's reference. Code that stores an item elsewhere calls Retain first. If a
// function of this package returns a list of items, the caller gets one reference for each item. Release gives up a
// reference, and the last one frees the payload.
type Item struct {
	Topic       *Topic
	ReceiveTime int64 // ns, by the clock of bridge.Monotonic
	Payload     bridge.Payload
	LogTime     int64 // ns since the Unix epoch, by the wall clock, or simulated time
	PublishTime int64 // ns since the Unix epoch, by the publisher's clock

	Skipped bool // received during a pause and not recorded yet; guarded by the lock of the receiver

	refs atomic.Int32

	// Guarded by the queue's lock.
	position uint64
	since    int64 // the latest receive time of any item when this one was pushed
	newer    *Item // next item of the topic in the queue

	link link // place in the ring, guarded by the ring's lock
}

// Overhead is the memory in bytes that an item takes beside its payload: the item, the middleware's data about the
// payload, and the overhead of allocators. It counts, so that floods of small messages stay within the bounds, too.
const Overhead = 280

// Reorder is how long a message waits for earlier messages of other topics by default.
const Reorder = 100 * time.Millisecond

// Size returns the memory that the item takes, in bytes.
func (item *Item) Size() int64 { return int64(len(item.Payload.Data)) + Overhead }

// Retain adds a reference.
func (item *Item) Retain() { item.refs.Add(1) }

// Release gives up one reference to each item, and clears the list.
func Release(list ...*Item) {
	var free *freeList
	for i, item := range list {
		list[i] = nil
		if item.refs.Add(-1) > 0 {
			continue
		}
		item.Payload.Release()
		item.Topic = nil
		if free == nil {
			free = emptyLists.Get().(*freeList)
		}
		free.items = append(free.items, item)
		if len(free.items) == freeListSize {
			fullLists.Put(free)
			free = nil
		}
	}
	if free != nil {
		fullLists.Put(free)
	}
}

// Sort sorts items by receive time. The first sorted items must be in order. The others should nearly be, as each
// subscription delivers in order.
func Sort(list []*Item, sorted int) {
	for i := max(sorted, 1); i < len(list); i++ {
		item := list[i]
		j := i
		for ; j > 0 && list[j-1].ReceiveTime > item.ReceiveTime; j-- {
			list[j] = list[j-1]
		}
		list[j] = item
	}
}

// freeList holds up to freeListSize unused items. Goroutines exchange whole lists, which is cheaper than single items.
type freeList struct{ items []*Item }

const freeListSize = 64

var (
	fullLists  sync.Pool // has *freeList with at least one item
	emptyLists = sync.Pool{New: func() any { return &freeList{make([]*Item, 0, freeListSize)} }}
)

// take returns an unused item. The zero freeList is ready.
func (f *freeList) take() *Item {
	if len(f.items) == 0 {
		full, ok := fullLists.Get().(*freeList)
		if !ok {
			return new(Item)
		}
		f.items, full.items = full.items, f.items[:0]
		if cap(full.items) > 0 {
			emptyLists.Put(full)
		}
	}
	last := len(f.items) - 1
	item := f.items[last]
	f.items = f.items[:last]
	return item
}
