package dds

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tapedeck/codec"
)

// leastLoan is the size in bytes of the smallest payload that is lent. Smaller payloads are copied, which is faster.
const leastLoan = 32 << 10

// loans is the list of buffers whose payloads were lent to Cyclone DDS. When Cyclone DDS frees a sample, its thread
// only decrements the loan's borrowers. Buffers without borrowers are released when the next payload is lent.
type loans struct {
	mu   sync.Mutex
	list []*loan
}

// lent is the list of all loans of the process. It is global because samples may outlive writers and nodes.
var lent loans

// loan keeps a buffer alive and pinned while Cyclone DDS reads payloads in it.
type loan struct {
	buffer    *codec.Buffer  // retained by begin, released by reclaim
	borrowers *atomic.Int32  // samples that Cyclone DDS has not freed, plus writers between begin and their decrement
	pinned    runtime.Pinner // the memory of buffer, and borrowers, because C code has pointers to them
}

// begin returns the loan of the buffer that contains data, and increments the loan's borrowers. The caller must
// decrement borrowers when it has passed data to Cyclone DDS.
func (l *loans) begin(data []byte, buffer *codec.Buffer) *loan {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reclaim()
	at := slices.IndexFunc(l.list, func(o *loan) bool { return o.buffer == buffer })
	if at < 0 {
		at = len(l.list)
		o := &loan{buffer: buffer.Retain(), borrowers: new(atomic.Int32)}
		o.pinned.Pin(unsafe.SliceData(data))
		o.pinned.Pin(o.borrowers)
		l.list = append(l.list, o)
	}
	l.list[at].borrowers.Add(1)
	return l.list[at]
}

// reclaim releases the buffers that have no borrowers. The caller holds mu.
func (l *loans) reclaim() {
	l.list = slices.DeleteFunc(l.list, func(o *loan) bool {
		if o.borrowers.Load() > 0 {
			return false
		}
		o.pinned.Unpin()
		o.buffer.Release()
		return true
	})
}
