package subscription

import (
	"slices"
	"sync"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// Topic is one topic with one type that is recorded, or watched for conditions, with its subscriptions: one, or two
// while one takes the place of the other.
type Topic struct {
	*intake.Receiver
	Noted accounting.Counts // of which the recording has events; guarded by its lock
	Meter accounting.Rate   // of received messages; guarded by recorder.metering

	// Guarded by the set's lock.
	qos       codec.QoS // subscribed with
	ended     bool      // the limit is reached and nothing is subscribed any more
	checks    snapshot.Checks
	declared  bool // to the file
	expecting bool // a node that can return the definition of the type
	fetching  bool // that definition

	mu            sync.Mutex
	subscriptions []bridge.Subscription
	lost          uint64 // messages lost by subscriptions that were closed
}

// Add adds another subscription.
func (t *Topic) Add(s bridge.Subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.subscriptions = append(t.subscriptions, s)
}

// drop closes a subscription, unless that was done before.
func (t *Topic) drop(s bridge.Subscription) {
	_ = s.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.subscriptions, s); i >= 0 {
		t.lost += s.Lost()
		t.subscriptions = slices.Delete(t.subscriptions, i, i+1)
	}
}

// close closes all subscriptions.
func (t *Topic) close() {
	for _, s := range t.Subscriptions() {
		t.drop(s)
	}
}

// Subscriptions returns the subscriptions, the latest last.
func (t *Topic) Subscriptions() []bridge.Subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.subscriptions)
}

// Lost returns how many messages were lost in transport.
func (t *Topic) Lost() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.lost
	for _, s := range t.subscriptions {
		n += s.Lost()
	}
	return n
}

// Counts returns what was counted since the recording began.
func (t *Topic) Counts() accounting.Counts {
	missing := t.Missing.Load()
	return accounting.Counts{
		Totals: codec.Totals{
			Received: t.Received.Load(), Written: t.Written.Load() - missing, Dropped: t.Dropped.Load() + missing,
			Lost: t.Lost(),
		},
		Skipped: t.Skipped.Load(), Throttled: t.Throttled.Load(),
	}
}
