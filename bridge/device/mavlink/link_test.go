package mavlink

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/common"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/message"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/codec/format/tlog"
	"tapedeck/codec/format/tlog/tlogtest"
)

// linkUnderTest is a running link.
type linkUnderTest struct {
	*Link
	t       *testing.T
	frames  chan *Frame
	reports chan string
	cancel  context.CancelFunc
	done    chan error
}

func runLink(t *testing.T, source string, o Options) *linkUnderTest {
	l := &linkUnderTest{t: t, frames: make(chan *Frame, 1<<16), reports: make(chan string, 1000),
		done: make(chan error, 1)}
	o.Report = func(text string) { l.reports <- text }
	var err error
	l.Link, err = Open(source, o)
	require.NoError(t, err)
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.Background())
	go func() { l.done <- l.Run(ctx, func(f *Frame) { l.frames <- f }) }()
	t.Cleanup(func() { l.end() })
	return l
}

// end ends the link, and waits for Run to return.
func (l *linkUnderTest) end() {
	l.cancel()
	select {
	case err := <-l.done:
		require.NoError(l.t, err)
		l.done <- nil
	case <-time.After(patient):
		l.t.Fatal("the link does not end")
	}
}

// report waits for a report with this beginning, and returns the rest of it.
func (l *linkUnderTest) report(begin string) string {
	timeout := time.After(patient)
	for {
		select {
		case text := <-l.reports:
			if rest, ok := strings.CutPrefix(text, begin); ok {
				return rest
			}
		case <-timeout:
			l.t.Fatalf("no report %q", begin)
		}
	}
}

// next waits for the next frame.
func (l *linkUnderTest) next() *Frame {
	select {
	case f := <-l.frames:
		return f
	case <-time.After(patient):
		l.t.Fatal("no frame comes")
		return nil
	}
}

// pty is a pseudo terminal, whose other end looks like a serial port.
type pty struct {
	*os.File
	path string
}

func openPTY(t *testing.T) *pty {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skip("no pseudo terminals: ", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	var number int
	raw, err := f.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
		if err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	}))
	require.NoError(t, err)
	return &pty{f, "/dev/pts/" + strconv.Itoa(number)}
}

// ownHost is a loopback address that no other process uses.
var ownHost = net.IPv4(127, byte(1+os.Getpid()>>16), byte(os.Getpid()>>8), byte(os.Getpid())).String()

// freePort returns a UDP port of ownHost that is free.
func freePort(t *testing.T) string {
	c, err := net.ListenPacket("udp4", ownHost+":0")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, port, err := net.SplitHostPort(c.LocalAddr().String())
	require.NoError(t, err)
	return port
}

// peer is the other side of a link, in bytes.
type peer struct {
	write func([]byte)
	read  func([]byte, time.Duration) int // returns the number of bytes received within this time
}

func connPeer(t *testing.T, c interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
}) peer {
	t.Cleanup(func() { _ = c.Close() })
	return peer{
		write: func(b []byte) {
			_, err := c.Write(b)
			require.NoError(t, err)
		},
		read: func(b []byte, d time.Duration) int {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(d)))
			n, err := c.Read(b)
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			}
			return n
		},
	}
}

// udpPeer is a UDP socket that sends to an address.
func udpPeer(t *testing.T, own, to string) peer {
	c, err := net.ListenPacket("udp4", own)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return peer{
		write: func(b []byte) {
			a, err := net.ResolveUDPAddr("udp4", to)
			require.NoError(t, err)
			_, err = c.WriteTo(b, a)
			require.NoError(t, err)
		},
		read: func(b []byte, d time.Duration) int {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(d)))
			n, from, err := c.ReadFrom(b)
			if err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			} else {
				to = from.String()
			}
			return n
		},
	}
}

// tcpServerLink runs a link that listens, with a peer connected to it.
func tcpServerLink(t *testing.T, o Options) (*linkUnderTest, peer) {
	l := runLink(t, "tcp-l://127.0.0.1:0", o)
	c, err := net.Dial("tcp4", l.report("listening at tcp "))
	require.NoError(t, err)
	return l, connPeer(t, c)
}

