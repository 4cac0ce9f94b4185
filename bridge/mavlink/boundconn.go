package mavlink

import (
	"context"
	"net"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// boundConn is a UDP socket that anybody can send to, and that sends to one address: that of the last sender if it
// follows. As it is not connected, it does not fail when nobody listens there.
type boundConn struct {
	*net.UDPConn
	remote atomic.Pointer[net.UDPAddr]
	follow bool
}

// openBound opens the socket. A shared one leaves its port to others, too: what is broadcast reaches all of them.
func openBound(ctx context.Context, local, remote string, follow, shared bool) (net.Conn, error) {
	probe, err := new(net.Dialer).DialContext(ctx, "udp", remote) // which, other than ResolveUDPAddr, ends with ctx
	if err != nil {
		return nil, err
	}
	to := probe.RemoteAddr().(*net.UDPAddr)
	_ = probe.Close()
	network := "udp"
	if to.IP.To4() != nil {
		network = "udp4" // as broadcasts need
	}
	var config net.ListenConfig
	if shared {
		config.Control = shareAddress
	}
	socket, err := config.ListenPacket(ctx, network, local)
	if err != nil {
		return nil, err
	}
	c := &boundConn{UDPConn: socket.(*net.UDPConn), follow: follow}
	_ = c.SetReadBuffer(receiveBuffer)
	c.remote.Store(to)
	return c, nil
}

func shareAddress(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}); e != nil {
		return e
	}
	return err
}

// Read receives one datagram.
func (c *boundConn) Read(b []byte) (int, error) {
	n, from, err := c.ReadFromUDP(b)
	if c.follow && err == nil {
		c.remote.Store(from)
	}
	return n, err
}

// Write sends one datagram.
func (c *boundConn) Write(b []byte) (int, error) { return c.WriteToUDP(b, c.remote.Load()) }
