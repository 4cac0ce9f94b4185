package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// push pushes an item and returns the dropped items. size is the size of the item, including Overhead.
func push(q *Queue, topic *Topic, receiveTime, size int64) []*Item {
	item, _ := testItem(topic, receiveTime, int(size-Overhead))
	return q.Push(topic, []*Item{item}, nil)
}

// TestQueueDropsTheOldest pushes 5001 items into a queue that holds 10 of them.
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
	require.Equal(t, q.MaxBytes, q.Bytes(), "popped items must count until Done")
	require.Len(t, push(q, a, 5000, 1000), 1, "popped items must leave no space for the new item")
	q.Done(10_000)
	require.Zero(t, q.Bytes())
}

// TestQueueDropsTooLargeItems checks that an item that is larger than the queue is dropped, and that other topics lose
// nothing, even if the priority of the large item's topic is higher.
func TestQueueDropsTooLargeItems(t *testing.T) {
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

// TestQueueDropsByAge checks that items are dropped after they have waited in the queue for longer than MaxAge. The
// time before the push does not count: a pause may delay the push of latched messages.
func TestQueueDropsByAge(t *testing.T) {
	q, a, b := New(1<<20), newTopic("/a"), newTopic("/b")
	q.MaxAge = 10
	for i := range int64(100) {
		receiveTime := 100 + 2*i
		dropped := push(q, a, receiveTime, 500)
		if i >= 6 {
			require.Len(t, dropped, 1)
			require.Equal(t, receiveTime-12, dropped[0].ReceiveTime)
		}
	}
	require.Empty(t, push(q, b, 3, 500), "an item that was received at 3 and pushed at 298 must be kept")
	require.Empty(t, push(q, b, 298, 500))
	require.Len(t, push(q, b, 304, 500), 3, "at 304 the queue must drop the items of 288, 290 and 292")
	var kept []int64
	for _, item := range q.Pop(1<<30, nil) {
		kept = append(kept, item.ReceiveTime)
	}
	require.Equal(t, []int64{294, 296, 298, 3, 298, 304}, kept)
	q.Done(6 * 500)
	require.Zero(t, q.Bytes())
	require.Empty(t, push(q, a, 1000, 500), "an empty queue has nothing to drop")
}

// TestQueueKeepsItemsBesideTooLargeItem checks that a too large item does not replace an older item of its topic.
func TestQueueKeepsItemsBesideTooLargeItem(t *testing.T) {
	q, a := New(1000), newTopic("/a")
	require.Empty(t, push(q, a, 1, 500))
	require.Len(t, push(q, a, 2, 2000), 1)
	require.Equal(t, int64(500), q.Bytes())
	require.Len(t, q.Pop(1, nil), 1)
}

// TestQueuePopsAtLeastOne checks that Pop returns the first item even if it is larger than maxBytes.
func TestQueuePopsAtLeastOne(t *testing.T) {
	q, a := New(1<<40), newTopic("/a")
	push(q, a, 1, 500)
	push(q, a, 2, 500)
	out := q.Pop(1, nil)
	require.Len(t, out, 1)
	require.Equal(t, int64(1), out[0].ReceiveTime)
}

// TestQueueIsFair checks that a topic with few bytes loses nothing when the queue overflows, and that topics with many
// bytes share the queue in proportion to their priorities.
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
			require.Zero(t, lost[imu], "the topic with the fewest bytes must lose nothing")
			require.Positive(t, lost[left], "the queue must have overflowed")
			require.InDelta(t, 4, float64(q.Waiting(right))/float64(q.Waiting(left)), 1,
				"/right has the fourfold priority of /left")
		}
	}
	// By now /imu has so many items in the queue that it loses messages, too.
	for topic, least := range map[*Topic]int64{imu: q.MaxBytes / 8, left: q.MaxBytes / 8, right: q.MaxBytes / 3} {
		require.Greater(t, q.Waiting(topic), least, "bytes in the queue")
	}
}

// TestQueueKeepsOrder pushes and pops random numbers of items of many topics. It checks that items are popped in the
// order in which they were pushed, that every item is popped or dropped, and that the queue drops items of a topic with
// one of the largest loads.
func TestQueueKeepsOrder(t *testing.T) {
	q := New(300_000)
	topics := make([]*Topic, 20)
	for i := range topics {
		topics[i] = newTopic(fmt.Sprint("/", i))
		topics[i].Priority = 1 + i%2
	}
	random := rand.New(rand.NewPCG(1, 2))
	pushed, removed, lastPopped := int64(0), 0, int64(-1)
	for range 8000 {
		for range random.IntN(20) {
			dropped := push(q, topics[random.IntN(len(topics))], pushed, Overhead+random.Int64N(3000))
			pushed++
			removed += len(dropped)
			if len(dropped) > 0 {
				requireLargeLoad(t, topics, dropped[len(dropped)-1])
			}
		}
		if random.IntN(50) == 0 {
			var bytes int64
			for _, item := range q.Pop(random.Int64N(400_000), nil) {
				if item.ReceiveTime <= lastPopped {
					t.Fatalf("item %d was popped after item %d", item.ReceiveTime, lastPopped)
				}
				lastPopped = item.ReceiveTime
				bytes += item.Size()
				removed++
			}
			q.Done(bytes)
		}
		require.LessOrEqual(t, q.Bytes(), q.MaxBytes)
	}
	removed += len(q.Pop(1<<40, nil))
	require.Equal(t, int(pushed), removed, "every item must be popped or dropped")
	for _, topic := range topics {
		require.Equal(t, share{}, topic.queued, "an empty queue must have no items of any topic")
	}
	require.Empty(t, q.topics)
	require.LessOrEqual(t, len(q.ring), 4096, "the ring must reuse the places of dropped items")
}

// requireLargeLoad checks that, before item was dropped, the load of its topic was at least four fifths of the largest
// load.
func requireLargeLoad(t *testing.T, topics []*Topic, item *Item) {
	var largest float64
	for _, topic := range topics {
		largest = max(largest, topic.load())
	}
	load := item.Topic.load() + float64(item.Size())/float64(item.Topic.Priority)
	if load < largest*.8 {
		t.Fatalf("the queue dropped an item of a topic with the load %v; the largest load is %v", load, largest)
	}
}

// TestQueueAllocatesNothing checks that Push does not allocate memory when each new item replaces an older one.
func TestQueueAllocatesNothing(t *testing.T) {
	q, a, b := New(10_000), newTopic("/a"), newTopic("/b")
	pushed, dropped := make([]*Item, 1), make([]*Item, 0, 4)
	free := make([]*Item, 0, 100) // items to push; the queue returns them by dropping them
	for i := range int64(20) {
		item, _ := testItem(a, i, 1000-Overhead)
		free = append(free, item)
	}
	push(q, b, 0, 500)
	require.Zero(t, testing.AllocsPerRun(10_000, func() {
		pushed[0], free = free[len(free)-1], free[:len(free)-1]
		free = append(free, q.Push(a, pushed, dropped[:0])...)
	}))
}