// endpoints are all kinds of live transports, each with a connected peer. A peer can send to a UDP client only after
// the client has sent something.
var endpoints = []struct {
	name   string
	silent bool // whether we are not known before we send
	open   func(*testing.T, Options) (*linkUnderTest, peer)
}{
	{name: "udp server", open: func(t *testing.T, o Options) (*linkUnderTest, peer) {
		l := runLink(t, "udp://127.0.0.1:0@", o)
		return l, udpPeer(t, "127.0.0.1:0", l.report("listening at udp "))
	}},
	{name: "udp client", silent: true, open: func(t *testing.T, o Options) (*linkUnderTest, peer) {
		own := ownHost + ":" + freePort(t)
		p := udpPeer(t, own, own)
		l := runLink(t, "udp://"+own, o)
		l.report("opened ")
		return l, p
	}},
	{name: "udp bound", open: func(t *testing.T, o Options) (*linkUnderTest, peer) {
		ours, theirs := ownHost+":"+freePort(t), ownHost+":"+freePort(t)
		p := udpPeer(t, theirs, ours)
		l := runLink(t, "udp://"+ours+"@"+theirs, o)
		l.report("opened ")
		return l, p
	}},
	{name: "udp broadcast", open: func(t *testing.T, o Options) (*linkUnderTest, peer) {
		everybody := "127.255.255.255:" + freePort(t)
		l := runLink(t, "udp-broadcast://"+everybody, o)
		l.report("opened ")
		c, err := openBound(t.Context(), everybody, everybody, false, true)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		others := c.(*boundConn)
		w, err := net.DialUDP("udp4", nil, others.remote.Load())
		require.NoError(t, err)
		return l, peer{write: connPeer(t, w).write, read: func(b []byte, d time.Duration) int {
			require.NoError(t, c.SetReadDeadline(time.Now().Add(d)))
			for {
				n, from, err := others.ReadFrom(b)
				if err != nil {
					require.ErrorIs(t, err, os.ErrDeadlineExceeded)
					return 0
				}
				if from.String() != w.LocalAddr().String() {
					return n
				}
			}
		}}
	}},
	{name: "tcp client", open: func(t *testing.T, o Options) (*linkUnderTest, peer) {
		server, err := net.Listen("tcp4", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close()) }()
		l := runLink(t, "tcp://"+server.Addr().String(), o)
		c, err := server.Accept()
		require.NoError(t, err)
		return l, connPeer(t, c)
	}},
	{name: "tcp server", open: tcpServerLink},
	{name: "serial", open: func(t *testing.T, o Options) (*linkUnderTest, peer) {
		p := openPTY(t)
		l := runLink(t, "serial:"+p.path+":57600", o)
		l.report("opened ")
		return l, connPeer(t, p)
	}},
}

// moment returns messages of a vehicle: a heartbeat, a time request, and measurements.
func moment(ms uint32) []message.Message {
	return []message.Message{heartbeat(), &common.MessageTimesync{Ts1: int64(ms) * 1e6}, attitude(ms)}
}

// receive calls enough with each frame received by p, until it returns true. It fails if nothing is received for d.
func (p peer) receive(t *testing.T, d time.Duration, enough func(*frame.V2Frame) bool) {
	known := knownFormats(t)
	s := tlog.NewScanner(known)
	buffer := make([]byte, 2048)
	for {
		n := p.read(buffer, d)
		if n == 0 {
			require.Fail(t, "nothing comes")
		}
		s.Write(buffer[:n])
		for b, h, ok := s.Next(false); ok; b, h, ok = s.Next(false) {
			m, err := known[h.ID].Codec.Read(&message.MessageRaw{ID: h.ID, Payload: b[h.Start:h.End:h.End]}, h.V2)
			require.NoError(t, err)
			if enough(&frame.V2Frame{SystemID: h.System, ComponentID: h.Component, Message: m}) {
				return
			}
		}
	}
}

