// Package intake takes in the messages of one topic: it accepts each message once, watches sequence numbers and times,
// and routes items to the queue, the ring and the cache of latched messages.
package intake

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/filter/pattern"
	"tapedeck/nodes/internal/fleet/contract"
	"tapedeck/nodes/recorder/internal/queue"
)

// Options are the settings of a Receiver.
type Options struct {
	Clock  *bridge.SimTime
	Queue  *queue.Queue      // nil: messages are not recorded
	Ring   *queue.Ring       // nil: messages are not kept for snapshots
	Cache  *LatchedCache     // nil: latched messages are not kept
	Sample *Sample           // nil: no message is kept for Receiver.Sample
	Note   func(codec.Event) // is called with gaps, and must not wait; nil: gaps are not noted
	Limit  uint64            // maximum number of recorded messages; 0: no limit

	OnTooLarge func(t *queue.Topic, bytes int64) // is called for a message larger than the queue; may be nil

	Throttle   *pattern.Throttle               // limits the recorded messages; nil: it does not
	Resumption *atomic.Pointer[queue.Deadline] // a message that reaches it ends a pause; may be nil, or hold nil
	OnResume   func()                          // is called, on a goroutine of its own, after a message ended a pause

	Repeat      bool // keep the last messages of all publishers as if they were latched
	RepeatDepth int  // number of messages that Repeat keeps; 0: as many as late subscribers get, or 1
}

// Receiver takes in the messages from the subscriptions of one topic with one type.
type Receiver struct {
	*queue.Topic
	Received  atomic.Uint64 // messages, without skipped and throttled ones
	Bytes     atomic.Uint64 // bytes of payloads of received messages
	Skipped   atomic.Uint64 // messages received while recording was paused
	Throttled atomic.Uint64 // messages that the throttle left out
	Complete  atomic.Bool   // Options.Limit is reached

	options Options

	mu         sync.Mutex // held while a batch is taken in
	batch      batch
	publishers publishers
	check      func(*bridge.Sample) // checks conditions; nil: there are none
	rhythm     contract.GapDetector
	paused     bool
	replaced   int64 // receive time at which a subscription replaced another; 0: never
	heard      int64 // log time of the last message, ns since the Unix epoch
	arrived    int64 // receive time of the last message
	sent       int64 // source time of the last message, or its receive time if it has none
	simulated  bool  // rhythm is by the simulated clock

	lostFrom, lostUntil int64 // log times between which messages were lost since LossRange was called; 0: none was
}

// batch holds the messages of one call of Take. Each list has one reference for each of its items.
type batch struct {
	recorded []*queue.Item // items for the queue
	kept     []*queue.Item // items for the ring
	evicted  []*queue.Item // items that left the queue or the ring
	bytes    uint64        // bytes of the messages received

	skipped, throttled uint64 // numbers of messages
}

// Sample returns a recent message of the topic with a reference, nil if there is none.
func (r *Receiver) Sample() *queue.Item {
	if r.options.Sample == nil {
		return nil
	}
	return r.options.Sample.Take()
}

// NewReceiver returns a receiver for messages of a channel.
func NewReceiver(c *codec.Channel, o Options) *Receiver {
	return &Receiver{Topic: queue.NewTopic(c), options: o,
		publishers: publishers{repeat: o.Repeat, depth: o.RepeatDepth}}
}

// Take is the handler of subscriptions.
func (r *Receiver) Take(samples []bridge.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := r.resumesAt(samples); i < len(samples) {
		r.takeAll(samples[:i])
		r.resume()
		samples = samples[i:]
		go r.options.OnResume()
	}
	r.takeAll(samples)
}

// takeAll accepts, annotates and routes messages.
func (r *Receiver) takeAll(samples []bridge.Sample) {
	for i := range samples {
		sample := &samples[i]
		from, freed := r.publishers.find(sample.Publisher)
		if freed > 0 {
			r.options.Cache.bytes.Add(-freed)
		}
		if !r.accept(from, sample) {
			continue
		}
		stamp := r.options.Clock.Stamp(sample.ReceiveTime)
		r.annotate(from, sample, stamp)
		r.route(from, sample, stamp)
	}
	r.deliver()
}

// accept reports whether a message may be recorded or kept, and checks its conditions.
func (r *Receiver) accept(from *publisher, sample *bridge.Sample) bool {
	if sample.Received <= r.replaced && from.heardBefore(sample) {
		return false
	}
	if r.check != nil {
		r.check(sample)
	}
	return r.paused || !r.complete() || r.options.Ring != nil
}

