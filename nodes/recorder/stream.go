package main

import (
	"sync"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// stream is one topic with one type that is being recorded. Its subscriptions feed the queue and the snapshot ring.
type stream struct {
	queue *queue // nil when only snapshots are written
	ring  *queue // nil without snapshots
	clock *bridge.SimTime

	pausing *atomic.Bool // what is received is not recorded; nil: never

	channel  atomic.Pointer[codec.Channel] // replaced once, when the first publisher is known
	received atomic.Uint64                 // messages
	written  atomic.Uint64                 // messages
	dropped  atomic.Uint64                 // messages that did not get into the recording

	mu           sync.Mutex // held while a batch is taken in
	batch, spill []*item    // reused from batch to batch
	sequences    sequences
	replaced     int64 // ns since the Unix epoch, when a subscription took the place of another; 0: never
}

func newStream(c *codec.Channel, queue, ring *queue, clock *bridge.SimTime) *stream {
	s := &stream{queue: queue, ring: ring, clock: clock}
	s.channel.Store(c)
	return s
}

// take is the handler of the stream's subscriptions.
func (s *stream) take(samples []bridge.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs int32
	queue := s.queue
	if s.pausing != nil && s.pausing.Load() {
		queue = nil
	}
	if queue != nil {
		refs++
	}
	if s.ring != nil {
		refs++
	}
	s.batch = s.batch[:0]
	for i := range samples {
		sample := &samples[i]
		if s.sequences.again(sample) && sample.ReceiveTime <= s.replaced {
			continue // the subscription before this one has heard it too
		}
		s.batch = append(s.batch, newItem(s, sample, s.clock.Stamp(sample.ReceiveTime), refs))
	}
	s.received.Add(uint64(len(s.batch)))
	if queue != nil {
		s.spill = queue.push(s.batch, s.spill[:0])
		for _, it := range s.spill {
			it.stream.dropped.Add(1)
		}
		releaseAll(s.spill)
	}
	if s.ring != nil {
		s.spill = s.ring.push(s.batch, s.spill[:0])
		releaseAll(s.spill)
	}
	clear(s.batch)
}

// replace notes that a subscription took the place of another one just now.
func (s *stream) replace(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaced = now
}

// sequences are the last sequence numbers heard of each publisher. The zero value is ready.
type sequences struct {
	publisher bridge.GUID // that was heard last, as most samples in a row are from one
	last      *uint64     // of that publisher
	all       map[bridge.GUID]*uint64
}

// again says whether the sample was heard before, and remembers it.
func (s *sequences) again(sample *bridge.Sample) bool {
	if sample.Sequence == 0 {
		return false
	}
	if s.last == nil || s.publisher != sample.Publisher {
		s.publisher, s.last = sample.Publisher, s.all[sample.Publisher]
		if s.last == nil {
			if s.all == nil {
				s.all = make(map[bridge.GUID]*uint64)
			}
			s.last = new(uint64)
			s.all[sample.Publisher] = s.last
		}
	}
	if sample.Sequence <= *s.last {
		return true
	}
	*s.last = sample.Sequence
	return false
}
