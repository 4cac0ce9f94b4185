package mavlink

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// shareAddress lets other sockets use the address, too. It is a net.ListenConfig.Control.
func shareAddress(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	}); e != nil {
		return e
	}
	return err
}
