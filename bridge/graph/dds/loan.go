package dds

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tapedeck/codec"
)

// leastLoan is the smallest payload size in bytes for which lending is faster than copying.
const leastLoan = 32 << 10

// loans are the buffers that contain lent payloads of samples that Cyclone DDS has not freed yet. Threads of Cyclone
// DDS free samples, and only decrement counters. Unused buffers are released when the next payload is lent.
type loans struct {
	mu   sync.Mutex
	list []*loan
}

// lent are the loans of the process. They are global because samples may outlive writers and nodes.
var lent loans

type loan struct {
	buffer    *codec.Buffer
	borrowers *atomic.Int32 // samples, plus callers of begin that have not ended their use
	pinned    runtime.Pinner
}

// begin returns the loan of the buffer that contains data, and adds 1 to its borrowers. The caller must subtract 1 at
// the end of its use.
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
