package main

import (
	"math"
	"math/bits"
	"sync"
)

// backlog is what waits for the disk: items in the order of their reception, with a bound in bytes. When they are more,
// the topic that takes the most memory, as its priority counts it, gives up its oldest. Its lock is never held during
// input or output, and nothing takes longer the more items or topics there are.
type backlog struct {
	maxBytes int64

	mu     sync.Mutex
	ring   []*item // a power of two long; nil where an item was given up
	first  uint64  // position of the oldest; ring[position modulo length] is there
	next   uint64  // position of the next one
	count  int     // of items
	bytes  int64   // of items, and of those that were popped and are not done with
	levels levels
}

func newBacklog(maxBytes int64) *backlog {
	return &backlog{maxBytes: maxBytes, ring: make([]*item, 1024)}
}

// share is what one topic has in a backlog. The backlog's lock guards it.
type share struct {
	weight         float64 // 1/priority; 0 is 1
	bytes          int64
	oldest, newest *item
	level          int // 0: it has nothing
	before, after  *share
}

// push appends a list of items of one topic. What is given up for them, maybe they themselves, is appended to out,
// which is returned; the caller owns its references.
func (b *backlog) push(s *share, list, out []*item) []*item {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range list {
		if b.next-b.first == uint64(len(b.ring)) {
			b.makeRoom()
		}
		b.ring[b.next&uint64(len(b.ring)-1)] = it
		it.position = b.next
		b.next++
		b.count++
		if s.newest == nil {
			s.oldest = it
		} else {
			s.newest.newer = it
		}
		s.newest = it
		size := it.size()
		s.bytes += size
		b.bytes += size
	}
	b.levels.update(s)
	for b.bytes > b.maxBytes && b.count > 0 {
		out = append(out, b.give())
	}
	return out
}

// give takes out the oldest item of the topic that has most.
func (b *backlog) give() *item {
	s := b.levels.top()
	it := s.oldest
	b.remove(it, s)
	b.bytes -= it.size()
	b.levels.update(s)
	return it
}

// remove takes out the oldest item of s.
func (b *backlog) remove(it *item, s *share) {
	b.ring[it.position&uint64(len(b.ring)-1)] = nil
	b.count--
	s.bytes -= it.size()
	s.oldest = it.newer
	it.newer = nil
	if s.oldest == nil {
		s.newest = nil
	}
}

// pop moves items worth up to maxBytes, at least one if there is one, to out. They count until done.
func (b *backlog) pop(maxBytes int64, out []*item) []*item {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s *share
	for taken := int64(0); b.count > 0 && taken < maxBytes; b.first++ {
		it := b.ring[b.first&uint64(len(b.ring)-1)]
		if it == nil {
			continue
		}
		taken += it.size()
		if owner := &it.stream.share; owner != s {
			if s != nil {
				b.levels.update(s)
			}
			s = owner
		}
		b.remove(it, s)
		out = append(out, it)
	}
	if s != nil {
		b.levels.update(s)
	}
	if b.count == 0 {
		b.first = b.next
	}
	return out
}

// done says that popped items of that many bytes do not take memory any more.
func (b *backlog) done(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes -= bytes
}

// filled returns how much of the bound is in use, in bytes.
func (b *backlog) filled() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes
}

// waiting returns how many bytes of a topic wait.
func (b *backlog) waiting(s *share) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return s.bytes
}

// makeRoom closes the gaps in the ring or, when they are few, makes it twice as long.
func (b *backlog) makeRoom() {
	ring := b.ring
	if b.count > len(ring)/2 {
		ring = make([]*item, 2*len(ring))
	}
	position := b.first
	for p := b.first; p != b.next; p++ {
		it := b.ring[p&uint64(len(b.ring)-1)]
		b.ring[p&uint64(len(b.ring)-1)] = nil
		if it != nil {
			it.position = position
			ring[position&uint64(len(ring)-1)] = it
			position++
		}
	}
	b.ring, b.next = ring, position
}

// levels sort shares by how much they have, roughly: those of one level differ by less than a fifth. The zero value is
// ready.
type levels struct {
	heads  [256]struct{ first, last *share }
	filled [4]uint64 // a bit for each level that has shares
}

// lowest is the level of 2^-16 bytes: level doubles its bytes every 4.
const lowest = (1023 - 16) << 2

// update puts s where its bytes belong.
func (l *levels) update(s *share) {
	level := 0
	if s.bytes > 0 {
		weight := s.weight
		if weight == 0 {
			weight = 1
		}
		// The exponent and two bits of the mantissa.
		level = min(max(int(math.Float64bits(float64(s.bytes)*weight)>>50)-lowest, 1), len(l.heads)-1)
	}
	if level == s.level {
		return
	}
	if s.level > 0 {
		l.unlink(s)
	}
	if s.level = level; level == 0 {
		return
	}
	head := &l.heads[level]
	if s.before = head.last; s.before == nil {
		head.first = s
		l.filled[level/64] |= 1 << (level % 64)
	} else {
		s.before.after = s
	}
	head.last = s
}

func (l *levels) unlink(s *share) {
	head := &l.heads[s.level]
	if s.before == nil {
		head.first = s.after
	} else {
		s.before.after = s.after
	}
	if s.after == nil {
		head.last = s.before
	} else {
		s.after.before = s.before
	}
	s.before, s.after = nil, nil
	if head.first == nil {
		l.filled[s.level/64] &^= 1 << (s.level % 64)
	}
}

// top returns a share of the highest level, nil if there is none.
func (l *levels) top() *share {
	for i := len(l.filled) - 1; i >= 0; i-- {
		if l.filled[i] != 0 {
			return l.heads[64*i+bits.Len64(l.filled[i])-1].first
		}
	}
	return nil
}
