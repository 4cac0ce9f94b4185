// Package owner lets one goroutine call functions, one after the other. The goroutine owns the state that the functions
// use, so the state needs no lock.
package owner

import "sync"

// Owner holds functions for its goroutine, which calls Run, or receives from Wake and calls Turn.
type Owner struct {
	wake chan struct{} // has a value when functions may wait
	done chan struct{} // closed when Run has ended

	mu    sync.Mutex
	calls []func()
}

// New returns an owner without functions.
func New() *Owner { return &Owner{wake: make(chan struct{}, 1), done: make(chan struct{})} }

// Post makes the owner call f soon. It waits for nothing, and any goroutine may call it.
func (o *Owner) Post(f func()) {
	o.mu.Lock()
	o.calls = append(o.calls, f)
	o.mu.Unlock()
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// Do makes the owner call f and waits for it. It reports false if the owner ended before. The owner must not call Do.
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

// Wake returns a channel that has a value when Turn must be called.
func (o *Owner) Wake() <-chan struct{} { return o.wake }

// Turn calls the waiting functions in order.
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

// Run calls functions until stop is closed, and then those that wait. Later functions are not called.
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
