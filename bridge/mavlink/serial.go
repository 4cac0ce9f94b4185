package mavlink

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// serialConn is an open serial port. Reading it never times out: an autopilot may be silent, and opening a port anew
// resets some of them.
type serialConn struct{ *os.File }

func (serialConn) LocalAddr() net.Addr             { return nil }
func (serialConn) RemoteAddr() net.Addr            { return nil }
func (serialConn) SetReadDeadline(time.Time) error { return nil }

// Write sends b, or drops it if the other side takes nothing: that is no reason to stop listening to it.
func (c serialConn) Write(b []byte) (int, error) {
	n, err := c.File.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return len(b), nil
	}
	return n, err
}

// openSerial opens a serial port for bytes of 8 bits, no parity and one stop bit, for us alone.
func openSerial(path string, baud int, flowControl bool) (net.Conn, error) {
	// Without O_NONBLOCK, opening waits for a modem's carrier, and closing does not end a read.
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; users of serial ports are in the group dialout", err)
	}
	if err != nil {
		return nil, err
	}
	raw, err := f.SyscallConn()
	if err == nil {
		if e := raw.Control(func(fd uintptr) { err = setUpSerial(int(fd), baud, flowControl) }); e != nil {
			err = e
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("set up %s at %d baud: %w", path, baud, err)
	}
	return serialConn{f}, nil
}

func setUpSerial(fd, baud int, flowControl bool) error {
	if err := unix.IoctlSetInt(fd, unix.TIOCEXCL, 0); err != nil {
		return err
	}
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return err
	}
	t.Iflag, t.Oflag, t.Lflag = unix.IGNPAR, 0, 0
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.BOTHER // any rate, not only the classic ones
	if flowControl {
		t.Cflag |= unix.CRTSCTS
	}
	t.Ispeed, t.Ospeed = uint32(baud), uint32(baud)
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS2, t); err != nil {
		return err
	}
	return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // what came at another rate
}
