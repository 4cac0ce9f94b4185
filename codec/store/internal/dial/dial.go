// Package dial connects to stores. Its connections end when they stall, and limit the rate of sending.
package dial

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// HeaderTimeout is the time in which a store must begin to answer.
	HeaderTimeout = 30 * time.Second
	// UploadTimeout is the time for sending the rest of a large request from the system's buffers, and for the answer.
	UploadTimeout = 5 * time.Minute
	// IdleTimeout is the time after which a connection without a request is closed, before it stalls.
	IdleTimeout = 20 * time.Second
	// Connections is the number of connections to a host that are kept.
	Connections = 64

	bodyTimeout  = 30 * time.Second // maximum pause in the body of an answer
	writeTimeout = time.Minute      // maximum pause in a request
	restarting   = 20               // number of pauses for which a store may refuse its first connection
)

// ErrStalled is the error of a connection that stalled.
var ErrStalled = errors.New("the connection to the store does not go on")

// AbsentError is the error of a connection to a store that has no address or refuses connections, and never accepted
// one. Another attempt is not worthwhile: the name is wrong.
type AbsentError struct{ error }

func (e *AbsentError) Unwrap() error { return e.error }

// RetryableError tells the SDK of AWS not to retry.
func (*AbsentError) RetryableError() bool { return false }

// Dialer connects to stores.
type Dialer struct {
	// Dial connects; nil is a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Answer is the time from the last byte of a request to the first one of its answer.
	Answer time.Duration
	// Rate limits the bytes a second that all connections together send; 0: no limit.
	Rate int64
	// Pause is the time between attempts to connect to a store that may be starting.
	Pause time.Duration
	// Body is the maximum pause in the body of an answer.
	Body time.Duration

	pace  pace
	hosts sync.Map // *host by address
}

// New returns a dialer for requests without large bodies.
func New() *Dialer {
	return &Dialer{Dial: (&net.Dialer{Timeout: 30 * time.Second}).DialContext, Answer: HeaderTimeout,
		Pause: 100 * time.Millisecond, Body: bodyTimeout}
}

// Uploading returns a dialer for requests with large bodies. It limits the rate of all connections together. It
// connects like d.
func (d *Dialer) Uploading(rate int64) *Dialer {
	return &Dialer{Dial: d.Dial, Answer: UploadTimeout, Pause: d.Pause, Body: d.Body, Rate: rate}
}

// host is the state of an address.
type host struct {
	reached atomic.Bool  // the host accepted a connection
	refused atomic.Int64 // time of the first refusal, ns since the Unix epoch; 0: never
}

// DialContext opens a connection; http.Transport calls it. A store that refuses connections may be starting, unless it
// was reached before.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	found, _ := d.hosts.LoadOrStore(address, new(host))
	h := found.(*host)
	for {
		c, err := d.Dial(ctx, network, address)
		if err == nil {
			h.reached.Store(true)
			return &conn{Conn: c, dialer: d}, nil
		}
		var lookup *net.DNSError
		switch {
		case h.reached.Load():
			return nil, err
		case errors.As(err, &lookup) && lookup.IsNotFound:
			return nil, &AbsentError{err}
		case !errors.Is(err, syscall.ECONNREFUSED):
			return nil, err
		}
		h.refused.CompareAndSwap(0, time.Now().UnixNano())
		if time.Since(time.Unix(0, h.refused.Load())) > restarting*d.Pause {
			return nil, &AbsentError{err}
		}
		select {
		case <-time.After(d.Pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// conn is a connection to a store.
type conn struct {
	net.Conn
	dialer *Dialer
	answer atomic.Int64 // time by which the answer must begin, ns since the Unix epoch; 0: it has begun
}

func (c *conn) Read(b []byte) (int, error) {
	// Reading may have begun before the request is sent.
	deadline := max(time.Now().Add(c.dialer.Body).UnixNano(), c.answer.Load())
	if err := c.SetReadDeadline(time.Unix(0, deadline)); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.answer.Store(0)
	}
	return n, stalled(err)
}

func (c *conn) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		part := b[n:]
		part = part[:c.dialer.most(len(part))]
		c.dialer.wait(len(part))
		now := time.Now()
		answer := now.Add(writeTimeout + c.dialer.Answer)
		c.answer.Store(answer.UnixNano())
		err = errors.Join(c.SetWriteDeadline(now.Add(writeTimeout)), c.SetReadDeadline(answer))
		if err == nil {
			var more int
			more, err = c.Conn.Write(part)
			n += more
		}
	}
	return n, stalled(err)
}

func stalled(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrStalled
	}
	return err
}

// pace limits the rate at which connections send.
type pace struct {
	mu   sync.Mutex
	next time.Time
}

// most returns the number of bytes, out of n, to send at once: at most a tenth of a second's, to send evenly.
func (d *Dialer) most(n int) int {
	if d.Rate == 0 {
		return n
	}
	return int(min(int64(n), max(d.Rate/10, 1)))
}

// wait returns when n more bytes may be sent.
func (d *Dialer) wait(n int) {
	if d.Rate == 0 {
		return
	}
	d.pace.mu.Lock()
	now := time.Now()
	if d.pace.next.Before(now) {
		d.pace.next = now
	}
	d.pace.next = d.pace.next.Add(time.Duration(float64(n) / float64(d.Rate) * float64(time.Second)))
	wait := d.pace.next.Sub(now)
	d.pace.mu.Unlock()
	time.Sleep(wait)
}
