package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/throttle"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/queue"
	"tapedeck/nodes/recorder/internal/schedule"
)

// stream is one topic with one type that is being recorded. Its subscriptions feed the backlog and the snapshot ring.
type stream struct {
	*queue.Topic
	backlog *queue.Queue // nil when only snapshots are written
	clock   *bridge.SimTime
	latches *latches             // nil: latched messages are not kept
	journal *accounting.EventLog // nil: nobody wants to know of gaps
	limit   uint64               // messages to be recorded; 0: all

	throttle   *throttle.Throttle                 // of what is recorded; nil: none
	resumption *atomic.Pointer[schedule.Deadline] // when a pause ends by a message; nil, or in it nil: never
	resume     func()                             // ends the pause for all

	snapshots *snapshots // nil: there are none

	received  atomic.Uint64 // messages, without those that were skipped or throttled
	bytes     atomic.Uint64 // of their payloads
	skipped   atomic.Uint64 // messages received while recording was paused
	throttled atomic.Uint64 // messages that the throttle left out
	complete  atomic.Bool   // the limit is reached

	mu       sync.Mutex // held while a batch is taken in
	batch    batch
	sources  sources
	watcher  *watcher // nil: there are no conditions
	rhythm   accounting.GapDetector
	paused   bool
	pausedAt int64                // when that began last, ns since the Unix epoch
	replaced int64                // ns since the Unix epoch, when a subscription took the place of another; 0: never
	heard    int64                // log time of the last message, ns since the Unix epoch
	arrived  int64                // when it was received, likewise
	loss     accounting.TimeRange // of messages that were lost since it was last asked for
}

// batch is where the messages of one call of take go. Each list has one reference for each of its items.
type batch struct {
	recorded []*queue.Item // to the backlog
	kept     []*queue.Item // to the ring
	evicted  []*queue.Item // from either
	bytes    uint64        // of the messages received

	skipped, throttled uint64 // messages
}

func newStream(c *codec.Channel, b *queue.Queue, clock *bridge.SimTime) *stream {
	return &stream{Topic: queue.NewTopic(c), backlog: b, clock: clock}
}

// take is the handler of the stream's subscriptions.
func (s *stream) take(samples []bridge.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.resumesAt(samples); i < len(samples) {
		s.takeAll(samples[:i])
		s.unpause()
		samples = samples[i:]
		go s.resume()
	}
	s.takeAll(samples)
}

// takeAll accepts, annotates and routes messages.
func (s *stream) takeAll(samples []bridge.Sample) {
	for i := range samples {
		sample := &samples[i]
		from := s.sources.of(sample.Publisher)
		if !s.accept(from, sample) {
			continue
		}
		stamp := s.clock.Stamp(sample.ReceiveTime)
		s.annotate(from, sample, stamp)
		s.route(from, sample, stamp)
	}
	s.deliver()
}

// accept reports whether anything is to be done with a message, and looks at its conditions.
func (s *stream) accept(from *source, sample *bridge.Sample) bool {
	if sample.ReceiveTime <= s.replaced && from.told(sample) {
		return false // the subscription before this one has heard it too
	}
	if s.watcher != nil {
		s.watcher.look(sample)
	}
	if s.limit > 0 && s.records() && s.received.Load()+uint64(len(s.batch.recorded)) >= s.limit {
		s.complete.Store(true)
		s.journal = nil // what is not recorded has no gaps
		return s.snapshots != nil
	}
	return true
}

// records reports whether messages are recorded at present.
func (s *stream) records() bool { return s.backlog != nil && !s.paused }

// annotate follows the sequence numbers and times of messages. stamp is the log time of this one.
func (s *stream) annotate(from *source, sample *bridge.Sample, stamp int64) {
	lost := from.sequence != 0 && sample.Sequence > from.sequence+1
	if lost {
		s.loss.Extend(from.heard, stamp)
	}
	from.sequence = max(from.sequence, sample.Sequence)
	from.sourceTime = max(from.sourceTime, sample.SourceTime)
	from.heard = stamp
	sent := sample.SourceTime
	if sent == 0 {
		sent = sample.ReceiveTime
	}
	// A clock that was set is no silence, nor is a message that came late.
	silent := s.rhythm.Observe(sent) && sample.ReceiveTime-s.arrived > int64(accounting.MinGap)/2
	if silent && !lost && s.journal != nil {
		s.journal.Note(s.gap(stamp))
	}
	s.heard, s.arrived = stamp, sample.ReceiveTime
}

// route makes an item of a message, with one reference for each list and cache that it goes to.
func (s *stream) route(from *source, sample *bridge.Sample, stamp int64) {
	b := &s.batch
	record, keep, latch := s.wants(from, stamp), s.snapshots != nil, from.depth > 0 && s.latches != nil
	if !record && !keep && !latch {
		return
	}
	it := s.NewItem(sample, stamp) // with one reference
	if latch {
		s.latches.keep(from, it) // which retains it
	}
	if record && keep {
		it.Retain()
	}
	if record {
		b.recorded = append(b.recorded, it)
	}
	if keep {
		b.kept = append(b.kept, it)
	}
	if record || s.backlog == nil {
		b.bytes += uint64(len(sample.Data))
	}
	if !record && !keep {
		queue.Release(it)
	}
}

