package main

import (
	"sync"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// stream is one topic with one type that is being recorded. Its subscriptions feed the queue and the snapshot ring.
type stream struct {
	channel *codec.Channel
	queue   *queue // nil when only snapshots are written
	ring    *queue // nil without snapshots
	clock   *bridge.SimTime

	received atomic.Uint64 // messages
	written  atomic.Uint64 // messages
	dropped  atomic.Uint64 // messages that the queue could not hold

	mu           sync.Mutex // held while a batch is taken in
	batch, spill []*item    // reused from batch to batch
	// last is the last sequence number taken of each publisher, once a second subscription replaces the first and both
	// may deliver the same samples; nil before.
	last map[bridge.GUID]uint64
}

// take is the handler of the stream's subscriptions.
func (s *stream) take(samples []bridge.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var refs int32
	for _, q := range []*queue{s.queue, s.ring} {
		if q != nil {
			refs++
		}
	}
	s.batch = s.batch[:0]
	for i := range samples {
		sample := &samples[i]
		if s.last != nil && s.seen(sample) {
			continue
		}
		s.batch = append(s.batch, newItem(s, sample, s.clock.Stamp(sample.ReceiveTime), refs))
	}
	s.received.Add(uint64(len(s.batch)))
	if s.queue != nil {
		s.spill = s.queue.push(s.batch, s.spill[:0])
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

// seen says whether the sample was taken before, and remembers it.
func (s *stream) seen(sample *bridge.Sample) bool {
	if sample.Sequence == 0 {
		return false
	}
	if sample.Sequence <= s.last[sample.Publisher] {
		return true
	}
	s.last[sample.Publisher] = sample.Sequence
	return false
}

// track makes the stream tell samples that come twice, from now on.
func (s *stream) track() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[bridge.GUID]uint64{}
	}
}
