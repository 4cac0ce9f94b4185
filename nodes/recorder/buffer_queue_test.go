package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// push puts a message of size bytes, overhead included, received at t, into the backlog and returns what was given up.
func push(b *backlog, s *stream, t, size int64) []*item {
	it, _ := testItem(t, int(size-itemOverhead), 1)
	it.stream = s
	return b.push(&s.share, []*item{it}, nil)
}

func TestBacklogGivesUpTheOldest(t *testing.T) {
	b := newBacklog(10_000)
	s := newTestStream("/a", b)
	for i := range int64(5000) {
		out := push(b, s, i, 1000)
		require.LessOrEqual(t, b.filled(), b.maxBytes)
		if i >= 10 {
			require.Len(t, out, 1)
			require.Equal(t, i-10, out[0].receiveTime)
		}
	}
	kept := b.pop(1<<30, nil)
	require.Len(t, kept, 10)
	require.Equal(t, int64(4990), kept[0].receiveTime)
	require.Equal(t, b.maxBytes, b.filled(), "what was popped is in memory still")
	require.Len(t, push(b, s, 5000, 1000), 1)
	b.done(10_000)
	require.Zero(t, b.filled())
}

func TestBacklogGivesUpWhatNeverFits(t *testing.T) {
	b := newBacklog(1000)
	s := newTestStream("/a", b)
	require.Empty(t, push(b, s, 1, 500))
	out := push(b, s, 2, 2000)
	require.Len(t, out, 2)
	require.Zero(t, b.filled())
	require.Empty(t, b.pop(1, nil))
}

func TestBacklogPopsAtLeastOne(t *testing.T) {
	b := newBacklog(1 << 40)
	s := newTestStream("/a", b)
	push(b, s, 1, 500)
	push(b, s, 2, 500)
	out := b.pop(1, nil)
	require.Len(t, out, 1)
	require.Equal(t, int64(1), out[0].receiveTime)
}

// Who takes little loses nothing, and the others lose about as much as their priorities say.
func TestBacklogIsFair(t *testing.T) {
	b := newBacklog(1 << 20)
	imu, left, right := newTestStream("/imu", b), newTestStream("/left", b), newTestStream("/right", b)
	right.share.weight = 1. / 4
	lost := map[*stream]int{}
	for i := range int64(2000) {
		for _, s := range []*stream{left, right} {
			for _, it := range push(b, s, i, 10_000) {
				lost[it.stream]++
			}
		}
		for range 5 {
			for _, it := range push(b, imu, i, 300) {
				lost[it.stream]++
			}
		}
		if i == 100 {
			require.Zero(t, lost[imu], "it takes less than any of the others")
			require.Positive(t, lost[left])
			require.InDelta(t, 4, float64(right.share.bytes)/float64(left.share.bytes), 1)
		}
	}
	for s, least := range map[*stream]int64{imu: b.maxBytes / 8, left: b.maxBytes / 8, right: b.maxBytes / 3} {
		require.Greater(t, s.share.bytes, least)
	}
}

// Whatever happens, items leave in the order in which they came, and none is forgotten.
func TestBacklogKeepsOrder(t *testing.T) {
	b := newBacklog(300_000)
	streams := make([]*stream, 20)
	for i := range streams {
		streams[i] = newTestStream(fmt.Sprint("/", i), b)
	}
	random := rand.New(rand.NewPCG(1, 2))
	pushed, gone, last := int64(0), 0, int64(-1)
	for range 20_000 {
		for range random.IntN(20) {
			out := push(b, streams[random.IntN(len(streams))], pushed, itemOverhead+random.Int64N(3000))
			pushed++
			gone += len(out)
		}
		if random.IntN(50) == 0 {
			var bytes int64
			for _, it := range b.pop(random.Int64N(400_000), nil) {
				require.Greater(t, it.receiveTime, last)
				last = it.receiveTime
				bytes += it.size()
				gone++
			}
			b.done(bytes)
		}
		require.LessOrEqual(t, b.filled(), b.maxBytes)
	}
	gone += len(b.pop(1<<40, nil))
	require.Equal(t, int(pushed), gone)
	for _, s := range streams {
		require.Zero(t, s.share.bytes)
		require.Nil(t, s.share.oldest)
		require.Zero(t, s.share.level)
	}
	require.Nil(t, b.levels.top())
	require.LessOrEqual(t, len(b.ring), 4096, "what was given up leaves no gaps for long")
}

func TestBacklogAllocatesNothing(t *testing.T) {
	b := newBacklog(10_000)
	s, other := newTestStream("/a", b), newTestStream("/b", b)
	in, out := make([]*item, 1), make([]*item, 0, 4)
	free := make([]*item, 0, 100)
	for i := range int64(20) {
		it, _ := testItem(i, 1000-itemOverhead, 1)
		it.stream = s
		free = append(free, it)
	}
	push(b, other, 0, 500)
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		in[0], free = free[len(free)-1], free[:len(free)-1]
		free = append(free, b.push(&s.share, in, out[:0])...)
	}))
}
