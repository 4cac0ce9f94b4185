package mavlink

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Default ports and baud rate, as in MAVROS.
const (
	defaultBaud    = 57600
	defaultUDPPort = 14550 // of the other side
	defaultUDPOwn  = 14555
	defaultTCPPort = 5760
)

// kind is the kind of a transport.
type kind int

const (
	logFile kind = iota
	serialPort
	udpServer // receives from any sender
	udpBound  // sends to one address
	tcpServer
	tcpClient
)

// transport describes how frames arrive.
type transport struct {
	kind        kind
	path        string // of the log or the serial port
	baud        int
	flowControl bool   // of the serial port, by RTS and CTS
	local       string // host:port to listen at; port 0 is any
	remote      string // host:port to connect or send to
	follow      bool   // a bound socket sends to the last sender instead
	shared      bool   // other sockets may bind the port, too
}

// parseTransport parses a source, in the forms that Open lists.
func parseTransport(name string) (*transport, error) {
	t := new(transport)
	if err := t.parse(name); err != nil {
		return nil, fmt.Errorf("MAVLink source %q: %w", name, err)
	}
	return t, nil
}

func (t *transport) parse(name string) error {
	if strings.HasSuffix(strings.ToLower(name), ".tlog") {
		t.kind, t.path = logFile, name
		return nil
	}
	scheme, rest, found := strings.Cut(name, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case strings.HasPrefix(name, "/dev/"):
		return t.parseSerial(name)
	case found && (scheme == "serial" || scheme == "serial-hwfc"):
		t.flowControl = scheme == "serial-hwfc"
		return t.parseSerial(strings.TrimPrefix(rest, "//"))
	}
	where, slashes := strings.CutPrefix(rest, "//")
	if !found || !slashes {
		return errors.New("want a .tlog file or one of serial:DEVICE:BAUD, udp://:PORT, udp://HOST:PORT, " +
			"udp://[HOST][:PORT]@[HOST][:PORT], udp-broadcast://ADDRESS:PORT, tcp://HOST:PORT, tcp-l://:PORT")
	}
	where = strings.TrimSuffix(where, "/")
	var err error
	switch scheme {
	case "udp":
		return t.parseUDP(where)
	case "udp-broadcast":
		return t.parseBroadcast(where)
	case "tcp":
		t.kind = tcpClient
		t.remote, err = hostPort(where, "localhost", defaultTCPPort)
	case "tcp-l":
		t.kind = tcpServer
		t.local, err = hostPort(where, "", defaultTCPPort)
	default:
		err = fmt.Errorf("unknown scheme %q; want serial, serial-hwfc, udp, udp-broadcast, tcp or tcp-l", scheme)
	}
	return err
}

// parseSerial parses DEVICE[:BAUD].
func (t *transport) parseSerial(name string) error {
	t.kind, t.path, t.baud = serialPort, name, defaultBaud
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		baud, err := strconv.Atoi(name[i+1:])
		switch {
		case err == nil && 0 < baud && baud <= 20e6:
			t.path, t.baud = name[:i], baud
		case err == nil || !strings.HasPrefix(name, "/dev/serial/by-path/"): // names with colons
			return fmt.Errorf("baud rate %q is not a number from 1 to 20000000", name[i+1:])
		}
	}
	if t.path == "" {
		return errors.New("missing device, as in serial:/dev/ttyACM0:57600")
	}
	return nil
}

// parseUDP parses :PORT (a server), HOST:PORT, and MAVROS' [HOST][:PORT]@[HOST][:PORT].
func (t *transport) parseUDP(where string) (err error) {
	own, other, both := strings.Cut(where, "@")
	if !both {
		if host, _, err := net.SplitHostPort(where); err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
			t.kind = udpServer
			t.local, err = hostPort(where, "", 0)
			return err
		}
		t.kind, t.local = udpBound, ":0"
		t.remote, err = hostPort(where, "", 0)
		return err
	}
	t.local, err = hostPort(own, "", defaultUDPOwn)
	if err != nil {
		return err
	}
	if other == "" {
		t.kind = udpServer
		return nil
	}
	t.kind, t.follow = udpBound, true
	t.remote, err = hostPort(other, "", defaultUDPPort)
	return err
}

// parseBroadcast parses ADDRESS:PORT. Broadcasts to that port are received, too.
func (t *transport) parseBroadcast(where string) (err error) {
	t.kind, t.shared = udpBound, true
	t.remote, err = hostPort(where, "255.255.255.255", defaultUDPPort)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(t.remote)
	if ip := net.ParseIP(host); err != nil || ip.To4() == nil {
		return fmt.Errorf("%q is not an IPv4 broadcast address, such as 192.168.5.255", host)
	}
	t.local = ":" + port
	return nil
}

// hostPort completes [HOST][:PORT] with defaults. A port must be given if the default is 0.
func hostPort(text, host string, port int) (string, error) {
	given, number := text, ""
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		given, number = text[:i], text[i+1:]
		p, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return "", fmt.Errorf("port %q is not a number from 0 to 65535", number)
		}
		port = int(p)
	}
	if number == "" && port == 0 {
		return "", fmt.Errorf("%q has no port", text)
	}
	if bare, ok := strings.CutPrefix(given, "["); ok {
		given = strings.TrimSuffix(bare, "]")
	} else if strings.ContainsAny(given, ":/@") {
		return "", fmt.Errorf("%q is not a host", given)
	}
	if given != "" {
		host = given
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}
