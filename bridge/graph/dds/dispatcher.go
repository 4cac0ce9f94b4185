package dds

// #include "inbox.h"
// #include <stdlib.h>
import "C"

import (
	"math"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"tapedeck/bridge"
)

// handlerPatience is the time that a handler may take before another goroutine calls the other handlers. The
// other handlers may wait for up to twice that time.
const handlerPatience = 10 * time.Millisecond

// dispatcher calls the handlers of a node's subscriptions. One goroutine calls all handlers, because each goroutine
// that waits in C for samples occupies a thread. When a handler does not return, another goroutine continues with the
// other subscriptions.
type dispatcher struct {
	queue   *C.struct_queue
	ahead   int64 // ns by which the clock of bridge.Monotonic is ahead of monotonic_now
	workers sync.WaitGroup

	mu            sync.Mutex
	subscriptions map[*C.struct_inbox]*subscription
	current       *worker // the worker that takes from queue; nil before the first subscription
	calls         uint64  // number of calls of handlers so far
	calling       bool    // current is in a handler
	watcher       *time.Timer
	watching      bool   // watcher will fire
	watched       uint64 // calls when watcher fired last
}

func newDispatcher() *dispatcher {
	return &dispatcher{queue: C.queue_new(), ahead: ahead(), subscriptions: make(map[*C.struct_inbox]*subscription)}
}

// ahead returns by how many ns the clock of bridge.Monotonic is ahead of monotonic_now. It reads both clocks 10 times,
// because the thread may be interrupted between the two readings.
func ahead() int64 {
	least := int64(math.MaxInt64)
	for range 10 {
		before := int64(C.monotonic_now())
		least = min(least, bridge.Monotonic(time.Now())-before)
	}
	return least
}

// add returns a new inbox for a subscription that is about to get a reader. The inbox keeps the last depth samples; 0
// keeps all.
func (d *dispatcher) add(s *subscription, depth C.int32_t) *C.struct_inbox {
	inbox := C.inbox_new(d.queue, C.uint32_t(depth))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.subscriptions[inbox] = s
	if d.current == nil {
		d.watcher, d.watching = time.AfterFunc(handlerPatience, d.watch), true
		d.start()
	}
	return inbox
}

// remove forgets an inbox. The end of the inbox must have been handled, or the inbox never had a reader.
func (d *dispatcher) remove(inbox *C.struct_inbox) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.subscriptions, inbox)
}

// start makes a new goroutine the current worker. The caller holds d.mu.
func (d *dispatcher) start() {
	w := &worker{
		dispatcher: d,
		delivery:   (*C.struct_delivery)(C.calloc(1, C.sizeof_struct_delivery)),
		samples:    make([]bridge.Sample, C.DELIVERY_SIZE),
		kept:       make([]bool, C.DELIVERY_SIZE),
	}
	d.current, d.calling = w, false
	d.workers.Go(w.run)
}

// close ends the dispatcher of a node without subscriptions.
func (d *dispatcher) close() {
	C.queue_stop(d.queue)
	d.workers.Wait()
	C.queue_free(d.queue)
}

// call notes that w is about to call the handler of the subscription that it returns.
func (d *dispatcher) call(inbox *C.struct_inbox) *subscription {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	d.calling = true
	if !d.watching {
		d.watching = true
		d.watcher.Reset(handlerPatience)
	}
	return d.subscriptions[inbox]
}

// returned notes that w is no longer in a handler and reports whether it is still the current worker.
func (d *dispatcher) returned(w *worker) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.current != w {
		return false
	}
	d.calling = false
	return true
}

// watch checks periodically, while handlers are called, that they return.
func (d *dispatcher) watch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	stuck := d.calling && d.calls == d.watched
	d.watching = d.calls != d.watched
	if d.watching {
		d.watcher.Reset(handlerPatience)
	}
	d.watched = d.calls
	if stuck {
		d.start()
	}
}

// worker is a goroutine of a dispatcher, with the memory for one batch.
type worker struct {
	dispatcher *dispatcher
	delivery   *C.struct_delivery
	samples    []bridge.Sample
	kept       []bool
}

func (w *worker) run() {
	defer func() {
		C.queue_give(w.dispatcher.queue, w.delivery)
		C.free(unsafe.Pointer(w.delivery))
	}()
	for C.queue_take(w.dispatcher.queue, w.delivery) {
		s := w.dispatcher.call(w.delivery.inbox)
		if n := int(w.delivery.count); n > 0 {
			blobs, kept := w.delivery.blobs[:n], w.kept[:n]
			clear(kept)
			s.deliver(blobs, w.samples[:n], kept)
			w.keep(blobs, kept)
		}
		if w.delivery.end {
			close(s.done)
		}
		if !w.dispatcher.returned(w) {
			return
		}
		if w.delivery.yield {
			runtime.Gosched()
		}
	}
}

// keep forgets the samples for which kept is set: their handlers free them.
func (w *worker) keep(blobs []*C.struct_blob, kept []bool) {
	n := 0
	for i, k := range kept {
		if !k {
			blobs[n] = blobs[i]
			n++
		}
	}
	w.delivery.count = C.int32_t(n)
}