func TestLinksReceiveSilently(t *testing.T) {
	for _, endpoint := range endpoints {
		t.Run(endpoint.name, func(t *testing.T) {
			l, p := endpoint.open(t, Options{})
			e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
			if endpoint.silent {
				require.Zero(t, p.read(make([]byte, 2048), 100*time.Millisecond))
				return // the peer does not know our address
			}
			for ms := range uint32(20) {
				// Several frames in a datagram of more than 512 bytes, as autopilots send them.
				var all []byte
				for range 4 {
					for _, m := range moment(ms + 1) {
						all = append(all, e.Encode(t, m)...)
					}
					all = append(all,
						e.Encode(t, &common.MessageStatustext{Text: "fifty characters that make a frame long " +
							"enough."})...)
				}
				require.Greater(t, len(all), 512)
				p.write(all)
				for sequence := range 16 {
					f := l.next()
					require.Equal(t, uint8(16*int(ms)+sequence), f.Sequence)
					require.True(t, f.V2)
					require.Equal(t, address{1, 1}, address{f.System, f.Component})
					require.True(t, f.Autopilot)
					require.InDelta(t, time.Now().UnixNano(), f.Received, float64(patient))
					if m, ok := f.Message.(*common.MessageAttitude); ok {
						require.Equal(t, attitude(ms+1), m)
					}
				}
			}
			s := l.Statistics()
			require.Equal(t, uint64(320), s.Received)
			require.Zero(t, s.Lost+s.BadChecksum+s.Garbage+s.Dropped+s.Duplicates)
			require.Equal(t, 1, s.Open)
			require.Equal(t, 1, len(l.Vehicles()))
			require.True(t, l.Vehicles()[0].Connected)
			require.Zero(t, p.read(make([]byte, 2048), 100*time.Millisecond))
		})
	}
}

// Everything that Options ask for reaches the peer, and nothing else.
func TestLinksSend(t *testing.T) {
	for _, endpoint := range endpoints {
		t.Run(endpoint.name, func(t *testing.T) {
			l, p := endpoint.open(t, Options{System: 7, Component: 42, Heartbeat: 50, TimeSync: 50,
				AnswerTimeSync: true,
				Streams:        map[uint8]uint16{6: 3, 10: 0},
				Intervals:      map[uint32]float64{105: 50, 30: -1, 31: 0}})
			e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
			missing := map[string]bool{"heartbeat": true, "stream 6": true, "stream 10": true, "interval 105": true,
				"interval 30": true, "interval 31": true, "request": true, "reply": true}
			if !endpoint.silent {
				p.write(e.Encode(t, heartbeat()))
			}
			p.receive(t, patient, func(f *frame.V2Frame) bool {
				require.Equal(t, address{7, 42}, address{f.SystemID, f.ComponentID})
				switch m := f.Message.(type) {
				case *ardupilotmega.MessageHeartbeat:
					require.Equal(t, ardupilotmega.MAV_AUTOPILOT_INVALID, m.Autopilot)
					require.Equal(t, ardupilotmega.MAV_TYPE_ONBOARD_CONTROLLER, m.Type)
					if missing["heartbeat"] {
						for _, m := range moment(5) {
							p.write(e.Encode(t, m))
						}
					}
					delete(missing, "heartbeat")
				case *common.MessageRequestDataStream:
					require.Equal(t, address{1, 1}, address{m.TargetSystem, m.TargetComponent})
					require.Equal(t, map[uint8]uint16{6: 3, 10: 0}[m.ReqStreamId], m.ReqMessageRate)
					require.Equal(t, map[uint8]uint8{6: 1, 10: 0}[m.ReqStreamId], m.StartStop)
					delete(missing, "stream "+strconv.Itoa(int(m.ReqStreamId)))
				case *common.MessageCommandLong:
					require.Equal(t, common.MAV_CMD_SET_MESSAGE_INTERVAL, m.Command)
					require.Equal(t, address{1, 1}, address{m.TargetSystem, m.TargetComponent})
					require.Equal(t, map[float32]float32{105: 20000, 30: -1, 31: 0}[m.Param1], m.Param2)
					delete(missing, "interval "+strconv.Itoa(int(m.Param1)))
				case *common.MessageTimesync:
					require.Equal(t, address{1, 1}, address{m.TargetSystem, m.TargetComponent})
					if m.Tc1 == 0 {
						require.InDelta(t, time.Now().UnixNano(), m.Ts1, float64(patient))
						delete(missing, "request")
					} else {
						require.EqualValues(t, 5e6, m.Ts1)
						require.InDelta(t, time.Now().UnixNano(), m.Tc1, float64(patient))
						delete(missing, "reply")
					}
				default:
					require.Fail(t, "not asked for", "%T", m)
				}
				return len(missing) == 0
			})
			for l.next().Message.GetID() != 30 {
				continue
			}
		})
	}
}

