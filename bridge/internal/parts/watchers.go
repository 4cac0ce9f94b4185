package parts

import (
	"context"
	"sync"
)

// Watchers are told of changes of the graph, as bridge.Node.Watch has it.
type Watchers struct {
	mu     sync.Mutex
	all    map[chan struct{}]struct{}
	closed bool
}

// NewWatchers returns those of a node that nobody watches yet.
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

// Notify tells all that the graph has changed.
func (w *Watchers) Notify() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.all {
		select {
		case c <- struct{}{}:
		default: // one is waiting already
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
