package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// push pushes an item received at t, of size bytes with overhead, and returns the dropped items.
func push(q *Queue, topic *Topic, t, size int64) []*Item {
	item, _ := testItem(topic, t, int(size-Overhead))
	return q.Push(topic, []*Item{item}, nil)
}

func TestQueueDropsTheOldest(t *testing.T) {
	q, a := New(10_000), newTopic("/a")
	for i := range int64(5000) {
		dropped := push(q, a, i, 1000)
		require.LessOrEqual(t, q.Bytes(), q.MaxBytes)
		if i >= 10 {
			require.Len(t, dropped, 1)
			require.Equal(t, i-10, dropped[0].ReceiveTime)
		}
	}
	kept := q.Pop(1<<30, nil)
	require.Len(t, kept, 10)
	require.Equal(t, int64(4990), kept[0].ReceiveTime)
	require.Equal(t, q.MaxBytes, q.Bytes(), "what was popped is in memory still")
	require.Len(t, push(q, a, 5000, 1000), 1)
	q.Done(10_000)
	require.Zero(t, q.Bytes())
}

// If a message is larger than the queue, no other topic loses a message, whatever the priorities.
func TestQueueRefusesWhatIsTooLarge(t *testing.T) {
	q, small, huge := New(10_000), newTopic("/small"), newTopic("/huge")
	huge.Priority = 1000
	for i := range int64(10) {
		require.Empty(t, push(q, small, i, 1000))
		dropped := push(q, huge, i, 10_001)
		require.Len(t, dropped, 1)
		require.Equal(t, huge, dropped[0].Topic)
	}
	require.Equal(t, q.MaxBytes, q.Bytes())
	require.Len(t, q.Pop(1<<30, nil), 10)
}

// Items that wait for too long are dropped, but not items that were received long before they came, as latched messages
// after a pause are.
func TestQueueDropsByAge(t *testing.T) {
	q, a, b := New(1<<20), newTopic("/a"), newTopic("/b")
	q.MaxAge = 10
	for i := range int64(100) {
		dropped := push(q, a, 100+2*i, 500)
		if i >= 6 {
			require.Len(t, dropped, 1)
			require.Equal(t, 100+2*i-12, dropped[0].ReceiveTime)
		}
	}
	require.Empty(t, push(q, b, 3, 500))
	require.Empty(t, push(q, b, 298, 500))
	require.Len(t, push(q, b, 304, 500), 3)
	var kept []int64
	for _, item := range q.Pop(1<<30, nil) {
		kept = append(kept, item.ReceiveTime)
	}
	require.Equal(t, []int64{294, 296, 298, 3, 298, 304}, kept)
	q.Done(6 * 500)
	require.Zero(t, q.Bytes())
	require.Empty(t, push(q, a, 1000, 500))
}

func TestQueueDropsWhatNeverFits(t *testing.T) {
	q, a := New(1000), newTopic("/a")
	require.Empty(t, push(q, a, 1, 500))
	require.Len(t, push(q, a, 2, 2000), 1)
	require.Equal(t, int64(500), q.Bytes())
	require.Len(t, q.Pop(1, nil), 1)
}

func TestQueuePopsAtLeastOne(t *testing.T) {
	q, a := New(1<<40), newTopic("/a")
	push(q, a, 1, 500)
	push(q, a, 2, 500)
	out := q.Pop(1, nil)
	require.Len(t, out, 1)
	require.Equal(t, int64(1), out[0].ReceiveTime)
}

// Topics with few bytes lose nothing, and the others lose messages by their priorities.
func TestQueueIsFair(t *testing.T) {
	q, imu, left := New(1<<20), newTopic("/imu"), newTopic("/left")
	right := newTopic("/right")
	right.Priority = 4
	lost := map[*Topic]int{}
	for i := range int64(2000) {
		for _, topic := range []*Topic{left, right} {
			for _, item := range push(q, topic, i, 10_000) {
				lost[item.Topic]++
			}
		}
		for range 5 {
			for _, item := range push(q, imu, i, 300) {
				lost[item.Topic]++
			}
		}
		if i == 100 {
			require.Zero(t, lost[imu], "the topic with the fewest bytes lost messages")
			require.Positive(t, lost[left])
			require.InDelta(t, 4, float64(q.Waiting(right))/float64(q.Waiting(left)), 1)
		}
	}
	for topic, least := range map[*Topic]int64{imu: q.MaxBytes / 8, left: q.MaxBytes / 8, right: q.MaxBytes / 3} {
		require.Greater(t, q.Waiting(topic), least)
	}
}

// Items always leave in the order in which they came, none is lost, and items are dropped from a topic that has at
// least four fifths of the bytes of any other.
func TestQueueKeepsOrder(t *testing.T) {
	q := New(300_000)
	topics := make([]*Topic, 20)
	for i := range topics {
		topics[i] = newTopic(fmt.Sprint("/", i))
		topics[i].Priority = 1 + i%2
	}
	random := rand.New(rand.NewPCG(1, 2))
	pushed, gone, last := int64(0), 0, int64(-1)
	for range 8000 {
		for range random.IntN(20) {
			dropped := push(q, topics[random.IntN(len(topics))], pushed, Overhead+random.Int64N(3000))
			pushed++
			gone += len(dropped)
			if len(dropped) > 0 {
				item := dropped[len(dropped)-1]
				most := 0.
				for _, topic := range topics {
					most = max(most, topic.load())
				}
				if load := item.Topic.load() + float64(item.Size())/float64(item.Topic.Priority); load < most*.8 {
					require.GreaterOrEqual(t, load, most*.8)
				}
			}
		}
		if random.IntN(50) == 0 {
			var bytes int64
			for _, item := range q.Pop(random.Int64N(400_000), nil) {
				if item.ReceiveTime <= last {
					require.Greater(t, item.ReceiveTime, last)
				}
				last = item.ReceiveTime
				bytes += item.Size()
				gone++
			}
			q.Done(bytes)
		}
		if q.Bytes() > q.MaxBytes {
			require.LessOrEqual(t, q.Bytes(), q.MaxBytes)
		}
	}
	gone += len(q.Pop(1<<40, nil))
	require.Equal(t, int(pushed), gone)
	for _, topic := range topics {
		require.Equal(t, share{}, topic.queued)
	}
	require.Empty(t, q.topics)
	require.LessOrEqual(t, len(q.ring), 4096, "what was dropped leaves no gaps for long")
}

func TestQueueAllocatesNothing(t *testing.T) {
	q, a, b := New(10_000), newTopic("/a"), newTopic("/b")
	in, out := make([]*Item, 1), make([]*Item, 0, 4)
	free := make([]*Item, 0, 100)
	for i := range int64(20) {
		item, _ := testItem(a, i, 1000-Overhead)
		free = append(free, item)
	}
	push(q, b, 0, 500)
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		in[0], free = free[len(free)-1], free[:len(free)-1]
		free = append(free, q.Push(a, in, out[:0])...)
	}))
}