// An autopilot sends to a UDP client after it has received something.
func TestUDPClient(t *testing.T) {
	own := ownHost + ":" + freePort(t)
	p := udpPeer(t, own, own)
	l := runLink(t, "udp://"+own, Options{Heartbeat: 20})
	p.receive(t, patient, func(*frame.V2Frame) bool { return true })
	p.write(tlogtest.NewEncoder(t, 1, streamwriter.V2).Encode(t, attitude(3)))
	require.Equal(t, attitude(3), l.next().Message)
}

func TestReopenedPorts(t *testing.T) {
	for _, test := range []struct {
		name string
		run  func(*testing.T) (source string, plug func() (peer, func()))
	}{
		{"serial", func(t *testing.T) (string, func() (peer, func())) {
			device := filepath.Join(t.TempDir(), "ttyACM0")
			return "serial:" + device, func() (peer, func()) {
				p := openPTY(t)
				require.NoError(t, os.Symlink(p.path, device))
				return connPeer(t, p), func() {
					require.NoError(t, os.Remove(device))
					require.NoError(t, p.Close())
				}
			}
		}},
		{"tcp", func(t *testing.T) (string, func() (peer, func())) {
			server, err := net.Listen("tcp4", ownHost+":0")
			require.NoError(t, err)
			where := server.Addr().String()
			require.NoError(t, server.Close())
			return "tcp://" + where, func() (peer, func()) {
				server, err := net.Listen("tcp4", where)
				require.NoError(t, err)
				c, err := server.Accept()
				require.NoError(t, err)
				return connPeer(t, c), func() {
					require.NoError(t, server.Close()) // first, lest the link connects again meanwhile
					require.NoError(t, c.Close())
				}
			}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			source, plug := test.run(t)
			l := runLink(t, source, Options{})
			l.report("cannot open " + source)
			e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
			for i := range uint32(2) {
				p, unplug := plug()
				l.report("opened ")
				p.write(e.Encode(t, attitude(i)))
				require.Equal(t, attitude(i), l.next().Message)
				require.Equal(t, 1, l.Statistics().Open)
				require.Empty(t, l.Statistics().Problem)
				unplug()
				l.report("closed ")
				require.Zero(t, l.Statistics().Open)
				require.NotEmpty(t, l.Statistics().Problem)
				require.EqualValues(t, i+1, l.Statistics().Opened)
			}
			require.Zero(t, l.Statistics().Lost)
		})
	}
}

func TestNoise(t *testing.T) {
	l, p := tcpServerLink(t, Options{})
	e := tlogtest.NewEncoder(t, 1, streamwriter.V1)
	first, bad, last := e.Encode(t, attitude(1)), e.Encode(t, attitude(2)), e.Encode(t, attitude(3))
	bad[20]++
	p.write(slices.Concat([]byte("noise"), first, bad, last))
	require.Equal(t, attitude(1), l.next().Message)
	require.Equal(t, attitude(3), l.next().Message)
	s := l.Statistics()
	require.EqualValues(t, 5, s.Garbage)
	require.EqualValues(t, 1, s.BadChecksum)
	require.EqualValues(t, 1, s.Lost)
	require.EqualValues(t, 2, s.Received)
}

