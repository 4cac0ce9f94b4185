//go:build !linux

package mavlink

import (
	"errors"
	"net"
	"syscall"
)

// errLinux is returned for links that need Linux. Logs are read everywhere.
var errLinux = errors.New("MAVLink is received on Linux alone")

func openSerial(string, int, bool) (net.Conn, error) { return nil, errLinux }

func shareAddress(string, string, syscall.RawConn) error { return errLinux }
