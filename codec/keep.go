package codec

import "sync/atomic"

// Keeper is an Iterator that can keep the payload of a message beyond the next call of Next, so that who needs it
// longer need not copy it.
type Keeper interface {
	Iterator
	// Keep returns a reference to the Buffer that holds Data of the message that Next returned last, or nil if the
	// payload cannot be kept.
	Keep() *Buffer
}

// Keep returns it.Keep() if it is a Keeper, else nil.
func Keep(it Iterator) *Buffer {
	if k, ok := it.(Keeper); ok {
		return k.Keep()
	}
	return nil
}

// Buffer is memory that holds payloads of several messages. Its bytes do not change while there are references. They
// are counted, in any goroutine; the first one belongs to who creates the Buffer.
type Buffer struct {
	data   []byte
	refs   atomic.Int32
	unused func([]byte)
}

// NewBuffer returns a Buffer of data. unused is called with data when the last reference is released.
func NewBuffer(data []byte, unused func([]byte)) *Buffer {
	b := &Buffer{data: data, unused: unused}
	b.refs.Store(1)
	return b
}

// Size returns how many bytes of memory the Buffer takes.
func (b *Buffer) Size() int { return cap(b.data) }

// Retain adds a reference to those that the caller holds, and returns b.
func (b *Buffer) Retain() *Buffer {
	b.refs.Add(1)
	return b
}

// Release gives a reference back.
func (b *Buffer) Release() {
	if b.refs.Add(-1) == 0 {
		b.unused(b.data)
	}
}
