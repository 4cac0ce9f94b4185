// Package owner has one goroutine call functions, one after the other. That goroutine owns the state which they use, so
// it needs no lock.
package owner

import "sync"

// Owner holds the functions that its goroutine is to call: Run, or another loop that receives from Wake and calls
// Turn.
type Owner struct {
	wake chan struct{} // has a value when functions may wait
	done chan struct{} // closed once none is called any more

	mu    sync.Mutex
	calls []func()
}

// New returns an owner whose goroutine is still to be started.
func New() *Owner { return &Owner{wake: make(chan struct{}, 1), done: make(chan struct{})} }

// Post has the owner call f soon. It waits for nothing, and may be called by any goroutine.
func (o *Owner) Post(f func()) {
	o.mu.Lock()
	o.calls = append(o.calls, f)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Do has the owner call f, and waits for that. It reports false if the owner has ended before. The owner itself must
// not call Do.
func (o *Owner) Do(f func()) bool {
	called := make(chan struct{})
	o.Post(func() {
		defer close(called)
		f()
	})
	select {
	case <-called:
		return true
	case <-o.done:
	}
	select {
	case <-called:
		return true
	default:
		return false
	}
}

// Wake has a value when Turn is to be called.
func (o *Owner) Wake() <-chan struct{} { return o.wake }

// Turn calls the functions that wait, in order.
func (o *Owner) Turn() {
	for {
		o.mu.Lock()
		calls := o.calls
		o.calls = nil
		o.mu.Unlock()
		if len(calls) == 0 {
			return
		}
		for _, f := range calls {
			f()
		}
	}
}

// Run calls functions until stop is closed. None is called after that.
func (o *Owner) Run(stop <-chan struct{}) {
	defer close(o.done)
	for {
		select {
		case <-o.wake:
			o.Turn()
		case <-stop:
			o.Turn()
			return
		}
	}
}
