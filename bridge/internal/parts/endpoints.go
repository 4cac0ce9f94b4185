// Package parts is what the nodes of bridge/dds and bridge/rcl have in common inside.
package parts

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
)

// ErrClosed is the error of what is asked of a node, or of something in it, that was closed.
var ErrClosed = errors.New("it is closed")

// Endpoints are the publishers, subscriptions, services and clients of a node, which end with it at the latest.
type Endpoints struct {
	life    sync.RWMutex   // held for reading while one is created
	closed  bool           // no other one is to be created
	closers sync.WaitGroup // those that are not yet closed
	gone    chan struct{}  // closed when Close has done its work

	mu   sync.Mutex
	open map[io.Closer]struct{}
}

// NewEndpoints returns those of a node that has none yet.
func NewEndpoints() *Endpoints {
	return &Endpoints{gone: make(chan struct{}), open: make(map[io.Closer]struct{})}
}

// Create creates an endpoint by f, whose Close calls End.
func Create[T io.Closer](e *Endpoints, f func() (T, error)) (T, error) {
	e.life.RLock()
	defer e.life.RUnlock()
	if e.closed {
		var none T
		return none, ErrClosed
	}
	c, err := f()
	if err != nil {
		return c, err
	}
	e.closers.Add(1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open[c] = struct{}{}
	return c, nil
}

// End closes by f what Create made, the first time it is called for it.
func (e *Endpoints) End(c io.Closer, f func() error) error {
	e.mu.Lock()
	_, open := e.open[c]
	delete(e.open, c)
	e.mu.Unlock()
	if !open {
		return nil
	}
	defer e.closers.Done()
	return f()
}

// Use calls f, unless the node is closed, which waits until f returns.
func (e *Endpoints) Use(f func()) {
	e.life.RLock()
	defer e.life.RUnlock()
	if !e.closed {
		f()
	}
}

// Close closes all endpoints, and then the rest of the node by f. Further calls wait for the first one.
func (e *Endpoints) Close(f func() error) error {
	e.life.Lock()
	first := !e.closed
	e.closed = true
	e.life.Unlock()
	if !first {
		<-e.gone
		return nil
	}
	defer close(e.gone)
	e.mu.Lock()
	open := slices.Collect(maps.Keys(e.open))
	e.mu.Unlock()
	var errs []error
	for _, c := range open {
		errs = append(errs, c.Close())
	}
	e.closers.Wait()
	return errors.Join(append(errs, f())...)
}
