package realman

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// connection is a connection to an arm: one goroutine sends queries, another one reads.
type connection struct {
	arm   *Arm
	conn  net.Conn
	wake  chan struct{} // wakes the goroutine that sends
	quiet time.Duration // time without data until the connection is closed, or without a reply until it is missed

	mu    sync.Mutex // guards the fields below
	polls []*pollState
	heard time.Time // when data were last received
}

func newConnection(a *Arm, conn net.Conn) *connection {
	now := time.Now()
	// All arms know the first query; others may remain without replies.
	c := &connection{arm: a, conn: conn, wake: make(chan struct{}, 1), heard: now, quiet: a.Silence + a.Polls[0].Period}
	for i, p := range a.Polls {
		q := newPollState(p)
		// Spread the queries: a reply that waits behind many others would get a wrong stamp.
		q.due = now.Add(min(p.Period, time.Second) * time.Duration(i) / time.Duration(len(a.Polls)))
		c.polls = append(c.polls, q)
	}
	return c
}

// run observes until the connection ends.
func (c *connection) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		<-ctx.Done()
		c.conn.Close()
	})
	done.Go(func() {
		if err := c.ask(ctx); err != nil {
			cancel(err)
		}
	})
	err := c.read()
	if asking := context.Cause(ctx); asking != nil {
		err = asking // why the connection was closed
	}
	cancel(nil)
	done.Wait()
	return err
}

// ask sends queries until ctx ends.
func (c *connection) ask(ctx context.Context) error {
	if p := c.arm.Push; p != nil {
		own, _, err := net.SplitHostPort(c.conn.LocalAddr().String())
		if err != nil {
			return err
		}
		if err := c.send(p.line(own)); err != nil {
			return err
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var due []*pollState
	for {
		var wait time.Duration
		due, wait = c.next(due[:0], time.Now())
		for _, q := range due {
			if err := c.send(q.line); err != nil {
				return err
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		case <-c.wake:
		}
	}
}

// send sends a command in a segment of its own: a controller might expect a single command per read.
func (c *connection) send(line []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.arm.Timeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(line)
	return err
}

// next appends the queries to send now, and returns how long to wait for more.
func (c *connection) next(due []*pollState, now time.Time) ([]*pollState, time.Duration) {
	known := c.arm.pushedFields(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.heard) > c.arm.Silence/2 {
		known = 0 // only replies show that the connection works
	}
	wait := c.arm.Timeout
	for _, q := range c.polls {
		if waited := now.Sub(q.sent); !q.sent.IsZero() && waited >= min(c.arm.Timeout, c.quiet) {
			if !q.late {
				q.late = true
				c.arm.count(func(n *Counts) {
					if q.proven || q == c.polls[0] {
						n.Timeouts++
					} else {
						n.Unknown++
					}
				})
			}
			// Wait for quiet: else queries to a slow arm would pile up, and replies be matched to later queries.
			if waited >= c.quiet {
				q.end(true)
			}
		}
		switch {
		case !q.sent.IsZero() || q.due.After(now):
		case q.fields&^known == 0:
			q.postpone(now)
		default:
			q.begin(now)
			due = append(due, q)
		}
		if q.due.After(now) {
			wait = min(wait, q.due.Sub(now))
		}
		if !q.sent.IsZero() {
			patience := c.quiet
			if !q.late {
				patience = min(c.arm.Timeout, c.quiet)
			}
			wait = min(wait, q.sent.Add(patience).Sub(now))
		}
	}
	return due, wait
}

// read reads until the connection ends.
func (c *connection) read() error {
	a := c.arm
	d := &decoder{joints: a.Joints, speed: a.SpeedUnit}
	var at time.Time
	s := splitter{bad: func(err error) {
		a.bad(err)
		c.lose()
	}}
	s.object = func(object []byte) {
		u, err := d.decode(object)
		u.Received = at
		u.Stamp = c.match(u)
		switch {
		case err == nil:
			a.deliver(u)
		case u.Name == "":
			s.bad(err)
		default:
			a.bad(err)
		}
	}
	buf := make([]byte, 16<<10)
	for {
		if err := c.conn.SetReadDeadline(time.Now().Add(c.quiet)); err != nil {
			return err
		}
		n, err := c.conn.Read(buf)
		at = time.Now()
		if n > 0 {
			c.mu.Lock()
			c.heard = at
			c.mu.Unlock()
			s.add(buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return fmt.Errorf("%s: no data for %v", a.Address(), c.quiet)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s: the arm closed the connection", a.Address())
		case err != nil:
			return err
		}
	}
}

// match finds the query that u replies to, and returns the stamp of u.
func (c *connection) match(u *Update) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, q := range c.polls {
		if q.reply != u.Name || q.sent.IsZero() || q.sent.After(u.Received) {
			continue
		}
		trip := u.Received.Sub(q.sent)
		stamp := q.sent.Add(trip / 2)
		c.arm.count(func(n *Counts) { n.RoundTrip = trip })
		c.finish(q, u.Refused)
		return stamp
	}
	return u.Received
}

// lose gives up the oldest awaited reply, because data that could not be decoded were probably that reply.
func (c *connection) lose() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var oldest *pollState
	for _, q := range c.polls {
		if !q.sent.IsZero() && (oldest == nil || q.sent.Before(oldest.sent)) {
			oldest = q
		}
	}
	if oldest != nil {
		c.finish(oldest, true)
	}
}

// finish records that a reply is no longer awaited. c.mu is held.
func (c *connection) finish(q *pollState, missed bool) {
	q.end(missed)
	if q.due.After(time.Now()) {
		return
	}
	select {
	case c.wake <- struct{}{}: // the query is due again
	default:
	}
}
