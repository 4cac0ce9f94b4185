package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// DefinitionWait is how long messages wait in the queue for the definition of their type: a channel of a file has it
// from its first message on, or never. A crash costs them, too.
const DefinitionWait = time.Second

// Topic is a topic with one type, as the queue and the writer of its items know it.
type Topic struct {
	Channel atomic.Pointer[codec.Channel] // replaced when a publisher or the definition of the type becomes known
	Written atomic.Uint64                 // messages, with Missing
	Dropped atomic.Uint64                 // messages that did not get into the recording, without Missing
	Missing atomic.Uint64                 // messages that the disk lost after they were written

	// Set before the first item.
	Priority int    // how much of the queue the topic may take, against 1 for others
	Limits   Limits // of the ring

	undefined atomic.Bool // the definition of the type may still come
	mu        sync.Mutex  // held while Channel is replaced
	free      freeList

	queued share    // of the queue, guarded by its lock
	kept   struct { // in the ring, within the limits; guarded by its lock
		share
		last int64 // receive time of the last item that came
	}
}

// share is the items of one topic.
type share struct {
	oldest, newest *Item
	bytes          int64
	listed         bool // the queue or ring knows the topic
}

// NewTopic returns a topic with that channel and priority 1.
func NewTopic(c *codec.Channel) *Topic {
	t := &Topic{Priority: 1}
	t.Channel.Store(c)
	return t
}

// NewItem returns an item for a sample, with one reference. It is called by one goroutine at a time.
func (t *Topic) NewItem(sample *bridge.Sample, logTime int64) *Item {
	it := t.free.take()
	it.Topic = t
	it.ReceiveTime = sample.Received
	it.LogTime = logTime
	it.PublishTime = sample.SourceTime
	it.Payload = sample.Retain()
	it.Skipped = false
	it.refs.Store(1)
	return it
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

// StopAwaiting gives up waiting for the definition: the channel does not change any more, as it is in a file.
func (t *Topic) StopAwaiting() {
	if t.undefined.Load() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.undefined.Store(false)
	}
}

// Update replaces the channel by a copy that change has edited, if change returns true. It returns the same.
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

// Waits reports whether the item waits, at the time now, for the definition of its type.
func (it *Item) Waits(now int64) bool {
	return it.Topic.undefined.Load() && now-it.ReceiveTime < int64(DefinitionWait)
}
