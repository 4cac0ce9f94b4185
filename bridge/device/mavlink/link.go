// Package mavlink receives messages of MAVLink autopilots over serial ports, UDP and TCP, and from telemetry logs
// (.tlog). It decodes messages with gomavlib's dialect ardupilotmega (which includes common, standard and minimal),
// identifies the autopilot of each system, maps the clocks of autopilots to this computer's, and counts losses.
//
// gomavlib runs the connections. The scanner of codec/format/tlog finds frames, as gomavlib loses good frames after
// damage, and everything beyond 512 bytes of a datagram: see TestGomavlibLosesFrames and TestGomavlibLosesRecords. conn
// puts the scanner between gomavlib and each port, and therefore the ports are opened here, not by gomavlib. That also
// allows hardware flow control of serial ports and a shared broadcast port, for which gomavlib has no options.
//
// Nothing is sent unless Options ask for it.
package mavlink

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/bluenviron/gomavlib/v3"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/message"

	"tapedeck/codec/format/tlog"
)

// queueSize is how many frames may wait for the handler: over ten seconds of a busy telemetry stream.
const queueSize = 4096

// Link receives MAVLink frames.
type Link struct {
	name      string
	transport *transport
	options   Options
	formats   map[uint32]tlog.MessageFormat
	counts    *statistics
	tracker   *tracker
}

// Open returns the link that source names:
//
//	serial:/dev/ttyACM0:57600           a serial port, which need not exist yet
//	udp://:14550                        UDP, from any sender to this port
//	udp://host:14550                    UDP, from that host, which learns our address when we send (Options.Heartbeat)
//	udp-broadcast://192.168.5.255:14550 UDP, from any sender to this port; sending broadcasts to it
//	tcp://host:5760                     TCP, as a client
//	tcp-l://:5760                       TCP, as a server
//	flight.tlog                         a telemetry log, as ground stations write it
//
// MAVROS' forms are known, too: /dev/ttyACM0:57600, serial:///dev/ttyACM0:57600, serial-hwfc:// with hardware flow
// control, and udp://[host][:port]@[host][:port].
//
// Run opens the source. Open returns an error for an invalid source or invalid options.
func Open(source string, options Options) (*Link, error) {
	t, err := parseTransport(source)
	if err != nil {
		return nil, err
	}
	if err := options.check(); err != nil {
		return nil, fmt.Errorf("MAVLink source %q: %w", source, err)
	}
	known, err := tlog.Formats()
	if err != nil {
		return nil, err
	}
	return &Link{name: source, transport: t, options: options, formats: known, counts: newStatistics(),
		tracker: newTracker(known, options.Stamps)}, nil
}

// IsLog reports whether the source is a log, which ends.
func (l *Link) IsLog() bool { return l.transport.kind == logFile }

// Run receives until ctx or the log ends, and passes each frame to handle, one at a time. A source that cannot be
// opened or was closed is reopened every two seconds without limit; connections and sockets that are silent for a
// minute are reopened. When thousands of frames wait for handle, the oldest are dropped and counted. Run returns nil at
// the end of a log or of ctx, and an error if the source is unusable: a file that is not a log, or a port in use. It
// must be called only once.
func (l *Link) Run(ctx context.Context, handle func(*Frame)) error {
	if l.IsLog() {
		return l.runLog(ctx, handle)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	e := &endpoint{link: l, ctx: ctx}
	node, err := e.start()
	if err != nil {
		return fmt.Errorf("open %s: %w", l.name, err)
	}
	s := &sender{link: l, node: node}
	queue := make(chan *Frame, queueSize)
	var running sync.WaitGroup
	running.Go(func() { l.receive(node, s, queue) })
	running.Go(func() { s.requestTime(ctx) })
	for ctx.Err() == nil {
		select {
		case f := <-queue:
			handle(f)
		case <-ctx.Done():
		}
	}
	node.Close()
	running.Wait()
	l.counts.change(func(s *Statistics) { s.Open = 0 })
	return nil
}

// receive queues the frames that node receives until it is closed. It never blocks, so that frames are stamped on
// reception.
func (l *Link) receive(node *gomavlib.Node, s *sender, queue chan *Frame) {
	for event := range node.Events() {
		switch e := event.(type) {
		case *gomavlib.EventChannelOpen:
			l.opened(e.Channel.String())
		case *gomavlib.EventChannelClose:
			l.closed(e.Channel.String(), e.Error)
		case *gomavlib.EventParseError: // conn passes only valid frames
			l.counts.change(func(s *Statistics) { s.BadChecksum++ })
		case *gomavlib.EventFrame:
			_, v2 := e.Frame.(*frame.V2Frame)
			f := &Frame{System: e.SystemID(), Component: e.ComponentID(), Sequence: e.Frame.GetSequenceNumber(), V2: v2,
				Message: e.Message(), Received: time.Now().UnixNano()}
			if f.System == l.options.System && f.Component == l.options.Component {
				continue // our own broadcast
			}
			l.tracker.note(f, e.Channel)
			s.react(f, e.Channel)
			for len(queue) == cap(queue) {
				select {
				case <-queue:
					l.counts.change(func(s *Statistics) { s.Dropped++ })
				default:
				}
			}
			queue <- f
		}
	}
}

// opened reports that a port or connection was opened.
func (l *Link) opened(label string) {
	l.counts.change(func(s *Statistics) { s.Open++; s.Opened++; s.Problem = "" })
	l.options.Report("opened " + label)
}

// closed reports that a port or connection was closed.
func (l *Link) closed(label string, err error) {
	text := "closed " + label
	if err != nil {
		text += ": " + err.Error()
	}
	l.counts.change(func(s *Statistics) {
		s.Open--
		if s.Open == 0 {
			s.Problem = text
		}
	})
	l.options.Report(text)
}

// failed reports that a port or connection could not be opened. It does not repeat the last report.
func (l *Link) failed(err error) {
	text := fmt.Sprintf("cannot open %s: %v", l.name, err)
	news := false
	l.counts.change(func(s *Statistics) {
		news = s.Problem != text
		s.Problem = text
	})
	if news {
		l.options.Report(text)
	}
}

// now returns the time for statistics, in ns: for a log, the stamp of its last frame.
func (l *Link) now() int64 {
	if l.IsLog() {
		return l.tracker.latest()
	}
	return time.Now().UnixNano()
}

// Statistics returns the counts so far. It may be called at any time.
func (l *Link) Statistics() Statistics { return l.counts.snapshot(l.now()) }

// Vehicles returns the systems that have an autopilot, by system id. It may be called at any time.
func (l *Link) Vehicles() []Vehicle { return l.tracker.snapshot(l.now()) }

// Frame is one MAVLink frame that was received whole.
type Frame struct {
	System    uint8
	Component uint8
	Sequence  uint8
	V2        bool // of MAVLink 2

	// Message is a pointer to a message type of gomavlib's dialect ardupilotmega, such as *common.MessageAttitude, or a
	// *message.MessageRaw if its id is not in the dialect. The handler may keep it.
	Message message.Message

	// Received is when the frame arrived, in ns since the Unix epoch: by this computer's clock, or by the clock that
	// stamped a log.
	Received int64

	// Stamp is when the message's content was measured, in ns since the Unix epoch, as Options.Stamps asks. It is
	// Received for messages that carry no time.
	Stamp int64

	// Autopilot reports whether the frame is from the autopilot of its system, not from a gimbal, radio, camera or
	// ground station.
	Autopilot bool
}
