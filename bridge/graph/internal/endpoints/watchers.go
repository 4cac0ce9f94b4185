package endpoints

import (
	"context"
	"sync"
)

// Watchers implements bridge.Node.Watch: it sends changes of the graph to channels.
type Watchers struct {
	mu     sync.Mutex
	all    map[chan struct{}]struct{}
	closed bool
}

// NewWatchers returns an empty Watchers.
func NewWatchers() *Watchers { return &Watchers{all: make(map[chan struct{}]struct{})} }

// Watch returns a channel that receives a value after Notify, until ctx ends.
func (w *Watchers) Watch(ctx context.Context) <-chan struct{} {
	c := make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || ctx.Err() != nil {
		close(c)
		return c
	}
	w.all[c] = struct{}{}
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.remove(c)
	})
	return c
}

func (w *Watchers) remove(c chan struct{}) {
	if _, ok := w.all[c]; ok {
		delete(w.all, c)
		close(c)
	}
}

// Notify sends a value to all channels.
func (w *Watchers) Notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		select {
		case c <- struct{}{}:
		default: // a value is waiting already
		}
	}
}

// Close closes all channels.
func (w *Watchers) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.all {
		w.remove(c)
	}
}
