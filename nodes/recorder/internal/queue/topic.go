package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// DefinitionWait is how long messages wait in the queue for the definition of their type. A channel cannot get a
// definition after its first message. A crash loses the waiting messages.
const DefinitionWait = time.Second

// Topic is a topic with one type, whose items go to the queue and the ring.
type Topic struct {
	Channel atomic.Pointer[codec.Channel] // replaced when a publisher or the definition of the type becomes known
	Written atomic.Uint64                 // messages that were written, also those in Missing
	Dropped atomic.Uint64                 // messages that were dropped, without those in Missing
	Missing atomic.Uint64                 // messages that the disk lost after they were written

	// Set before the first item.
	Priority int    // share of the queue that the topic may take; the default is 1
	Limits   Limits // limits in the ring

	undefined atomic.Bool // the definition of the type may still come
	mu        sync.Mutex  // held while Channel is replaced
	free      freeList

	queued share    // items in the queue, guarded by the queue's lock
	kept   struct { // items in the ring within the limits, guarded by the ring's lock
		share
		last int64 // latest receive time of an item that came
	}
}

// share is the items of one topic in the queue or in the ring.
type share struct {
	oldest, newest *Item
	bytes          int64
	listed         bool // the topic is in the list of topics of the queue or the ring
}

// NewTopic returns a topic with a channel and priority 1.
func NewTopic(c *codec.Channel) *Topic {
	t := &Topic{Priority: 1}
	t.Channel.Store(c)
	return t
}

// NewItem returns an item for a sample, with one reference. Only one goroutine at a time may call it.
func (t *Topic) NewItem(sample *bridge.Sample, logTime int64) *Item {
	item := t.free.take()
	item.Topic = t
	item.ReceiveTime = sample.Received
	item.LogTime = logTime
	item.PublishTime = sample.SourceTime
	item.Payload = sample.Retain()
	item.Skipped = false
	item.refs.Store(1)
	return item
}

// Name returns the name of the topic.
func (t *Topic) Name() string { return t.Channel.Load().Topic }

// AwaitsDefinition reports whether the definition of the type may still come.
func (t *Topic) AwaitsDefinition() bool { return t.undefined.Load() }

// AwaitDefinition makes items wait for the definition of their type.
func (t *Topic) AwaitDefinition() { t.undefined.Store(true) }

// Define sets the definition of the type, and reports whether it was still awaited.
func (t *Topic) Define(schema codec.Schema) bool {
	return t.Update(func(c *codec.Channel) bool {
		c.Schema = schema
		return t.undefined.Swap(false)
	})
}

// StopAwaiting gives up waiting for the definition. The channel does not change any more, because a file has it.
func (t *Topic) StopAwaiting() {
	if t.undefined.Load() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.undefined.Store(false)
	}
}

// Update replaces the channel by a copy that change has edited, if change returns true. It returns the result of
// change.
func (t *Topic) Update(change func(*codec.Channel) bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := *t.Channel.Load()
	if !change(&c) {
		return false
	}
	t.Channel.Store(&c)
	return true
}

// Waits reports whether the item still waits for the definition of its type at the time now.
func (item *Item) Waits(now int64) bool {
	return item.Topic.undefined.Load() && now-item.ReceiveTime < int64(DefinitionWait)
}