// An autopilot with another clock answers over a real connection.
func TestTimeSyncOverALink(t *testing.T) {
	const began = 12345678900 // of its clock, in ns before the time
	l, p := tcpServerLink(t, Options{TimeSync: 1000})
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	p.write(e.Encode(t, heartbeat()))
	p.receive(t, patient, func(f *frame.V2Frame) bool {
		request := f.Message.(*common.MessageTimesync)
		p.write(e.Encode(t, &common.MessageTimesync{Tc1: time.Now().UnixNano() - someTime + began, Ts1: request.Ts1,
			TargetSystem: f.SystemID, TargetComponent: f.ComponentID}))
		p.write(e.Encode(t, heartbeat()))
		return l.Vehicles()[0].Clock.Synchronised
	})
	clock := l.Vehicles()[0].Clock
	require.InDelta(t, someTime-began, clock.Offset, 10e6)
	require.GreaterOrEqual(t, clock.Exchanges, syncWindow)
	require.NotZero(t, clock.RoundTrip)
}

// Frames are read, stamped and counted while the handler is blocked.
func TestSlowHandler(t *testing.T) {
	l, err := Open("tcp-l://127.0.0.1:0", Options{Report: func(string) {}})
	require.NoError(t, err)
	reports := make(chan string, 100)
	l.options.Report = func(text string) { reports <- text }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var handled []uint8
	first, stuck, done := make(chan struct{}, 2*queueSize), make(chan struct{}), make(chan error)
	go func() {
		done <- l.Run(ctx, func(f *Frame) {
			first <- struct{}{}
			<-stuck
			handled = append(handled, f.Sequence)
			if f.Message.GetID() == 0 {
				cancel()
			}
		})
	}()
	c, err := net.Dial("tcp4", strings.TrimPrefix(<-reports, "listening at tcp "))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
	const frames = queueSize + 1000
	for i := range uint32(frames - 1) {
		_, err := c.Write(e.Encode(t, attitude(i+1)))
		require.NoError(t, err)
		if i == 0 {
			<-first
		}
	}
	_, err = c.Write(e.Encode(t, heartbeat()))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return l.Statistics().Received == frames && len(l.Vehicles()) == 1 }, patient,
		5*time.Millisecond)
	close(stuck)
	require.NoError(t, <-done)
	require.Len(t, handled, 1+queueSize)
	require.EqualValues(t, frames-1-queueSize, l.Statistics().Dropped)
	require.EqualValues(t, 0, handled[0])
	require.EqualValues(t, uint8((frames-1)%256), handled[len(handled)-1])
}

func TestSeveralVehiclesOnOnePort(t *testing.T) {
	l := runLink(t, "udp://127.0.0.1:0@", Options{})
	to := l.report("listening at udp ")
	for system := range uint8(3) {
		p, e := udpPeer(t, "127.0.0.1:0", to), tlogtest.NewEncoder(t, system+1, streamwriter.V2)
		p.write(e.Encode(t, heartbeat()))
		p.write(e.Encode(t, attitude(uint32(system))))
		require.Equal(t, system+1, l.next().System)
		require.Equal(t, system+1, l.next().System)
	}
	require.Len(t, l.Vehicles(), 3)
	require.Len(t, l.Statistics().Components, 3)
	require.Equal(t, 3, l.Statistics().Open)
	require.Zero(t, l.Statistics().Lost)
}

func TestPortInUse(t *testing.T) {
	c, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	source := "tcp-l://" + c.Addr().String()
	l, err := Open(source, Options{})
	require.NoError(t, err)
	err = l.Run(t.Context(), func(*Frame) {})
	require.ErrorIs(t, err, unix.EADDRINUSE)
	require.ErrorContains(t, err, source)
}

// Links end at once in any state, and leave no goroutines behind.
func TestNoGoroutineLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, endpoint := range endpoints {
		l, p := endpoint.open(t, Options{Heartbeat: 1000, TimeSync: 1000})
		e := tlogtest.NewEncoder(t, 1, streamwriter.V2)
		if !endpoint.silent {
			p.write(e.Encode(t, heartbeat()))
			l.next()
		}
		l.end()
	}
	runLink(t, "serial:/nowhere/ttyS9", Options{}).end()
	runLink(t, "tcp://127.0.0.1:1", Options{}).end()
	for deadline := time.Now().Add(patient); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "more goroutines than before")
	}
}
