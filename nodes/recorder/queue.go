package main

import (
	"math"
	"sync"
	"time"
)

// queue is a first-in first-out queue of items with a bound in bytes and, for the snapshot ring, one in time. What is
// over the bounds falls out at the old end. Its lock is never held during input or output.
type queue struct {
	maxBytes int64
	maxAge   time.Duration // of the oldest against the newest item; 0: no bound
	ready    chan struct{} // has a value after items came into an empty queue

	mu    sync.Mutex
	ring  []*item // a power of two long
	first int     // index of the oldest
	count int
	bytes int64
}

func newQueue(maxBytes int64, maxAge time.Duration) *queue {
	return &queue{maxBytes: maxBytes, maxAge: maxAge, ready: make(chan struct{}, 1), ring: make([]*item, 1024)}
}

// push appends list. What falls out is appended to out, which is returned; the caller owns its references.
func (q *queue) push(list, out []*item) []*item {
	q.mu.Lock()
	wasEmpty := q.count == 0
	for _, it := range list {
		if q.count == len(q.ring) {
			q.grow()
		}
		q.ring[(q.first+q.count)&(len(q.ring)-1)] = it
		q.count++
		q.bytes += it.size()
		for q.count > 0 && (q.bytes > q.maxBytes || q.maxAge > 0 && it.receiveTime-q.ring[q.first].receiveTime > int64(q.maxAge)) {
			out = append(out, q.shift())
		}
	}
	wake := wasEmpty && q.count > 0
	q.mu.Unlock()
	if wake {
		select {
		case q.ready <- struct{}{}:
		default:
		}
	}
	return out
}

// pop moves items worth up to maxBytes, at least one if there is one, to out.
func (q *queue) pop(maxBytes int64, out []*item) []*item {
	q.mu.Lock()
	defer q.mu.Unlock()
	for taken := int64(0); q.count > 0 && taken < maxBytes; {
		taken += q.ring[q.first].size()
		out = append(out, q.shift())
	}
	return out
}

// snapshot appends the items to out, each with one reference more, and leaves them where they are.
func (q *queue) snapshot(out []*item) []*item {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.count {
		it := q.ring[(q.first+i)&(len(q.ring)-1)]
		it.refs.Add(1)
		out = append(out, it)
	}
	return out
}

// since returns the receive time of the oldest item, math.MaxInt64 without any.
func (q *queue) since() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == 0 {
		return math.MaxInt64
	}
	return q.ring[q.first].receiveTime
}

// filled returns how much of the bound is in use, in bytes.
func (q *queue) filled() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}

func (q *queue) shift() *item {
	it := q.ring[q.first]
	q.ring[q.first] = nil
	q.first = (q.first + 1) & (len(q.ring) - 1)
	q.count--
	q.bytes -= it.size()
	return it
}

func (q *queue) grow() {
	ring := make([]*item, 2*len(q.ring))
	n := copy(ring, q.ring[q.first:])
	copy(ring[n:], q.ring[:q.first])
	q.ring, q.first = ring, 0
}
