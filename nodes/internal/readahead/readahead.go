// Package readahead reads messages in a goroutine of its own, ahead of the goroutine that uses them.
package readahead

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"tapedeck/codec"
)

const (
	blockSize   = 1 << 20 // bytes of a block
	firstBlock  = 1 << 16 // bytes of the first block, which is small so that a seek is fast; the next ones grow
	messageCost = 64      // bytes that a message counts beside its payload
	keptSize    = 1 << 14 // payloads of at least so many bytes are not copied if they have a buffer
)

// Enough is how many bytes Each must read ahead to keep both goroutines busy.
const Enough = 4 << 20

// block is a run of messages with the memory of their payloads.
type block struct {
	messages []codec.Message
	data     []byte          // copies of payloads; earlier copies may be in other memory
	copied   int             // bytes of all copies
	kept     []*codec.Buffer // buffers of payloads that are not copied
	size     int64           // bytes that the block counts
	err      error           // error after the messages: io.EOF at the end
}

// reset empties the block, so that it can be filled again.
func (b *block) reset() {
	b.messages, b.data = b.messages[:0], b.data[:0]
	b.copied, b.size, b.err = 0, 0, nil
}

// add adds a message. It keeps the buffer of a large payload. before are the buffers of the previous block, which
// counts them.
func (b *block) add(m *codec.Message, before []*codec.Buffer) {
	b.size += messageCost
	b.messages = append(b.messages, *m)
	if m.Buffer != nil && len(m.Data) >= keptSize {
		b.keep(m.Buffer, before)
		return
	}
	added := &b.messages[len(b.messages)-1]
	added.Data, added.Buffer = b.copy(m.Data), nil
}

// keep retains the buffer of a payload, once for all payloads of the block.
func (b *block) keep(buffer *codec.Buffer, before []*codec.Buffer) {
	if slices.Contains(b.kept, buffer) {
		return
	}
	if !slices.Contains(before, buffer) {
		b.size += int64(buffer.Size())
	}
	b.kept = append(b.kept, buffer.Retain())
}

// copy copies a payload.
func (b *block) copy(data []byte) []byte {
	b.size += int64(len(data))
	b.copied += len(data)
	if len(data) > cap(b.data)-len(b.data) { // large enough for all copies the next time
		b.data = make([]byte, 0, max(b.copied+b.copied/8, 4096))
	}
	at := len(b.data)
	b.data = append(b.data, data...)
	return b.data[at:len(b.data):len(b.data)]
}

// release releases the buffers.
func (b *block) release() {
	for i, buffer := range b.kept {
		buffer.Release()
		b.kept[i] = nil
	}
	b.kept = b.kept[:0]
}

// Reader reads messages from an iterator in a goroutine of its own, so that its user does not wait for a slow disk. It
// reads ahead a bounded number of bytes, and at least one block. Next and Close are for one goroutine.
type Reader struct {
	iterator codec.Iterator
	size     int64         // bytes to read ahead
	ready    func()        // is called when there are more messages
	done     chan struct{} // closed when the iterator is no longer in use
	closed   atomic.Bool

	// partial is the block that is being filled, with at least one message, while the iterator reads the next message.
	// If no block is full, Next may take it, with mu held. Only the goroutine that fills blocks stores it.
	partial atomic.Pointer[block]
	starved atomic.Bool // Next found no block

	mu    sync.Mutex
	room  sync.Cond // there is room for another block
	full  []*block
	spare []*block // blocks that can be filled again
	ahead int64    // bytes in full
	kept  int64    // bytes of memory in spare

	current *block
	at      int // index in current
}

// New returns a Reader that reads about size bytes ahead. It owns the iterator. ready is called in another goroutine
// whenever there are more messages. It must not call the Reader.
func New(iterator codec.Iterator, size int64, ready func()) *Reader {
	r := &Reader{iterator: iterator, size: size, ready: ready, done: make(chan struct{}), current: new(block)}
	r.room.L = &r.mu
	go r.run()
	return r
}

