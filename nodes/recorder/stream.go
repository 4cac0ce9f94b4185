package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/throttle"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/schedule"
)

// stream is one topic with one type that is being recorded. Its subscriptions feed the backlog and the snapshot ring.
type stream struct {
	backlog *backlog // nil when only snapshots are written
	clock   *bridge.SimTime
	latches *latches             // nil: latched messages are not kept
	journal *accounting.EventLog // nil: nobody wants to know of gaps
	limit   uint64               // messages to be recorded; 0: all

	throttle   *throttle.Throttle                 // of what is recorded; nil: none
	resumption *atomic.Pointer[schedule.Deadline] // when a pause ends by a message; nil, or in it nil: never
	resume     func()                             // ends the pause for all

	snapshots *snapshots // nil: there are none
	track     *track     // in their ring

	channel   atomic.Pointer[codec.Channel] // replaced when the first publisher is known, or the definition of the type
	undefined atomic.Bool                   // the definition is waited for
	received  atomic.Uint64                 // messages, without those that were skipped or throttled
	bytes     atomic.Uint64                 // of their payloads
	written   atomic.Uint64                 // messages
	dropped   atomic.Uint64                 // messages that did not get into the recording
	skipped   atomic.Uint64                 // messages received while recording was paused
	throttled atomic.Uint64                 // messages that the throttle left out
	complete  atomic.Bool                   // the limit is reached

	share share // of the backlog

	mu           sync.Mutex // held while a batch is taken in
	batch, spill []*item    // reused from batch to batch
	passed       []*item    // likewise: those of batch that are recorded, where some may not be
	spare        slab
	sources      sources
	watcher      *watcher // nil: there are no conditions
	rhythm       accounting.GapDetector
	paused       bool
	pausedAt     int64                // when that began last, ns since the Unix epoch
	replaced     int64                // ns since the Unix epoch, when a subscription took the place of another; 0: never
	heard        int64                // log time of the last message, ns since the Unix epoch
	arrived      int64                // when it was received, likewise
	loss         accounting.TimeRange // of messages that were lost since it was last asked for
}

func newStream(c *codec.Channel, b *backlog, clock *bridge.SimTime) *stream {
	s := &stream{backlog: b, clock: clock}
	s.channel.Store(c)
	return s
}

// take is the handler of the stream's subscriptions.
func (s *stream) take(samples []bridge.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.resumesAt(samples); i < len(samples) {
		s.takeIn(samples[:i])
		s.unpause()
		samples = samples[i:]
		go s.resume()
	}
	s.takeIn(samples)
}

func (s *stream) takeIn(samples []bridge.Sample) {
	var refs int32
	record := s.backlog != nil && !s.paused
	some := s.throttle != nil || s.limit > 0 // of the messages may be recorded
	if record {
		refs++
	}
	if s.snapshots != nil {
		refs++
	}
	s.batch, s.passed = s.batch[:0], s.passed[:0]
	var passed, bytes, skipped, throttled uint64
	for i := range samples {
		sample := &samples[i]
		from := s.sources.of(sample.Publisher)
		if sample.ReceiveTime <= s.replaced && from.told(sample) {
			continue // the subscription before this one has heard it too
		}
		if s.watcher != nil {
			s.watcher.look(sample)
		}
		full := record && s.limit > 0 && s.received.Load()+passed >= s.limit
		if full {
			s.complete.Store(true)
			s.journal = nil // what is not recorded has no gaps
			if s.snapshots == nil {
				break
			}
		}
		stamp := s.clock.Stamp(sample.ReceiveTime)
		s.listen(from, sample, stamp)
		latched := from.depth > 0 && s.latches != nil
		if s.paused {
			skipped++
		}
		refs := refs
		pass := !full
		if pass && s.throttle != nil && record && !from.offering && !s.throttle.Passes(stamp) {
			pass = false
			throttled++
		}
		if !pass {
			refs--
		}
		if refs == 0 && !latched {
			continue
		}
		it := newItem(s, sample, stamp, refs)
		if latched {
			s.latches.keep(from, it)
		}
		if refs > 0 {
			s.batch = append(s.batch, it)
		}
		if refs > 0 && pass {
			passed++
			bytes += uint64(len(sample.Data))
			if some {
				s.passed = append(s.passed, it)
			}
		}
	}
	if s.paused {
		s.skipped.Add(skipped)
	} else {
		s.received.Add(passed)
		s.bytes.Add(bytes)
		s.throttled.Add(throttled)
	}
	switch {
	case !record:
	case some:
		s.push(s.passed)
	default:
		s.push(s.batch)
	}
	if s.snapshots != nil {
		s.spill = s.snapshots.ring.push(s.track, s.batch, s.spill[:0])
		releaseAll(s.spill)
	}
	clear(s.batch)
	clear(s.passed)
}

// push puts items into the backlog.
func (s *stream) push(list []*item) {
	s.spill = s.backlog.push(&s.share, list, s.spill[:0])
	for _, it := range s.spill {
		it.stream.dropped.Add(1)
	}
	releaseAll(s.spill)
}

// listen follows the sequence numbers and times of messages. stamp is the log time of this one.
func (s *stream) listen(from *source, sample *bridge.Sample, stamp int64) {
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

// gap is the event of a silence that lasted until t.
func (s *stream) gap(t int64) codec.Event {
	return codec.Event{
		Kind: codec.EventGap, Topic: s.channel.Load().Topic, Time: s.heard, Until: t,
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
	s.batch = s.batch[:0]
	for _, from := range s.sources.all {
		s.batch = from.latched(time.Now().UnixNano(), s.batch)
	}
	list := s.batch[:0]
	for _, it := range s.batch {
		if it.receiveTime < s.pausedAt {
			it.release()
			continue
		}
		list = append(list, it)
	}
	s.received.Add(uint64(len(list)))
	s.push(list)
	clear(s.batch)
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
func (s *stream) latched(t int64, out []*item) []*item {
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
	topic := s.channel.Load().Topic
	for i := range samples {
		if m.ReachedBy(topic, samples[i].SourceTime, s.clock.Stamp(samples[i].ReceiveTime)) &&
			s.resumption.CompareAndSwap(m, nil) {
			return i
		}
	}
	return len(samples)
}
