package queue

import (
	"sync"
	"time"
)

// Queue holds items that wait for the disk, in the order in which they came, with a bound in bytes. Beyond the bound
// the topic with the most bytes, divided by its priority, loses its oldest items. An item that is larger than the bound
// is dropped at once. The lock is never held during input or output.
type Queue struct {
	MaxBytes int64
	MaxAge   time.Duration // older items are dropped; 0: none are

	mu    sync.Mutex
	ring  []*Item // item with position p at p modulo length, nil if it was dropped; the length is a power of two
	first uint64  // position of the oldest item
	next  uint64  // position of the next item to come
	count int     // number of items
	bytes int64   // size of the items in the queue, and of popped items before Done
	now   int64   // the latest receive time of an item so far

	topics  []*Topic // topics that have items, and some that had
	largest *Topic   // a topic with a load of at least minimum; nil: unknown
	minimum float64  // at most four fifths of the largest load of a topic
}

// New returns an empty queue that holds maxBytes.
func New(maxBytes int64) *Queue { return &Queue{MaxBytes: maxBytes, ring: make([]*Item, 1024)} }

// Push appends items of one topic, with their references. It appends the items that it drops to dropped, perhaps some
// of list, and returns dropped.
func (q *Queue) Push(t *Topic, list, dropped []*Item) []*Item {
	if len(list) == 0 {
		return dropped
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !t.queued.listed {
		t.queued.listed = true
		q.topics = append(q.topics, t)
	}
	for _, item := range list {
		if item.Size() > q.MaxBytes {
			dropped = append(dropped, item)
			continue
		}
		if q.next-q.first == uint64(len(q.ring)) {
			q.makeRoom()
		}
		q.ring[q.next&uint64(len(q.ring)-1)] = item
		q.now = max(q.now, item.ReceiveTime)
		item.position, item.since = q.next, q.now
		q.next++
		q.count++
		if t.queued.newest == nil {
			t.queued.oldest = item
		} else {
			t.queued.newest.newer = item
		}
		t.queued.newest = item
		size := item.Size()
		t.queued.bytes += size
		q.bytes += size
	}
	if load := t.load(); q.largest != nil && load >= q.largest.load() {
		q.largest, q.minimum = t, max(q.minimum, load*4/5)
	}
	for q.bytes > q.MaxBytes && q.count > 0 {
		dropped = q.drop(q.top().queued.oldest, dropped)
	}
	for ; q.MaxAge > 0 && q.count > 0; q.first++ {
		if item := q.ring[q.first&uint64(len(q.ring)-1)]; item != nil && q.now-item.since <= int64(q.MaxAge) {
			break
		} else if item != nil {
			dropped = q.drop(item, dropped)
		}
	}
	return dropped
}

// drop removes the oldest item of a topic and appends it to dropped.
func (q *Queue) drop(item *Item, dropped []*Item) []*Item {
	q.remove(item)
	q.bytes -= item.Size()
	return append(dropped, item)
}

// load returns the bytes of the topic in the queue, divided by its priority.
func (t *Topic) load() float64 { return float64(t.queued.bytes) / float64(t.Priority) }

// top returns the topic with the largest load, or one with up to a fifth less. Only Push makes loads larger, so top
// searches all topics only after the largest load has shrunk by a fifth. With 500 topics and 16 MiB of small messages
// that takes 50 ns for each dropped item (BenchmarkOverload).
func (q *Queue) top() *Topic {
	if q.largest != nil && q.largest.load() >= q.minimum && q.largest.queued.oldest != nil {
		return q.largest
	}
	used := q.topics[:0]
	q.largest, q.minimum = nil, 0
	for _, t := range q.topics {
		if t.queued.oldest == nil {
			t.queued.listed = false
			continue
		}
		used = append(used, t)
		if load := t.load(); q.largest == nil || load > q.minimum {
			q.largest, q.minimum = t, load
		}
	}
	clear(q.topics[len(used):])
	q.topics = used
	q.minimum *= 4. / 5
	return q.largest
}

// remove removes the oldest item of a topic. Its bytes still count.
func (q *Queue) remove(item *Item) {
	t := item.Topic
	q.ring[item.position&uint64(len(q.ring)-1)] = nil
	q.count--
	t.queued.bytes -= item.Size()
	t.queued.oldest = item.newer
	item.newer = nil
	if t.queued.oldest == nil {
		t.queued.newest = nil
	}
}

// Pop moves items of up to maxBytes, or the first one if it is larger, to out. Their bytes count until Done.
func (q *Queue) Pop(maxBytes int64, out []*Item) []*Item {
	q.mu.Lock()
	defer q.mu.Unlock()
	for taken := int64(0); q.count > 0 && taken < maxBytes; q.first++ {
		item := q.ring[q.first&uint64(len(q.ring)-1)]
		if item == nil {
			continue
		}
		taken += item.Size()
		q.remove(item)
		out = append(out, item)
	}
	if q.count == 0 {
		q.first = q.next
		q.top() // removes topics without items from the list
	}
	return out
}

// Done is called when popped items of so many bytes were released.
func (q *Queue) Done(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= bytes
}

// Bytes returns how many bytes of the bound are in use.
func (q *Queue) Bytes() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

// Waiting returns the bytes of a topic in the queue.
func (q *Queue) Waiting(t *Topic) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return t.queued.bytes
}

// makeRoom closes the gaps in the ring, and doubles its length if less than half of it are gaps.
func (q *Queue) makeRoom() {
	ring := q.ring
	if q.count > len(ring)/2 {
		ring = make([]*Item, 2*len(ring))
	}
	position := q.first
	for p := q.first; p != q.next; p++ {
		item := q.ring[p&uint64(len(q.ring)-1)]
		q.ring[p&uint64(len(q.ring)-1)] = nil
		if item != nil {
			item.position = position
			ring[position&uint64(len(ring)-1)] = item
			position++
		}
	}
	q.ring, q.next = ring, position
}
