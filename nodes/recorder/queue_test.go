package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
)

// testItem returns an item of size bytes received at t, and a count of how often its payload was given back.
func testItem(t int64, size int, refs int32) (*item, *int) {
	freed := new(int)
	sample := bridge.Sample{Data: make([]byte, size), ReceiveTime: t, Memory: countFrees{freed}}
	return newItem(new(stream), &sample, t, refs), freed
}

type countFrees struct{ n *int }

func (c countFrees) Free(uintptr) { *c.n++ }

func TestQueueDropsTheOldest(t *testing.T) {
	q := newQueue(10*(1000+itemOverhead), 0)
	var out []*item
	for i := range 5000 {
		it, _ := testItem(int64(i), 1000, 1)
		before := len(out)
		out = q.push([]*item{it}, out)
		require.LessOrEqual(t, q.filled(), q.maxBytes)
		if i >= 10 {
			require.Len(t, out, before+1)
			require.Equal(t, int64(i-10), out[before].receiveTime)
		}
	}
	kept := q.pop(1<<30, nil)
	require.Len(t, kept, 10)
	require.Equal(t, int64(4990), kept[0].receiveTime)
	require.Zero(t, q.filled())
}

func TestQueueGrowsInOrder(t *testing.T) {
	q := newQueue(1<<40, 0)
	next := int64(0)
	for round := range 40 {
		for range 100 {
			it, _ := testItem(int64(round), 10, 1)
			it.publishTime = next
			next++
			require.Empty(t, q.push([]*item{it}, nil))
		}
		releaseAll(q.pop(3*(10+itemOverhead), nil))
	}
	rest := q.pop(1<<40, nil)
	require.Len(t, rest, 4000-3*40)
	for i, it := range rest {
		require.Equal(t, int64(3*40+i), it.publishTime)
	}
}

func TestQueueDropsWhatIsTooOld(t *testing.T) {
	q := newQueue(1<<40, 2*time.Second)
	var out []*item
	for i := range int64(10) {
		it, _ := testItem(i*int64(time.Second), 10, 1)
		out = q.push([]*item{it}, out)
	}
	require.Len(t, out, 7)
	kept := q.snapshot(nil)
	require.Len(t, kept, 3)
	require.Equal(t, int64(7*time.Second), kept[0].receiveTime)
}

func TestQueueDropsWhatNeverFits(t *testing.T) {
	q := newQueue(1000, time.Second)
	it, _ := testItem(0, 2000, 1)
	require.Equal(t, []*item{it}, q.push([]*item{it}, nil))
	require.Zero(t, q.filled())
}

func TestQueuePopsAtLeastOne(t *testing.T) {
	q := newQueue(1<<40, 0)
	a, _ := testItem(1, 100, 1)
	b, _ := testItem(2, 100, 1)
	q.push([]*item{a, b}, nil)
	require.Equal(t, []*item{a}, q.pop(1, nil))
}

func TestSnapshotsKeepPayloads(t *testing.T) {
	ring := newQueue(1000+2*itemOverhead, 0)
	first, firstFreed := testItem(1, 500, 1)
	ring.push([]*item{first}, nil)
	snapshot := ring.snapshot(nil)
	second, _ := testItem(2, 1000, 1)
	releaseAll(ring.push([]*item{second}, nil))
	require.Zero(t, *firstFreed, "the snapshot still holds the message that fell out of the ring")
	releaseAll(snapshot)
	require.Equal(t, 1, *firstFreed)
}

func TestQueuePushAndPopAllocateNothing(t *testing.T) {
	q := newQueue(1<<40, 0)
	it, _ := testItem(1, 100, 1)
	in, out := []*item{it}, make([]*item, 0, 1)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		in[0] = it
		q.push(in, nil)
		out = q.pop(1, out[:0])
	}))
}
