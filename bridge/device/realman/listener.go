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

// maxPacket is the greatest length of a packet.
const maxPacket = 64 << 10

// Listener receives the packets that arms push to a UDP port. Several arms may share it: the sender of a packet
// identifies the arm.
type Listener struct {
	conn *net.UDPConn

	mu        sync.Mutex            // guards strangers
	strangers map[netip.Addr]uint64 // packets by sender
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
	// Prefer the kernel's time of reception; without it stamp takes the time of reading.
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) })
	}
	return &Listener{conn: conn, strangers: map[netip.Addr]uint64{}}, nil
}

// Port returns the UDP port.
func (l *Listener) Port() int { return l.conn.LocalAddr().(*net.UDPAddr).Port }

// Strangers returns the number of packets from each address that belongs to no arm.
func (l *Listener) Strangers() map[netip.Addr]uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.strangers)
}

// maxStrangers bounds the addresses that are remembered.
const maxStrangers = 16

// Serve passes packets to the arms that sent them, until the Listener is closed.
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
			l.mu.Lock()
			delete(l.strangers, from) // the name of the arm may have been resolved to it since
			l.mu.Unlock()
			return
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.strangers[from]; known || len(l.strangers) < maxStrangers {
		l.strangers[from]++
	}
}

// stamp returns when a packet was received: by its control messages, or else the current time.
func stamp(control []byte) time.Time {
	messages, err := unix.ParseSocketControlMessage(control)
	if err == nil {
		for _, m := range messages {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= 16 {
				return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)),
					int64(binary.NativeEndian.Uint64(m.Data[8:])))
			}
		}
	}
	return time.Now()
}

// Close ends Serve.
func (l *Listener) Close() error { return l.conn.Close() }
