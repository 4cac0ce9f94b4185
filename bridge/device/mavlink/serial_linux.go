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

// serialConn is an open serial port. Reads never time out: an autopilot may be silent, and reopening the port resets
// some autopilots.
type serialConn struct{ *os.File }

func (serialConn) LocalAddr() net.Addr             { return nil }
func (serialConn) RemoteAddr() net.Addr            { return nil }
func (serialConn) SetReadDeadline(time.Time) error { return nil }

// Write sends b, or drops it if the other side does not accept it: this does not end reception.
func (c serialConn) Write(b []byte) (int, error) {
	n, err := c.File.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return len(b), nil
	}
	return n, err
}

// openSerial opens a serial port exclusively, with 8 data bits, no parity and one stop bit.
func openSerial(path string, baud int, flowControl bool) (net.Conn, error) {
	// Without O_NONBLOCK, opening waits for a modem's carrier, and closing does not interrupt a read.
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		err = fmt.Errorf("%w; serial ports need membership of the group dialout", err)
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
	t.Cflag = unix.CS8 | unix.CREAD | unix.CLOCAL | unix.BOTHER // any rate, not only the standard ones
	if flowControl {
		t.Cflag |= unix.CRTSCTS
	}
	t.Ispeed, t.Ospeed = uint32(baud), uint32(baud)
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, unix.TCSETS2, t); err != nil {
		return err
	}
	return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) // bytes received at another rate
}
