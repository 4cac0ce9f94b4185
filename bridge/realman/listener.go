package realman

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxPacket is how long a packet can be.
const maxPacket = 64 << 10

// Listener receives what arms push to a UDP port. Several arms may push to the same port;
// the sender of a packet tells which arm it is.
type Listener struct {
	conn *net.UDPConn

	mu        sync.Mutex // of what follows
	strangers map[netip.Addr]uint64
}

// Listen listens to an address of this machine, such as ":8089".
func Listen(address string) (*Listener, error) {
	addr, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, err
	}
	// The kernel knows best when a packet came; where it does not tell, we look at the clock.
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	}
	return &Listener{conn: conn, strangers: map[netip.Addr]uint64{}}, nil
}

// Port returns the port that is listened to.
func (l *Listener) Port() int { return l.conn.LocalAddr().(*net.UDPAddr).Port }

// Strangers returns how many packets came from addresses of no arm.
func (l *Listener) Strangers() map[netip.Addr]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.strangers)
}

// maxStrangers is how many addresses are remembered.
const maxStrangers = 16

// Serve gives packets to the arms that they are from, until the Listener is closed.
func (l *Listener) Serve(arms ...*Arm) error {
	data, control := make([]byte, maxPacket), make([]byte, 256)
	for {
		n, c, _, from, err := l.conn.ReadMsgUDPAddrPort(data, control)
		at := stamp(control[:c])
		if err != nil {
			return fmt.Errorf("receive on UDP port %d: %w", l.Port(), err)
		}
		l.give(arms, from.Addr().Unmap(), data[:n], at)
	}
}

func (l *Listener) give(arms []*Arm, from netip.Addr, data []byte, at time.Time) {
	for _, a := range arms {
		if a.is(from) {
			a.Receive(data, at)
			l.acquaint(from)
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.strangers[from]; known || len(l.strangers) < maxStrangers {
		l.strangers[from]++
	}
}

// acquaint has an address be no stranger's: a name may stand for it that was not known before.
func (l *Listener) acquaint(ip netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.strangers, ip)
}

// stamp returns when a packet came, as its control messages say, or the time.
func stamp(control []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(control)
	if err == nil {
		for _, m := range messages {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
				return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
			}
		}
	}
	return time.Now()
}

// Close ends Serve.
func (l *Listener) Close() error { return l.conn.Close() }