func (r *Reader) run() {
	defer close(r.done)
	var before, kept []*codec.Buffer // buffers kept by the previous block, and by b
	next := func() *block {
		before, kept = kept, before[:0]
		return r.empty()
	}
	size := int64(firstBlock)
	for b := new(block); ; {
		m, err := r.iterator.Next()
		if len(b.messages) > 0 && r.partial.Swap(nil) == nil { // Next took b
			b = next()
		}
		b.err = err
		if err == nil {
			b.add(m, before)
			kept = append(kept, b.kept[len(kept):]...)
		}
		switch {
		case r.closed.Load():
			return
		case err == nil && b.size < size:
			r.partial.Store(b)
			if r.starved.Load() {
				r.starved.Store(false)
				r.ready()
			}
			continue
		case !r.put(b) || err != nil:
			return
		}
		b = next()
		size = min(2*size, blockSize)
	}
}

// put adds a full block once there is room for it. It reports false if the Reader was closed.
func (r *Reader) put(b *block) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.ahead > 0 && r.ahead+b.size > r.size && !r.closed.Load() {
		r.room.Wait()
	}
	if r.closed.Load() {
		return false
	}
	r.full = append(r.full, b)
	r.ahead += b.size
	r.ready()
	return true
}

// empty returns a block to be filled.
func (r *Reader) empty() *block {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.spare)
	if n == 0 {
		return new(block)
	}
	b := r.spare[n-1]
	r.spare = r.spare[:n-1]
	r.kept -= int64(cap(b.data))
	b.reset()
	return b
}

// get returns the next block, nil if there is none yet, and makes the current block a spare one. If partial is set, the
// block need not be full.
func (r *Reader) get(partial bool) *block {
	r.current.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b *block
	if len(r.full) > 0 {
		b = r.full[0]
		r.full = append(r.full[:0], r.full[1:]...)
		r.ahead -= b.size
		r.room.Signal()
	} else if partial {
		b = r.partial.Swap(nil)
		if b == nil {
			r.starved.Store(true)
			b = r.partial.Swap(nil) // run may have stored one before it could see starved
		}
	}
	if b == nil {
		return nil
	}
	if used := int64(cap(r.current.data)); len(r.spare) == 0 || r.kept+used <= r.size {
		r.spare = append(r.spare, r.current)
		r.kept += used
	}
	return b
}

// Next returns the next message, which is valid until the next call. It returns nil if the message was not read yet.
// After the last message it returns the error of the iterator.
func (r *Reader) Next() (*codec.Message, error) { return r.next(true) }

// next is Next. Without partial it only returns messages of full blocks.
func (r *Reader) next(partial bool) (*codec.Message, error) {
	for r.at == len(r.current.messages) {
		if r.current.err != nil {
			return nil, r.current.err
		}
		b := r.get(partial)
		if b == nil {
			return nil, nil
		}
		r.current, r.at = b, 0
	}
	m := &r.current.messages[r.at]
	r.at++
	return m, nil
}

// Close stops reading, after the message that is being read, and closes the iterator.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.closed.Store(true)
	r.room.Signal()
	r.mu.Unlock()
	<-r.done
	return r.iterator.Close()
}

// Each calls each visit with each message of the iterator, and closes it. Another goroutine reads about size bytes
// ahead. Each visit is called by one goroutine, concurrently with the others, and must not change a message. State that
// Query.Damaged sets may be used once Each has returned.
func Each(ctx context.Context, iterator codec.Iterator, size int64, visits ...func(*codec.Message) error) (err error) {
	more := make(chan struct{}, 1)
	r := New(iterator, size, func() {
		select {
		case more <- struct{}{}:
		default:
		}
	})
	defer func() { err = errors.Join(err, r.Close()) }()
	failures := make(chan error)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		messages, err := r.rest()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case messages == nil:
			select {
			case <-more:
			case <-ctx.Done():
			}
			continue
		}
		for _, visit := range visits[1:] {
			go func() { failures <- each(messages, visit) }()
		}
		err = each(messages, visits[0])
		for range visits[1:] {
			err = errors.Join(err, <-failures)
		}
		if err != nil {
			return err
		}
	}
}

// rest returns the remaining messages of a block, with the rules of Next.
func (r *Reader) rest() ([]codec.Message, error) {
	m, err := r.next(false)
	if m == nil {
		return nil, err
	}
	rest := r.current.messages[r.at-1:]
	r.at = len(r.current.messages)
	return rest, nil
}

// each calls visit with each message.
func each(messages []codec.Message, visit func(*codec.Message) error) error {
	for i := range messages {
		if err := visit(&messages[i]); err != nil {
			return err
		}
	}
	return nil
}
