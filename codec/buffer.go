package codec

import "sync/atomic"

// Buffer is memory that holds payloads of several messages. Its bytes do not change while there are references. Any
// goroutine may add and release references; the creator of the Buffer has the first one.
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

// Size returns the bytes of memory that the Buffer takes.
func (b *Buffer) Size() int { return cap(b.data) }

// Retain adds a reference, and returns b.
func (b *Buffer) Retain() *Buffer {
	b.refs.Add(1)
	return b
}

// Release releases a reference.
func (b *Buffer) Release() {
	if b.refs.Add(-1) == 0 {
		b.unused(b.data)
	}
}

// Pool is memory for payloads that are made one after the other. Memory that was not retained is reused for the next
// payload, other memory after its release. The zero Pool is ready for use, by one goroutine.
type Pool struct {
	last  *Buffer // of the latest payload
	spare chan []byte
}

// spares is the number of released buffers that a Pool holds. A read-ahead retains a few large ones.
const spares = 4

// Take returns empty memory to append the next payload to, or nil if there is none. The previous payload is then valid
// only if its Buffer was retained.
func (p *Pool) Take() []byte {
	if p.last != nil {
		if p.last.refs.Load() == 1 {
			return p.last.data[:0]
		}
		p.last.Release()
		p.last = nil
	}
	select {
	case b := <-p.spare:
		return b[:0]
	default:
		return nil
	}
}

// Lend returns the Buffer of a payload that was appended to the memory from Take. It returns nil if a copy of the
// payload takes less memory.
func (p *Pool) Lend(payload []byte) *Buffer {
	if p.last == nil {
		if p.spare == nil {
			p.spare = make(chan []byte, spares)
		}
		p.last = NewBuffer(payload, p.put)
	}
	p.last.data = payload
	if len(payload) < cap(payload)/2 {
		return nil
	}
	return p.last
}

// put takes back memory that was retained.
func (p *Pool) put(b []byte) {
	select {
	case p.spare <- b:
	default:
	}
}
