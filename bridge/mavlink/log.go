package mavlink

import (
	"bufio"
	"errors"
	"io"
	"os"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/tlog"
)

// Log reads a telemetry log (.tlog) as ground stations write it: each frame after 8 bytes of time, µs since the Unix epoch,
// big-endian.
type Log struct {
	file *os.File
	tlog tlog.Reader
}

// OpenLog opens the log at path.
func OpenLog(path string) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Log{file: f}
	l.tlog.DialectRW = &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	if err := l.tlog.DialectRW.Initialize(); err != nil {
		return nil, err
	}
	l.tlog.ByteReader = bufio.NewReader(f)
	return l, l.tlog.Initialize()
}

// Next returns the next good frame, io.EOF after the last.
func (l *Log) Next() (*Frame, error) {
	for {
		e, err := l.tlog.Read()
		if errors.As(err, new(frame.ReadError)) {
			continue
		}
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			return nil, err
		}
		received := e.Time.UnixNano()
		return &Frame{System: e.Frame.GetSystemID(), Component: e.Frame.GetComponentID(),
			Sequence: e.Frame.GetSequenceNumber(), Message: e.Frame.GetMessage(),
			Received: received, Stamp: received, Autopilot: e.Frame.GetComponentID() == 1}, nil
	}
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }
