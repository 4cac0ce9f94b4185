package main

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

// memory is a codec.Writer that keeps what is written.
type memory struct {
	mu       sync.Mutex
	declared []string
	times    []int64
	fail     error
}

func (m *memory) Declare(c *codec.Channel) error {
	m.declared = append(m.declared, c.Topic)
	return nil
}

func (m *memory) Write(msg *codec.Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil && len(m.times) == 3 {
		return m.fail
	}
	m.times = append(m.times, msg.LogTime)
	return nil
}

func (m *memory) Sync() error  { return nil }
func (m *memory) Close() error { return nil }

// feed pushes a message of s received at t.
func feed(s *stream, t int64) *int {
	freed := new(int)
	s.take([]bridge.Sample{{Data: []byte("payload"), ReceiveTime: t, Memory: countFrees{freed}}})
	return freed
}

func newTestStream(topic string, q *queue) *stream {
	return newStream(&codec.Channel{Topic: topic}, q, nil, new(bridge.SimTime))
}

func TestSinkWritesInTheOrderOfReception(t *testing.T) {
	q, w := newQueue(1<<30, 0), &memory{}
	s := &sink{queue: q, writer: w}
	a, b := newTestStream("/a", q), newTestStream("/b", q)
	s.declare(a.channel.Load())
	s.declare(b.channel.Load())
	stop, done := make(chan struct{}), make(chan error)
	go func() { done <- s.run(stop) }()
	now := time.Now().UnixNano()
	var freed []*int
	for i := range int64(100) {
		freed = append(freed, feed(b, now+2*i+1), feed(a, now+2*i)) // each pair is in the wrong order
	}
	close(stop)
	require.NoError(t, <-done)
	require.Equal(t, []string{"/a", "/b"}, w.declared)
	require.Len(t, w.times, 200)
	require.IsIncreasing(t, w.times)
	for _, n := range freed {
		require.Equal(t, 1, *n)
	}
	require.Equal(t, uint64(100), a.written.Load())
}

func TestSinkDoesNotWaitForMore(t *testing.T) {
	q, w := newQueue(1<<30, 0), &memory{}
	s := &sink{queue: q, writer: w}
	stop, done := make(chan struct{}), make(chan error)
	go func() { done <- s.run(stop) }()
	feed(newTestStream("/a", q), time.Now().UnixNano())
	require.Eventually(t, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.times) == 1
	}, 30*time.Second, time.Millisecond)
	close(stop)
	require.NoError(t, <-done)
}

func TestSinkEndsWithTheErrorOfTheWriter(t *testing.T) {
	full := errors.New("disk full")
	q := newQueue(1<<30, 0)
	s := &sink{queue: q, writer: &memory{fail: full}}
	a := newTestStream("/a", q)
	var freed []*int
	for i := range int64(5) {
		freed = append(freed, feed(a, i))
	}
	require.ErrorIs(t, s.run(make(chan struct{})), full)
	freed = append(freed, feed(a, 6))
	s.discard()
	for _, n := range freed {
		require.Equal(t, 1, *n, "payloads that were not written are given back too")
	}
	require.Equal(t, uint64(3), a.written.Load())
	require.Equal(t, uint64(3), a.dropped.Load())
}

func TestStreamCountsWhatTheQueueCannotHold(t *testing.T) {
	q := newQueue(10*(7+itemOverhead), 0)
	a := newTestStream("/a", q)
	for i := range int64(25) {
		feed(a, i)
	}
	require.Equal(t, uint64(25), a.received.Load())
	require.Equal(t, uint64(15), a.dropped.Load())
}

func TestStreamFeedsQueueAndRing(t *testing.T) {
	q, ring := newQueue(1<<30, 0), newQueue(1<<30, 0)
	a := newTestStream("/a", q)
	a.ring = ring
	freed := feed(a, 1)
	releaseAll(q.pop(1, nil))
	require.Zero(t, *freed)
	releaseAll(ring.pop(1, nil))
	require.Equal(t, 1, *freed)
}

func TestStreamTellsSamplesThatComeTwice(t *testing.T) {
	a := newTestStream("/a", newQueue(1<<30, 0))
	take := func(publisher byte, received int64, sequences ...uint64) uint64 {
		before := a.received.Load()
		for _, n := range sequences {
			a.take([]bridge.Sample{{Data: []byte("x"), Publisher: bridge.GUID{publisher}, Sequence: n, ReceiveTime: received}})
		}
		return a.received.Load() - before
	}
	require.Equal(t, uint64(2), take(1, 10, 5, 6))
	a.replace(20)
	require.Equal(t, uint64(2), take(1, 15, 5, 6, 7, 8), "the successor hears again what its predecessor has heard")
	require.Equal(t, uint64(2), take(2, 15, 5, 6), "another publisher")
	require.Equal(t, uint64(2), take(1, 25, 1, 2), "a publisher that counts anew is heard")
	require.Equal(t, uint64(2), take(0, 15, 0, 0), "numbers that are not known tell nothing")
}