// complete reports whether the limit is reached, and sets Complete.
func (r *Receiver) complete() bool {
	if r.room() > 0 {
		return false
	}
	r.Complete.Store(true)
	r.options.Note = nil // messages that are not recorded have no gaps
	return true
}

// room returns how many messages may still be recorded.
func (r *Receiver) room() uint64 {
	o := &r.options
	if o.Limit == 0 || o.Queue == nil {
		return math.MaxUint64
	}
	return o.Limit - min(o.Limit, r.Received.Load()+uint64(len(r.batch.recorded)))
}

// annotate notes losses, times and gaps of messages. stamp is the log time of sample.
func (r *Receiver) annotate(from *publisher, sample *bridge.Sample, stamp int64) {
	if sample.Lost > 0 {
		if r.lostFrom == 0 || from.heard < r.lostFrom {
			r.lostFrom = from.heard
		}
		r.lostUntil = max(r.lostUntil, stamp)
	}
	from.note(sample, stamp)
	received, sent := sample.Received, sample.SourceTime
	if sent == 0 {
		sent = received
	}
	// Latched topics may be silent for any time.
	silent := !from.transientLocal && r.silent(sent, received, stamp, stamp != sample.ReceiveTime)
	if silent && sample.Lost == 0 && r.options.Note != nil {
		r.options.Note(r.gap(stamp))
	}
	r.heard, r.arrived, r.sent = stamp, received, sent
}

// silent reports whether a gap precedes a message, by the times of sending or by the simulated clock, which may run at
// any rate. A clock that was set is no gap, and a message that came late is none.
func (r *Receiver) silent(sent, received, stamp int64, simulated bool) bool {
	if simulated != r.simulated {
		r.simulated, r.rhythm = simulated, contract.GapDetector{}
	}
	if simulated {
		return r.rhythm.Observe(stamp) && min(received-r.arrived, sent-r.sent) > int64(leastSimulated)
	}
	return r.rhythm.Observe(sent) && received-r.arrived > int64(contract.MinGap)/2
}

// leastSimulated is the shortest time between two messages, by the machine's clock, that may be a gap by the simulated
// clock. In less time, the simulated clock must have been set.
const leastSimulated = contract.MinGap / 20

// route makes an item of a message, with one reference for each list and cache that it goes to.
func (r *Receiver) route(from *publisher, sample *bridge.Sample, stamp int64) {
	o, b := &r.options, &r.batch
	record, keep, latch := r.records(from, stamp), o.Ring != nil, from.depth > 0 && o.Cache != nil
	if !record && !keep && !latch {
		return
	}
	item := r.NewItem(sample, stamp) // with one reference
	item.Skipped = r.paused && !r.Complete.Load()
	if o.Sample != nil && !r.paused {
		o.Sample.offer(item)
	}
	if latch {
		o.Cache.keep(&r.publishers, from, item) // retains it
	}
	if record && keep {
		item.Retain()
	}
	if record {
		b.recorded = append(b.recorded, item)
	}
	if keep {
		b.kept = append(b.kept, item)
	}
	if record || o.Queue == nil {
		b.bytes += uint64(len(sample.Data))
	}
	if !record && !keep {
		queue.Release(item)
	}
}

// records reports whether a message is recorded, and counts skipped and throttled ones.
func (r *Receiver) records(from *publisher, stamp int64) bool {
	o := &r.options
	switch {
	case r.paused:
		r.batch.skipped++
	case o.Queue == nil || r.Complete.Load():
	case o.Throttle != nil && !from.transientLocal && !o.Throttle.Passes(stamp):
		r.batch.throttled++
	default:
		return true
	}
	return false
}

// deliver passes the batch on to queue and ring, with its references, and counts it.
func (r *Receiver) deliver() {
	o, b := &r.options, &r.batch
	r.Skipped.Add(b.skipped)
	r.Throttled.Add(b.throttled)
	if received := b.recorded; !r.paused {
		if o.Queue == nil {
			received = b.kept
		}
		r.Received.Add(uint64(len(received)))
		r.Bytes.Add(b.bytes)
	}
	r.push(b.recorded)
	if o.Ring != nil {
		b.evicted = o.Ring.Push(r.Topic, b.kept, b.evicted[:0])
		queue.Release(b.evicted...)
	}
	clear(b.recorded)
	clear(b.kept)
	*b = batch{recorded: b.recorded[:0], kept: b.kept[:0], evicted: b.evicted}
	if !r.paused {
		r.complete()
	}
}

