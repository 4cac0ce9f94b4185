package mavlink

import (
	"context"
	"net"
	"sync/atomic"
	"time"

	"github.com/bluenviron/gomavlib/v3"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/pion/transport/v2/udp"

	"tapedeck/codec/format/tlog"
)

const (
	receiveBuffer = 512 << 10 // bytes, of UDP sockets
	idle          = time.Minute
	writeTimeout  = time.Second
	acceptPause   = time.Second
)

// endpoint opens the ports and connections of a link for gomavlib. They close when ctx ends.
type endpoint struct {
	link *Link
	ctx  context.Context
}

// start starts a node on the link's transport.
func (e *endpoint) start() (*gomavlib.Node, error) {
	o := &e.link.options
	node := &gomavlib.Node{
		Dialect:        ardupilotmega.Dialect,
		OutVersion:     gomavlib.V2,
		OutSystemID:    o.System,
		OutComponentID: o.Component,

		HeartbeatDisable:       o.Heartbeat == 0,
		HeartbeatPeriod:        period(o.Heartbeat),
		HeartbeatSystemType:    int(ardupilotmega.MAV_TYPE_ONBOARD_CONTROLLER),
		HeartbeatAutopilotType: int(ardupilotmega.MAV_AUTOPILOT_INVALID),

		WriteTimeout: writeTimeout,
		IdleTimeout:  idle,
	}
	var conf gomavlib.EndpointConf = gomavlib.EndpointCustomClient{Connect: e.connect, Label: e.link.name}
	switch e.link.transport.kind {
	case udpServer:
		conf = gomavlib.EndpointCustomServer{Listen: e.listen, Label: "udp"}
	case tcpServer:
		conf = gomavlib.EndpointCustomServer{Listen: e.listen, Label: "tcp"}
	}
	node.Endpoints = []gomavlib.EndpointConf{conf}
	return node, node.Initialize()
}

// period returns the period of a rate in Hz; 0 for a rate of 0.
func period(rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return time.Duration(max(1, 1e9/rate))
}

// connect opens a port, or a connection as a client.
func (e *endpoint) connect(ctx context.Context) (net.Conn, error) {
	c, err := e.dial(ctx)
	if err != nil {
		if e.ctx.Err() == nil {
			e.link.failed(err)
		}
		return nil, err
	}
	return e.wrap(c), nil
}

func (e *endpoint) dial(ctx context.Context) (net.Conn, error) {
	t := e.link.transport
	switch t.kind {
	case serialPort:
		return openSerial(t.path, t.baud, t.flowControl)
	case tcpClient:
		return new(net.Dialer).DialContext(ctx, "tcp", t.remote)
	default:
		return openBound(ctx, t.local, t.remote, t.follow, t.shared)
	}
}

// wrap returns a connection that reads whole frames from c, and closes it when the link ends.
func (e *endpoint) wrap(c net.Conn) net.Conn {
	// The beginning of a frame is unknown until the first one was found.
	return &conn{Conn: c, counts: newConnection(e.link.counts, e.link.formats), scan: tlog.NewScanner(e.link.formats),
		received: make([]byte, datagram), release: context.AfterFunc(e.ctx, func() { _ = c.Close() })}
}

// listen listens for connections as a server. Each UDP sender is a connection.
func (e *endpoint) listen() (l net.Listener, err error) {
	local := e.link.transport.local
	if e.link.transport.kind == tcpServer {
		l, err = new(net.ListenConfig).Listen(e.ctx, "tcp", local)
	} else if a, resolved := net.ResolveUDPAddr("udp", local); resolved != nil {
		err = resolved
	} else {
		l, err = (&udp.ListenConfig{ReadBufferSize: receiveBuffer}).Listen("udp", a)
	}
	if err != nil {
		return nil, err
	}
	e.link.options.Report("listening at " + l.Addr().Network() + " " + l.Addr().String())
	return &listener{Listener: l, endpoint: e}, nil
}

// listener accepts connections of a link.
type listener struct {
	net.Listener
	endpoint *endpoint
}

// Accept returns the next connection. It retries after errors, as gomavlib gives up at the first.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			return l.endpoint.wrap(c), nil
		}
		if l.endpoint.ctx.Err() != nil {
			return nil, err
		}
		l.endpoint.link.failed(err)
		if err := sleep(l.endpoint.ctx, acceptPause); err != nil {
			return nil, err
		}
	}
}

// datagram is larger than any datagram of an autopilot, in bytes.
const datagram = 8 << 10

// conn passes whole frames from a port or connection to gomavlib, and counts them. gomavlib itself reads at most 512
// bytes of a datagram, and skips the claimed length of a damaged frame with all good frames in it.
type conn struct {
	net.Conn
	counts   *connection
	scan     *tlog.Scanner
	received []byte
	frame    []byte // unread rest of the last frame
	release  func() bool
}

// Read reads the next frame, or as much of it as fits.
func (c *conn) Read(b []byte) (int, error) {
	for len(c.frame) == 0 {
		before := c.scan.Damage
		frame, h, ok := c.scan.Next(false)
		if now := c.scan.Damage; now != before {
			c.counts.total.change(func(s *Statistics) {
				s.BadChecksum += now.BadChecksum - before.BadChecksum
				s.Garbage += now.Garbage - before.Garbage
			})
		}
		if ok {
			c.frame = frame
			c.counts.frame(h, time.Now().UnixNano())
			break
		}
		n, err := c.Conn.Read(c.received)
		c.scan.Write(c.received[:n])
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

// boundConn is a UDP socket that receives from any sender, and sends to remote: a fixed address, or with follow the
// last sender. It is not connected, and so does not fail when no program listens at remote.
type boundConn struct {
	*net.UDPConn
	remote atomic.Pointer[net.UDPAddr]
	follow bool
}

// openBound opens the socket. Others may bind the port of a shared one; broadcasts reach all of them.
func openBound(ctx context.Context, local, remote string, follow, shared bool) (net.Conn, error) {
	probe, err := new(net.Dialer).DialContext(ctx, "udp", remote) // unlike ResolveUDPAddr, this ends with ctx
	if err != nil {
		return nil, err
	}
	to := probe.RemoteAddr().(*net.UDPAddr)
	_ = probe.Close()
	network := "udp"
	if to.IP.To4() != nil {
		network = "udp4" // required for broadcasts
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
