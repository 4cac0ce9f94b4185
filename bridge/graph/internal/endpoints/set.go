// Package endpoints has code that the nodes of bridge/graph/dds and bridge/graph/rcl share: it closes publishers,
// subscriptions, services and clients, notifies watchers of the graph, and counts losses by sequence numbers.
package endpoints

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
)

// ErrClosed is the error of using a closed node, or a closed endpoint of a node.
var ErrClosed = errors.New("it is closed")

// Set holds the endpoints of a node: publishers, subscriptions, services and clients. Close closes all of them.
type Set struct {
	life   sync.RWMutex   // held for reading while an endpoint is created
	closed bool           // no endpoint may be created any more
	open   sync.WaitGroup // endpoints not closed yet
	done   chan struct{}  // closed at the end of Close

	mu      sync.Mutex
	closers map[io.Closer]struct{}
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{done: make(chan struct{}), closers: make(map[io.Closer]struct{})}
}

// Create adds the endpoint that f returns. The endpoint's Close must call End.
func Create[T io.Closer](s *Set, f func() (T, error)) (T, error) {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		var none T
		return none, ErrClosed
	}
	c, err := f()
	if err != nil {
		return c, err
	}
	s.open.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closers[c] = struct{}{}
	return c, nil
}

// End removes an endpoint and closes it by f. Only the first call for an endpoint has an effect.
func (s *Set) End(c io.Closer, f func() error) error {
	s.mu.Lock()
	_, found := s.closers[c]
	delete(s.closers, c)
	s.mu.Unlock()
	if !found {
		return nil
	}
	defer s.open.Done()
	return f()
}

// Use calls f, unless the node is closed. Close waits until f returns.
func (s *Set) Use(f func()) {
	s.life.RLock()
	defer s.life.RUnlock()
	if !s.closed {
		f()
	}
}

// Close closes all endpoints and then calls f, which closes the rest of the node. Further calls wait for the first
// call.
func (s *Set) Close(f func() error) error {
	s.life.Lock()
	first := !s.closed
	s.closed = true
	s.life.Unlock()
	if !first {
		<-s.done
		return nil
	}
	defer close(s.done)
	s.mu.Lock()
	list := slices.Collect(maps.Keys(s.closers))
	s.mu.Unlock()
	errs := make([]error, len(list))
	var closing sync.WaitGroup
	for i, c := range list { // in parallel: each may take a second if a peer does not answer
		closing.Go(func() { errs[i] = c.Close() })
	}
	closing.Wait()
	s.open.Wait()
	return errors.Join(append(errs, f())...)
}
