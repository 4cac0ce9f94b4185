package main

import (
	"errors"
	"sync"

	"tapedeck/codec"
)

const (
	blockSize   = 1 << 20 // bytes that are read ahead at once
	messageCost = 64      // bytes that a message counts for beside its payload
)

// block is a run of messages with the memory that their payloads lie in.
type block struct {
	messages []codec.Message
	data     []byte
	size     int64 // what it counts for, in bytes
	err      error // what ended the reading behind the messages: io.EOF or worse
}

// fill takes messages from it until the block is full or they end.
func (b *block) fill(it codec.Iterator) {
	b.messages, b.data, b.size, b.err = b.messages[:0], b.data[:0], 0, nil
	for b.size < blockSize {
		m, err := it.Next()
		if err != nil {
			b.err = err
			break
		}
		b.messages = append(b.messages, *m)
		b.data = append(b.data, m.Data...)
		b.size += int64(len(m.Data)) + messageCost
	}
	at := 0
	for i := range b.messages { // now that data does not move any more
		n := len(b.messages[i].Data)
		b.messages[i].Data = b.data[at : at+n : at+n]
		at += n
	}
}

// readAhead reads messages from an iterator in a goroutine of its own, so that a slow disk does not delay playing. What
// is read ahead is bounded in bytes, and is one block at least.
type readAhead struct {
	size int64
	done chan struct{} // closed when the iterator is not in use any more

	mu      sync.Mutex
	changed sync.Cond
	full    []*block
	spare   []*block // to be filled again
	ahead   int64    // bytes in full
	closed  bool

	current *block
	next    int // in current
}

// newReadAhead reads it up to about size bytes ahead. Close ends it; the iterator stays the caller's.
func newReadAhead(it codec.Iterator, size int64) *readAhead {
	r := &readAhead{size: size, done: make(chan struct{}), current: new(block)}
	r.changed.L = &r.mu
	go r.run(it)
	return r
}

func (r *readAhead) run(it codec.Iterator) {
	defer close(r.done)
	for b := new(block); b != nil; b = r.put(b) {
		b.fill(it)
	}
}

// put hands over a block as soon as there is room for it, and returns one to be filled next: nil when there is none.
func (r *readAhead) put(b *block) *block {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.ahead > 0 && r.ahead+b.size > r.size && !r.closed {
		r.changed.Wait()
	}
	if r.closed {
		return nil
	}
	r.full = append(r.full, b)
	r.ahead += b.size
	r.changed.Broadcast()
	if b.err != nil {
		return nil
	}
	if n := len(r.spare); n > 0 {
		b, r.spare = r.spare[n-1], r.spare[:n-1]
		return b
	}
	return new(block)
}

// get returns the next block, and takes back the one before it.
func (r *readAhead) get(used *block) *block {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cap(used.data) <= 2*blockSize { // memory of large messages is not kept
		r.spare = append(r.spare, used)
	}
	for len(r.full) == 0 && !r.closed {
		r.changed.Wait()
	}
	if r.closed {
		return &block{err: errors.New("read ahead: it is closed")}
	}
	b := r.full[0]
	r.full = append(r.full[:0], r.full[1:]...)
	r.ahead -= b.size
	r.changed.Broadcast()
	return b
}

// Next returns the next message, valid until the next call, or what the iterator ended with.
func (r *readAhead) Next() (*codec.Message, error) {
	for r.next == len(r.current.messages) {
		if r.current.err != nil {
			return nil, r.current.err
		}
		r.current, r.next = r.get(r.current), 0
	}
	m := &r.current.messages[r.next]
	r.next++
	return m, nil
}

// Close ends the reading ahead and returns when the iterator is not in use any more.
func (r *readAhead) Close() error {
	r.mu.Lock()
	r.closed = true
	r.changed.Broadcast()
	r.mu.Unlock()
	<-r.done
	return nil
}

var _ codec.Iterator = (*readAhead)(nil)
