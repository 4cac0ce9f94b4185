package mavlink

import (
	"context"
	"net"
)

// datagram is more bytes than any autopilot sends at once.
const datagram = 8 << 10

// conn hands gomavlib one whole frame after the other from a port or connection, and counts what passes. gomavlib by
// itself takes no more than 512 bytes from a datagram and drops the others, and takes as much from a stream as a
// damaged frame claims to be long, whatever good frames are in it.
type conn struct {
	net.Conn
	clock    Clock
	counts   *connection
	received []byte
	frame    []byte // what gomavlib has not read yet of the last frame
	release  func() bool
}

// newConn wraps c, which is closed when ctx ends.
func newConn(ctx context.Context, c net.Conn, clock Clock, counts *connection) *conn {
	return &conn{Conn: c, clock: clock, counts: counts, received: make([]byte, datagram),
		release: context.AfterFunc(ctx, func() { _ = c.Close() })}
}

// Read reads the next frame, or what fits of it.
func (c *conn) Read(b []byte) (int, error) {
	for len(c.frame) == 0 {
		frame, h, ok := c.counts.scan.next(false)
		c.counts.damage()
		if ok {
			c.frame = frame
			c.counts.frame(h, c.clock.Now())
			break
		}
		n, err := c.Conn.Read(c.received)
		c.counts.scan.write(c.received[:n])
		if err != nil && n == 0 {
			return 0, err
		}
	}
	n := copy(b, c.frame)
	c.frame = c.frame[n:]
	return n, nil
}

// Close closes the port or connection.
func (c *conn) Close() error {
	c.release()
	return c.Conn.Close()
}
