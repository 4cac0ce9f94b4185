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

// Topic is one topic with one type that is recorded, or only watched for conditions. It has one subscription, or two
// while one replaces the other.
type Topic struct {
	*intake.Receiver
	Noted Counts // counts that events in the recording have; belongs to the goroutine that writes
	// Measured is the rate of received messages; nil: it was not measured yet.
	Measured atomic.Pointer[Rate]

	// Owned by the owner of the Set.
	qos          codec.QoS // QoS of the latest subscription
	ended        bool      // the limit is reached and the subscriptions are closed
	checks       snapshot.Checks
	declared     bool // the file has the channel
	awaitingNode bool // the definition is to be fetched from a node that is not known yet
	fetching     bool // the definition is being fetched

	listening atomic.Pointer[listening] // replaced as a whole; nil: there was no subscription yet
}

// Counts are numbers of messages of a topic since the recording began.
type Counts struct {
	codec.Totals
	Skipped   uint64 // while recording was paused
	Throttled uint64 // left out by the throttle
}

// listening is the subscriptions of a topic.
type listening struct {
	subscriptions []bridge.Subscription
	lost          uint64 // messages lost by closed subscriptions
}

// change replaces listening by a copy that edit has edited.
func (t *Topic) change(edit func(*listening)) {
	for {
		old := t.listening.Load()
		var next listening
		if old != nil {
			next = listening{slices.Clone(old.subscriptions), old.lost}
		}
		edit(&next)
		if t.listening.CompareAndSwap(old, &next) {
			return
		}
	}
}

// Add adds another subscription.
func (t *Topic) Add(s bridge.Subscription) {
	t.change(func(l *listening) { l.subscriptions = append(l.subscriptions, s) })
}

// drop closes and removes a subscription, unless it was removed before.
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

// Measure measures the rate of received messages at now. One goroutine calls it regularly.
func (t *Topic) Measure(now time.Time) {
	rate := t.Rate()
	rate.Update(now, t.Received.Load(), t.Bytes.Load())
	t.Measured.Store(&rate)
}

// Rate returns the latest result of Measure.
func (t *Topic) Rate() Rate {
	if rate := t.Measured.Load(); rate != nil {
		return *rate
	}
	return Rate{}
}

// Counts returns the counts since the recording began.
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