// wants reports whether a message is recorded.
func (s *stream) wants(from *source, stamp int64) bool {
	switch {
	case s.paused:
		s.batch.skipped++
	case s.backlog == nil || s.complete.Load():
	case s.throttle != nil && !from.offering && !s.throttle.Passes(stamp):
		s.batch.throttled++
	default:
		return true
	}
	return false
}

// deliver passes the batch on, with its references, and counts it.
func (s *stream) deliver() {
	b := &s.batch
	s.skipped.Add(b.skipped)
	s.throttled.Add(b.throttled)
	if received := b.recorded; !s.paused {
		if s.backlog == nil {
			received = b.kept
		}
		s.received.Add(uint64(len(received)))
		s.bytes.Add(b.bytes)
	}
	s.push(b.recorded)
	if s.snapshots != nil {
		b.evicted = s.snapshots.ring.Push(s.Topic, b.kept, b.evicted[:0])
		queue.Release(b.evicted...)
	}
	clear(b.recorded)
	clear(b.kept)
	*b = batch{recorded: b.recorded[:0], kept: b.kept[:0], evicted: b.evicted}
}

// push puts items into the backlog.
func (s *stream) push(list []*queue.Item) {
	if len(list) == 0 {
		return
	}
	b := &s.batch
	b.evicted = s.backlog.Push(s.Topic, list, b.evicted[:0])
	for _, it := range b.evicted {
		it.Topic.Dropped.Add(1)
	}
	queue.Release(b.evicted...)
}

// gap is the event of a silence that lasted until t.
func (s *stream) gap(t int64) codec.Event {
	return codec.Event{
		Kind: codec.EventGap, Topic: s.Channel.Load().Topic, Time: s.heard, Until: t,
		Text: fmt.Sprintf("silent for %v, is usually heard every %v", brief(t-s.heard), brief(int64(s.rhythm.Usual))),
	}
}

// brief rounds a time in ns to three digits.
func brief(ns int64) time.Duration {
	d, unit := time.Duration(ns), time.Duration(1)
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}

// silence returns the event of a silence that lasts still, at the time now and the log time t.
func (s *stream) silence(now, t int64) (e codec.Event, silent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.arrived == 0 || s.journal == nil || !s.rhythm.IsGap(float64(now-s.arrived)) {
		return e, false
	}
	return s.gap(t), true
}

// pause stops or resumes recording. What was latched meanwhile is recorded in the end.
func (s *stream) pause(on bool, since int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case on == s.paused:
	case on:
		s.paused, s.pausedAt = true, since
	default:
		s.unpause()
	}
}

func (s *stream) unpause() {
	s.paused = false
	if s.backlog == nil || s.latches == nil {
		return
	}
	var list []*queue.Item
	for _, from := range s.sources.all {
		list = from.latched(time.Now().UnixNano(), list)
	}
	list = slices.DeleteFunc(list, func(it *queue.Item) bool {
		before := it.ReceiveTime < s.pausedAt
		if before {
			queue.Release(it)
		}
		return before
	})
	s.received.Add(uint64(len(list)))
	s.push(list)
}

// replace notes that a subscription took the place of another one just now.
func (s *stream) replace(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replaced = now
}

// offered notes what the publishers of the stream offer.
func (s *stream) offered(publishers []bridge.Endpoint, typeName string) {
	if s.latches == nil && s.throttle == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if freed := s.sources.offered(publishers, typeName); freed > 0 {
		s.latches.bytes.Add(-freed)
	}
}

// latched appends to out what a late subscriber would have got at the time t, each with one reference more.
func (s *stream) latched(t int64, out []*queue.Item) []*queue.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range s.sources.all {
		out = from.latched(t, out)
	}
	return out
}

// lossSpan returns when messages were lost since it was last asked for.
func (s *stream) lossSpan() accounting.TimeRange {
	s.mu.Lock()
	defer s.mu.Unlock()
	loss := s.loss
	s.loss = accounting.TimeRange{}
	return loss
}

// resumesAt returns the index of the message that ends a pause, len(samples) if none does.
func (s *stream) resumesAt(samples []bridge.Sample) int {
	if !s.paused || s.resumption == nil {
		return len(samples)
	}
	m := s.resumption.Load()
	if m == nil {
		return len(samples)
	}
	topic := s.Channel.Load().Topic
	for i := range samples {
		if m.ReachedBy(topic, samples[i].SourceTime, s.clock.Stamp(samples[i].ReceiveTime)) &&
			s.resumption.CompareAndSwap(m, nil) {
			return i
		}
	}
	return len(samples)
}
