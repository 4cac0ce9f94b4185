// Package readahead reads messages in a goroutine of its own, ahead of the one that needs them.
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
	blockSize   = 1 << 20 // bytes that are read ahead at once
	firstBlock  = 1 << 16 // likewise at first, and then more and more: a seek does not wait for a whole block
	messageCost = 64      // bytes that a message counts for beside its payload
	keptSize    = 1 << 14 // payloads from this size on are not copied, if they can be kept
)

// Enough is how many bytes Each needs to read ahead for both to be busy.
const Enough = 4 << 20

// block is a run of messages with the memory that their payloads lie in.
type block struct {
	messages []codec.Message
	data     []byte          // copies of payloads; if there is more than one piece of memory, the last one
	copied   int             // bytes of them
	kept     []*codec.Buffer // the others
	size     int64           // what it counts for, in bytes
	err      error           // what ended the reading behind the messages: io.EOF or worse
}

// reset empties the block, to be filled again.
func (b *block) reset() {
	b.messages, b.data = b.messages[:0], b.data[:0]
	b.copied, b.size, b.err = 0, 0, nil
}

// add takes in a message. A large payload is kept where it is; before are the buffers that the block before this one
// keeps, which are counted there.
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
	if len(data) > cap(b.data)-len(b.data) { // next time, all will fit
		b.data = make([]byte, 0, max(b.copied+b.copied/8, 4096))
	}
	at := len(b.data)
	b.data = append(b.data, data...)
	return b.data[at:len(b.data):len(b.data)]
}

// release gives the buffers back.
func (b *block) release() {
	for i, buffer := range b.kept {
		buffer.Release()
		b.kept[i] = nil
	}
	b.kept = b.kept[:0]
}

// Reader reads messages from an iterator in a goroutine of its own, so that a slow disk only delays what is read from
// it. What is read ahead is bounded in bytes, and is at least one block. Next and Close are for one goroutine.
type Reader struct {
	it     codec.Iterator
	size   int64
	ready  func()        // is called when there is more
	done   chan struct{} // closed when the iterator is not in use any more
	closed atomic.Bool

	// part is the block that is being filled, with at least one message, while the iterator looks for another one. It
	// is Next's to take, with mu held, when none is full. Only the goroutine that fills it puts it there.
	part    atomic.Pointer[block]
	starved atomic.Bool // Next had none to take

	mu    sync.Mutex
	room  sync.Cond
	full  []*block
	spare []*block // to be filled again
	ahead int64    // bytes in full
	kept  int64    // bytes in spare

	current *block
	at      int // index in current
}

// New reads it up to about size bytes ahead, and owns it. ready is called in another goroutine whenever there is more
// to read: it must not call the Reader.
func New(it codec.Iterator, size int64, ready func()) *Reader {
	r := &Reader{it: it, size: size, ready: ready, done: make(chan struct{}), current: new(block)}
	r.room.L = &r.mu
	go r.run()
	return r
}

func (r *Reader) run() {
	defer close(r.done)
	var before, kept []*codec.Buffer // by the block before, and by b
	next := func() *block {
		before, kept = kept, before[:0]
		return r.empty()
	}
	size := int64(firstBlock)
	for b := new(block); ; {
		m, err := r.it.Next()
		if len(b.messages) > 0 && r.part.Swap(nil) == nil { // it was taken
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
			r.part.Store(b)
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

// put hands over a block as soon as there is room for it. It reports false if there will be none.
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

// get returns the next block, nil if there is none yet, and takes back the one before it. With part it may be one that
// is not full.
func (r *Reader) get(part bool) *block {
	r.current.release()
	r.mu.Lock()
	defer r.mu.Unlock()
	var b *block
	if len(r.full) > 0 {
		b = r.full[0]
		r.full = append(r.full[:0], r.full[1:]...)
		r.ahead -= b.size
		r.room.Signal()
	} else if part {
		b = r.part.Swap(nil)
		if b == nil {
			r.starved.Store(true)
			b = r.part.Swap(nil) // which may have come before the Reader could see that
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

// Next returns the next message, valid until the next call, or nil when it was not read yet. Behind the last message it
// returns what ended the iterator.
func (r *Reader) Next() (*codec.Message, error) { return r.next(true) }

func (r *Reader) next(part bool) (*codec.Message, error) {
	for r.at == len(r.current.messages) {
		if r.current.err != nil {
			return nil, r.current.err
		}
		b := r.get(part)
		if b == nil {
			return nil, nil
		}
		r.current, r.at = b, 0
	}
	m := &r.current.messages[r.at]
	r.at++
	return m, nil
}

// Close stops reading, once the iterator has found another message, and closes it.
func (r *Reader) Close() error {
	r.mu.Lock()
	r.closed.Store(true)
	r.room.Signal()
	r.mu.Unlock()
	<-r.done
	return r.it.Close()
}

// Each calls each visit with each message of it, which another goroutine reads up to about size bytes ahead, and closes
// it. Several visits are called at the same time, each by one goroutine; none may change a message. What Query.Damaged
// was called with may be used once Each has returned.
func Each(ctx context.Context, it codec.Iterator, size int64, visits ...func(*codec.Message) error) (err error) {
	more := make(chan struct{}, 1)
	r := New(it, size, func() {
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

// rest returns the messages up to the end of a block, as Next returns one.
func (r *Reader) rest() ([]codec.Message, error) {
	m, err := r.next(false)
	if m == nil {
		return nil, err
	}
	rest := r.current.messages[r.at-1:]
	r.at = len(r.current.messages)
	return rest, nil
}

func each(messages []codec.Message, visit func(*codec.Message) error) error {
	for i := range messages {
		if err := visit(&messages[i]); err != nil {
			return err
		}
	}
	return nil
}
