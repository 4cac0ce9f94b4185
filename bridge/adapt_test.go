package bridge

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// offer returns the default QoS with changes.
func offer(changes ...func(*codec.QoS)) codec.QoS {
	q := codec.DefaultQoS()
	for _, change := range changes {
		change(&q)
	}
	return q
}

func bestEffort(q *codec.QoS)     { q.Reliability = codec.BestEffort }
func transientLocal(q *codec.QoS) { q.Durability = codec.TransientLocal }
func manual(q *codec.QoS)         { q.Liveliness = codec.ManualByTopic }

func deadline(d time.Duration) func(*codec.QoS) { return func(q *codec.QoS) { q.Deadline = d } }
func lease(d time.Duration) func(*codec.QoS)    { return func(q *codec.QoS) { q.LivelinessLease = d } }
func lifespan(d time.Duration) func(*codec.QoS) { return func(q *codec.QoS) { q.Lifespan = d } }
func depth(n int) func(*codec.QoS)              { return func(q *codec.QoS) { q.Depth = n } }
func history(h codec.History) func(*codec.QoS) {
	return func(q *codec.QoS) { q.History, q.Depth = h, 0 }
}

func TestAdaptQoS(t *testing.T) {
	for _, test := range []struct {
		name        string
		offers      []codec.QoS
		reliability codec.Reliability
		durability  codec.Durability
		mixed       bool
	}{
		{"none", nil, codec.Reliable, codec.Volatile, false},
		{"default", []codec.QoS{offer(), offer()}, codec.Reliable, codec.Volatile, false},
		{"all best effort", []codec.QoS{offer(bestEffort)}, codec.BestEffort, codec.Volatile, false},
		{"some best effort", []codec.QoS{offer(), offer(bestEffort)}, codec.BestEffort, codec.Volatile, true},
		{"all latched", []codec.QoS{offer(transientLocal), offer(transientLocal)}, codec.Reliable, codec.TransientLocal,
			false},
		{"some latched", []codec.QoS{offer(transientLocal), offer()}, codec.Reliable, codec.Volatile, true},
		{"deadline and liveliness are not asked for",
			[]codec.QoS{offer(deadline(time.Second), manual, lease(time.Second))},
			codec.Reliable, codec.Volatile, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			request, mixed := AdaptQoS(test.offers)
			require.Equal(t, test.mixed, mixed)
			want := offer(history(codec.KeepAll))
			want.Reliability, want.Durability = test.reliability, test.durability
			require.Equal(t, want, request)
			for _, o := range test.offers {
				ok, reason := Compatible(o, request)
				require.True(t, ok, reason)
			}
		})
	}
}

func TestOfferQoS(t *testing.T) {
	for _, test := range []struct {
		name     string
		recorded []codec.QoS
		want     codec.QoS
	}{
		{"none", nil, offer()},
		{"one", []codec.QoS{offer(bestEffort, deadline(time.Second))}, offer(bestEffort, deadline(time.Second))},
		{"history has no say", []codec.QoS{offer(transientLocal, depth(1)),
			offer(transientLocal, history(codec.KeepAll))},
			offer(transientLocal)},
		{"longer history", []codec.QoS{offer(transientLocal, depth(1)), offer(transientLocal, depth(100))},
			offer(transientLocal, depth(100))},
		{"history unknown", []codec.QoS{offer(history(codec.UnknownHistory))}, offer()},
		{"lifespan has no say", []codec.QoS{offer(lifespan(time.Second)), offer()}, offer(lifespan(time.Second))},
		{"reliability differs", []codec.QoS{offer(bestEffort), offer()}, offer()},
		{"durability differs", []codec.QoS{offer(transientLocal), offer()}, offer()},
		{"deadline differs", []codec.QoS{offer(deadline(time.Second)), offer(deadline(time.Minute))}, offer()},
		{"liveliness differs", []codec.QoS{offer(manual), offer()}, offer()},
		{"lease differs", []codec.QoS{offer(), offer(lease(time.Second))}, offer()},
	} {
		t.Run(test.name, func(t *testing.T) { require.Equal(t, test.want, OfferQoS(test.recorded)) })
	}
}

func TestCompatible(t *testing.T) {
	for _, test := range []struct {
		offer, request codec.QoS
		reason         string // "": they match
	}{
		{offer(), offer(), ""},
		{offer(), offer(bestEffort), ""},
		{offer(bestEffort), offer(), "the publisher is best effort, the subscriber asks for reliable"},
		{offer(transientLocal), offer(), ""},
		{offer(), offer(transientLocal), "the publisher is volatile, the subscriber asks for transient local"},
		{offer(deadline(time.Second)), offer(deadline(time.Second)), ""},
		{offer(deadline(time.Second)), offer(), ""},
		{offer(), offer(deadline(time.Second)), "the publisher's deadline is infinite, the subscriber asks for 1s"},
		{offer(deadline(2 * time.Second)), offer(deadline(time.Second)),
			"the publisher's deadline is 2s, the subscriber asks for 1s"},
		{offer(manual), offer(), ""},
		{offer(), offer(manual), "the publisher's liveliness is automatic, the subscriber asks for manual by topic"},
		{offer(lease(time.Second)), offer(), ""},
		{offer(), offer(lease(time.Second)), "the publisher's liveliness lease is infinite, the subscriber asks for " +
			"1s"},
		{offer(lifespan(time.Second), depth(1)), offer(history(codec.KeepAll)), ""},
	} {
		ok, reason := Compatible(test.offer, test.request)
		require.Equal(t, test.reason == "", ok)
		require.Equal(t, test.reason, reason)
	}
}
