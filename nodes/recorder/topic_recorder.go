package main

import (
	"slices"
	"sync"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/recorder/internal/accounting"
	"tapedeck/nodes/recorder/internal/intake"
	"tapedeck/nodes/recorder/internal/snapshot"
)

// topicRecorder is one recorded topic with its subscriptions: one, or two while one takes the place of the other.
type topicRecorder struct {
	*intake.Receiver
	qos   codec.QoS // subscribed with
	ended bool      // nothing is subscribed any more, as the limit is reached

	checks    snapshot.Checks
	declared  bool // to the file writer
	expecting bool // a node that can tell the definition of the type
	fetching  bool // that definition

	meter accounting.Rate // of what is received, for the status

	// Under session.mu:
	noted    counts // of which events of losses and drops were noted
	inTotals counts // that are in the totals of a file
	before   uint64 // messages written to the files before

	subscribing   sync.Mutex
	subscriptions []bridge.Subscription
	gone          uint64 // messages lost by subscriptions that were closed
}

// add notes another subscription.
func (rec *topicRecorder) add(s bridge.Subscription) {
	rec.subscribing.Lock()
	defer rec.subscribing.Unlock()
	rec.subscriptions = append(rec.subscriptions, s)
}

// drop closes a subscription, unless that was done before.
func (rec *topicRecorder) drop(s bridge.Subscription) {
	_ = s.Close()
	rec.subscribing.Lock()
	defer rec.subscribing.Unlock()
	if i := slices.Index(rec.subscriptions, s); i >= 0 {
		rec.gone += s.Lost()
		rec.subscriptions = slices.Delete(rec.subscriptions, i, i+1)
	}
}

// close closes all subscriptions.
func (rec *topicRecorder) close() {
	for _, s := range rec.current() {
		rec.drop(s)
	}
}

// current returns the subscriptions, the latest last.
func (rec *topicRecorder) current() []bridge.Subscription {
	rec.subscribing.Lock()
	defer rec.subscribing.Unlock()
	return slices.Clone(rec.subscriptions)
}

// missed returns how many messages were lost in transport.
func (rec *topicRecorder) missed() uint64 {
	rec.subscribing.Lock()
	defer rec.subscribing.Unlock()
	n := rec.gone
	for _, s := range rec.subscriptions {
		n += s.Lost()
	}
	return n
}

// counts are numbers of messages of a topic.
type counts struct {
	codec.Totals
	skipped   uint64 // while recording was paused
	throttled uint64 // left out on purpose
}

// counts returns what was counted since the recording began.
func (rec *topicRecorder) counts() counts {
	return counts{
		Totals: codec.Totals{
			Received: rec.Received.Load(), Written: rec.Written.Load(), Dropped: rec.Dropped.Load(),
			Lost: rec.missed(),
		},
		skipped: rec.Skipped.Load(), throttled: rec.Throttled.Load(),
	}
}
