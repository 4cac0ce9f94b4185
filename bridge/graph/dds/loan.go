package dds

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"tapedeck/codec"
)

// leastLoan is the size from which on it takes less to lend a payload than to copy it.
const leastLoan = 32 << 10

// loans are buffers in which payloads of samples lie that Cyclone DDS has not freed yet. It frees samples in threads of
// its own, which only count: what is not used any more is found when the next payload is lent.
type loans struct {
	mu   sync.Mutex
	list []*loan
}

// lent is one for the process: samples may outlive writers and nodes.
var lent loans

type loan struct {
	buffer    *codec.Buffer
	borrowers *atomic.Int32 // samples, and calls of begin
	pinned    runtime.Pinner
}

// begin returns the loan of the buffer in which data lies. The caller ends it by taking 1 from its borrowers.
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

// reclaim releases the buffers that nobody uses any more. mu is held.
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
