package main

import (
	"errors"

	"tapedeck/codec"
)

// blockSize is the payload bytes that are read ahead at once.
const blockSize = 1 << 20

// block is a run of messages with the memory that their payloads lie in.
type block struct {
	messages []codec.Message
	data     []byte
	err      error // what ended the reading behind the messages: io.EOF or worse
}

// add copies m into b.
func (b *block) add(m *codec.Message) {
	begin := len(b.data)
	b.data = append(b.data, m.Data...)
	b.messages = append(b.messages, *m)
	// Payloads are cut out of data when the block is full: until then it may move.
	b.messages[len(b.messages)-1].Data = b.data[begin:len(b.data):len(b.data)]
}

func (b *block) seal() {
	at := 0
	for i := range b.messages {
		n := len(b.messages[i].Data)
		b.messages[i].Data = b.data[at : at+n : at+n]
		at += n
	}
}

// readAhead reads messages from an iterator in a goroutine of its own, so that a slow disk does not delay playing.
type readAhead struct {
	full, empty chan *block
	stop        chan struct{}
	done        chan struct{}
	current     *block
	next        int
}

// newReadAhead reads it up to about size bytes ahead. Close ends it; the iterator stays the caller's.
func newReadAhead(it codec.Iterator, size int64) *readAhead {
	blocks := max(2, int(size/blockSize))
	r := &readAhead{
		full: make(chan *block, blocks), empty: make(chan *block, blocks),
		stop: make(chan struct{}), done: make(chan struct{}), current: new(block),
	}
	for range blocks {
		r.empty <- new(block)
	}
	go r.fill(it)
	return r
}

func (r *readAhead) fill(it codec.Iterator) {
	defer close(r.done)
	for {
		var b *block
		select {
		case b = <-r.empty:
		case <-r.stop:
			return
		}
		b.messages, b.data, b.err = b.messages[:0], b.data[:0], nil
		for b.err == nil && len(b.data) < blockSize && len(b.messages) < 4096 {
			m, err := it.Next()
			if err != nil {
				b.err = err
				break
			}
			b.add(m)
		}
		b.seal()
		r.full <- b // has room for all blocks
		if b.err != nil {
			return
		}
	}
}

// Next returns the next message, valid until the next call, or what the iterator ended with.
func (r *readAhead) Next() (*codec.Message, error) {
	for r.next == len(r.current.messages) {
		if r.current.err != nil {
			return nil, r.current.err
		}
		if cap(r.current.messages) > 0 {
			r.empty <- r.current // has room for all blocks
		}
		select {
		case r.current = <-r.full:
		case <-r.stop:
			return nil, errors.New("read ahead: closed")
		}
		r.next = 0
	}
	m := &r.current.messages[r.next]
	r.next++
	return m, nil
}

// Close ends the reading ahead and returns when the iterator is not in use any more.
func (r *readAhead) Close() error {
	close(r.stop)
	<-r.done
	return nil
}

var _ codec.Iterator = (*readAhead)(nil)