// push puts items into the queue.
func (r *Receiver) push(list []*queue.Item) {
	if len(list) == 0 {
		return
	}
	b := &r.batch
	b.evicted = r.options.Queue.Push(r.Topic, list, b.evicted[:0])
	for _, item := range b.evicted {
		item.Topic.Dropped.Add(1)
		if size := item.Size(); size > r.options.Queue.MaxBytes && r.options.OnTooLarge != nil {
			r.options.OnTooLarge(item.Topic, size)
		}
	}
	queue.Release(b.evicted...)
}

// gap returns the event of a silence that lasted until the log time t.
func (r *Receiver) gap(t int64) codec.Event {
	return codec.Event{
		Kind: codec.EventGap, Topic: r.Name(), Time: r.heard, Until: t,
		Text: fmt.Sprintf("silent for %v, is usually heard every %v", brief(t-r.heard), brief(int64(r.rhythm.Usual))),
	}
}

// brief rounds a time in ns to three digits.
func brief(ns int64) time.Duration {
	d, unit := time.Duration(ns), time.Duration(1)
	for d/1000 >= unit {
		unit *= 10
	}
	return d.Round(unit)
}

// NoteGap notes a gap that still lasts at the receive time now and the log time t.
func (r *Receiver) NoteGap(now, t int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	silence, simulated := now-r.arrived, r.options.Clock.Stamp(now) != now
	if simulated {
		silence = t - r.heard
	}
	if r.arrived != 0 && r.options.Note != nil && simulated == r.simulated && r.rhythm.IsGap(float64(silence)) {
		r.options.Note(r.gap(t))
	}
}

// LossRange returns the log times between which messages were lost since the last call, 0 if none were.
func (r *Receiver) LossRange() (from, until int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, until = r.lostFrom, r.lostUntil
	r.lostFrom, r.lostUntil = 0, 0
	return from, until
}

// Pause stops or resumes recording. Messages that were latched during a pause are recorded at its end.
func (r *Receiver) Pause(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on == r.paused:
	case on:
		r.paused = true
	default:
		r.resume()
	}
}

// resume ends a pause, and records the messages that were latched meanwhile.
func (r *Receiver) resume() {
	r.paused = false
	if r.options.Queue == nil || r.options.Cache == nil {
		return
	}
	list := slices.DeleteFunc(r.publishers.latched(bridge.Now(), nil), func(item *queue.Item) bool {
		recorded := !item.Skipped
		item.Skipped = false
		if recorded {
			queue.Release(item)
		}
		return recorded
	})
	queue.Sort(list, 0)
	if room := r.room(); uint64(len(list)) > room {
		queue.Release(list[room:]...)
		list = list[:room]
	}
	r.Received.Add(uint64(len(list)))
	r.push(list)
	r.complete()
}

// resumesAt returns the index of the message that ends a pause, len(samples) if none does.
func (r *Receiver) resumesAt(samples []bridge.Sample) int {
	o := &r.options
	if !r.paused || o.Resumption == nil {
		return len(samples)
	}
	deadline := o.Resumption.Load()
	if deadline == nil {
		return len(samples)
	}
	for i := range samples {
		if deadline.ReachedBy(r.Name(), samples[i].SourceTime, o.Clock.Stamp(samples[i].ReceiveTime)) &&
			o.Resumption.CompareAndSwap(deadline, nil) {
			return i
		}
	}
	return len(samples)
}

// Replace notes that a subscription replaced another one at the receive time now. The new one delivers messages again
// that both received.
func (r *Receiver) Replace(now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replaced = now
	for _, p := range r.publishers.byGUID {
		p.previousFirst = p.first
	}
}

// SetCheck sets a function that checks each message for conditions. One goroutine at a time calls it.
func (r *Receiver) SetCheck(check func(*bridge.Sample)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check = check
}

// SetPublishers notes the QoS that the publishers of the topic offer.
func (r *Receiver) SetPublishers(list []bridge.Endpoint, typeName string) {
	o := &r.options
	if o.Cache == nil && o.Throttle == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	since := int64(0)
	if o.Cache != nil {
		since = o.Cache.Since()
	}
	if freed := r.publishers.set(list, typeName, since); freed > 0 {
		o.Cache.bytes.Add(-freed)
	}
}

// Forget releases the latched messages and the sample, once nothing more is received.
func (r *Receiver) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.options.Sample; s != nil {
		if item := s.item.Swap(nil); item != nil {
			queue.Release(item)
		}
	}
	for _, p := range r.publishers.byGUID {
		if len(p.kept) > 0 {
			r.options.Cache.bytes.Add(-p.forget(len(p.kept)))
		}
	}
}

// Latched appends to out the messages that a late subscriber would have got at the receive time t, with references.
func (r *Receiver) Latched(t int64, out []*queue.Item) []*queue.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.publishers.latched(t, out)
}
