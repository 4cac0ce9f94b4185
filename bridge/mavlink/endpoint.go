package mavlink

import (
	"context"
	"net"
	"time"

	"github.com/bluenviron/gomavlib/v3"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/pion/transport/v2/udp"
)

const (
	receiveBuffer = 512 << 10 // bytes that the system keeps of UDP
	idle          = time.Minute
	writeTimeout  = time.Second
	acceptPause   = time.Second
)

// endpoint opens the ports and connections of a link for gomavlib. Those end with ctx.
type endpoint struct {
	link *Link
	ctx  context.Context
}

// start starts a node at the link's source.
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
	switch e.link.source.kind {
	case udpServer, tcpServer:
		node.Endpoints = []gomavlib.EndpointConf{gomavlib.EndpointCustomServer{Listen: e.listen, Label: e.network()}}
	default:
		node.Endpoints = []gomavlib.EndpointConf{gomavlib.EndpointCustomClient{Connect: e.connect, Label: e.link.name}}
	}
	return node, node.Initialize()
}

// period returns how long one of rate events in a second takes; 0 if there are none.
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
	s := e.link.source
	switch s.kind {
	case serialPort:
		return openSerial(s.path, s.baud, s.flowControl)
	case tcpClient:
		return new(net.Dialer).DialContext(ctx, "tcp", s.remote)
	default:
		return openBound(ctx, s.local, s.remote, s.follow, s.shared)
	}
}

// wrap makes what comes through c frames.
func (e *endpoint) wrap(c net.Conn) net.Conn {
	// Where a frame begins is unknown until one was found.
	scan := &scanner{formats: e.link.formats, edge: -1}
	return newConn(e.ctx, c, e.link.options.Clock, newConnection(e.link.counts, scan))
}

// listen listens for connections as a server. UDP's are who sends from one address.
func (e *endpoint) listen() (net.Listener, error) {
	l, err := e.bind()
	if err != nil {
		return nil, err
	}
	e.link.options.Report("listening at " + e.network() + " " + l.Addr().String())
	return &listener{Listener: l, endpoint: e}, nil
}

// network is what a server listens to.
func (e *endpoint) network() string {
	if e.link.source.kind == tcpServer {
		return "tcp"
	}
	return "udp"
}

func (e *endpoint) bind() (net.Listener, error) {
	local := e.link.source.local
	if e.link.source.kind == tcpServer {
		return new(net.ListenConfig).Listen(e.ctx, "tcp", local)
	}
	a, err := net.ResolveUDPAddr("udp", local)
	if err != nil {
		return nil, err
	}
	return (&udp.ListenConfig{ReadBufferSize: receiveBuffer}).Listen("udp", a)
}

// listener accepts connections of a link.
type listener struct {
	net.Listener
	endpoint *endpoint
}

// Accept returns the next connection. Errors that pass are waited out, as gomavlib gives up at the first.
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
		if err := l.endpoint.link.options.Clock.Sleep(l.endpoint.ctx, acceptPause); err != nil {
			return nil, err
		}
	}
}
