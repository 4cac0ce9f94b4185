package subscription

import (
	"slices"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// Topic is one topic with one type that is recorded, or watched for conditions, with its subscriptions: one, or two
// while one takes the place of the other.
type Topic struct {
	*intake.Receiver
	Noted Counts // of which the recording has events; belongs to the goroutine that writes
	// Measured is the rate of received messages; nil: it was not measured yet.
	Measured atomic.Pointer[Rate]

	// These are the owner's.
	qos       codec.QoS // subscribed with
	ended     bool      // the limit is reached and nothing is subscribed any more
	checks    snapshot.Checks
	declared  bool // to the file
	expecting bool // a node that can return the definition of the type
	fetching  bool // that definition

	listening atomic.Pointer[listening] // replaced as a whole; nil: there was no subscription yet
}

// Counts are numbers of messages of a topic since the recording began.
type Counts struct {
	codec.Totals
	Skipped   uint64 // while recording was paused
	Throttled uint64 // left out on purpose
}

// listening is what a topic is heard with.
type listening struct {
	subscriptions []bridge.Subscription
	lost          uint64 // messages lost by subscriptions that were closed
}

// change replaces what the topic is heard with. change gets a copy.
func (t *Topic) change(change func(*listening)) {
	for {
		old := t.listening.Load()
		var next listening
		if old != nil {
			next = listening{slices.Clone(old.subscriptions), old.lost}
		}
		change(&next)
		if t.listening.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Add adds another subscription.
func (t *Topic) Add(s bridge.Subscription) {
	t.change(func(l *listening) { l.subscriptions = append(l.subscriptions, s) })
}

// drop closes a subscription, unless that was done before.
func (t *Topic) drop(s bridge.Subscription) {
	_ = s.Close()
	t.change(func(l *listening) {
		if i := slices.Index(l.subscriptions, s); i >= 0 {
			l.lost += s.Lost()
			l.subscriptions = slices.Delete(l.subscriptions, i, i+1)
		}
	})
}

// close closes all subscriptions.
func (t *Topic) close() {
	for _, s := range t.Subscriptions() {
		t.drop(s)
	}
}

// Subscriptions returns the subscriptions, the latest last. The caller must not change the list.
func (t *Topic) Subscriptions() []bridge.Subscription {
	if l := t.listening.Load(); l != nil {
		return l.subscriptions
	}
	return nil
}

// Lost returns how many messages were lost in transport.
func (t *Topic) Lost() uint64 {
	l := t.listening.Load()
	if l == nil {
		return 0
	}
	n := l.lost
	for _, s := range l.subscriptions {
		n += s.Lost()
	}
	return n
}

// Measure measures the rate of received messages at now. One goroutine calls it, now and then.
func (t *Topic) Measure(now time.Time) {
	rate := t.Rate()
	rate.Update(now, t.Received.Load(), t.Bytes.Load())
	t.Measured.Store(&rate)
}

// Rate returns the rate of received messages that was measured last.
func (t *Topic) Rate() Rate {
	if rate := t.Measured.Load(); rate != nil {
		return *rate
	}
	return Rate{}
}

// Counts returns what was counted since the recording began.
func (t *Topic) Counts() Counts {
	missing := t.Missing.Load()
	return Counts{
		Totals: codec.Totals{
			Received: t.Received.Load(), Written: t.Written.Load() - missing, Dropped: t.Dropped.Load() + missing,
			Lost: t.Lost(),
		},
		Skipped: t.Skipped.Load(), Throttled: t.Throttled.Load(),
	}
}
