package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tapedeck/msgs/plural"
)

// Call waits until the service of c is available, calls it and returns the response. It looks every few ms, as
// middleware announces changes of the graph, but not when it has matched. Implementations of Node call it.
func Call(ctx context.Context, c Client, request []byte) ([]byte, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		wait, err := c.Send(request)
		switch {
		case err == nil:
			return wait(ctx)
		case !errors.Is(err, ErrUnavailable):
			return nil, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if err != ErrUnavailable {
				return nil, fmt.Errorf("wait for the service: %w: %w", ctx.Err(), err)
			}
			return nil, fmt.Errorf("wait for the service: %w", ctx.Err())
		}
	}
}

// MaxRequest is how many bytes a request of a service may have.
const MaxRequest = 1 << 20

// What the calls of a service may take that are being answered, and how many of those that fail are logged.
const (
	maxCalls     = 1000
	maxCallBytes = 64 << 20
	loggedCalls  = 10
)

// Calls bounds the calls of a service that are being answered. Its zero value is ready. Its methods may be called from
// several goroutines at once.
type Calls struct {
	mu     sync.Mutex
	count  int
	bytes  int // of their requests
	failed int
}

// Begin admits a call whose request has so many bytes, or returns why it is refused. An admitted call ends with End.
func (c *Calls) Begin(bytes int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case bytes > MaxRequest:
		return fmt.Errorf("a request of %d bytes is refused, as it has more than %d", bytes, MaxRequest)
	case c.count >= maxCalls || c.bytes+bytes > maxCallBytes:
		return fmt.Errorf("%s with %s are being answered already", plural.Count(c.count, "call"),
			plural.Count(c.bytes, "byte"))
	}
	c.count++
	c.bytes += bytes
	return nil
}

// End ends an admitted call.
func (c *Calls) End(bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count--
	c.bytes -= bytes
}

// Failed returns how many calls were not answered.
func (c *Calls) Failed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// Log logs why a call of the service is not answered, unless that happened often before.
func (c *Calls) Log(n Node, service string, err error) {
	c.mu.Lock()
	c.failed++
	failed := c.failed
	c.mu.Unlock()
	more := ""
	if failed >= loggedCalls {
		more = fmt.Sprintf("; there were %d, of which few more are logged", failed)
	}
	if failed <= loggedCalls || failed%1000 == 0 {
		n.Log(Error, "a call of %s remains without an answer: %v%s", service, err, more)
	}
}
