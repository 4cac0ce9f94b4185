package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"tapedeck/codec/text/plural"
)

// Call waits until the service of c, a client of n, is available, calls it and returns the response. Implementations of
// Node call it.
func Call(ctx context.Context, n Node, c Client, request []byte) ([]byte, error) {
	wait, err := c.Send(request)
	if errors.Is(err, ErrUnavailable) {
		wait, err = await(ctx, n, c, request)
	}
	if err != nil {
		return nil, err
	}
	return wait(ctx)
}

// await sends a request once the service is available. It tries at each change of the graph and every 5 ms, because the
// middleware does not announce that client and service have matched.
func await(ctx context.Context, n Node, c Client, request []byte) (wait func(context.Context) ([]byte, error),
	err error) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := n.Watch(watching) // closed when n ends
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		wait, err = c.Send(request)
		if !errors.Is(err, ErrUnavailable) {
			return wait, err
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			why := strings.TrimPrefix(err.Error(), ErrUnavailable.Error()) // "" if c gives no reason
			return nil, fmt.Errorf("wait for the service: %w%s", ctx.Err(), why)
		}
	}
}

// MaxRequest is the largest size of a service request in bytes.
const MaxRequest = 1 << 20

// Limits of one service.
const (
	maxCalls     = 1000     // calls that are answered at once
	maxCallBytes = 64 << 20 // total size of the requests being answered
	loggedCalls  = 10       // failed calls that are logged; later, only every 1000th is
)

// Calls are the calls of a service that are being answered. It limits their number and size. Its methods may be called
// from several goroutines at once.
type Calls struct {
	node    Node
	service string
	ctx     context.Context // ends with the service
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	count  int
	bytes  int // sum of the requests' sizes
	failed int
}

// NewCalls returns a Calls without calls for a service of n.
func NewCalls(n Node, service string) *Calls {
	c := &Calls{node: n, service: service}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Begin admits a call whose request has the given size, or logs why it refuses the call. Answer must follow each
// admitted call.
func (c *Calls) Begin(bytes int) bool {
	err := c.admit(bytes)
	if err != nil {
		c.log(err)
	}
	return err == nil
}

func (c *Calls) admit(bytes int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case bytes > MaxRequest:
		return fmt.Errorf("a request of %d bytes is refused, as it has more than %d", bytes, MaxRequest)
	case c.count >= maxCalls || c.bytes+bytes > maxCallBytes:
		return fmt.Errorf("%s with %s are being answered already", plural.Count(c.count, "call"),
			plural.Count(c.bytes, "byte"))
	}
	c.count++
	c.bytes += bytes
	c.running.Add(1)
	return nil
}

// Answer runs answer for an admitted call in a goroutine, and logs answer's error. bytes is the size passed to Begin.
func (c *Calls) Answer(bytes int, answer func(context.Context) error) {
	go func() {
		defer c.running.Done()
		if err := answer(c.ctx); err != nil {
			c.log(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.count--
		c.bytes -= bytes
	}()
}

// Close ends the contexts of the calls, waits for them and admits no more.
func (c *Calls) Close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.running.Wait()
}

// Failed returns how many calls were not answered.
func (c *Calls) Failed() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

// log logs why a call is not answered, unless that happened often before.
func (c *Calls) log(err error) {
	c.mu.Lock()
	c.failed++
	failed := c.failed
	c.mu.Unlock()
	more := ""
	if failed >= loggedCalls {
		more = fmt.Sprintf("; there were %d, of which few more are logged", failed)
	}
	if failed <= loggedCalls || failed%1000 == 0 {
		c.node.Log(Error, "a call of %s remains without an answer: %v%s", c.service, err, more)
	}
}
