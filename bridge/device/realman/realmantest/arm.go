// Package realmantest has fake RealMan arms for tests. They reply over TCP and push over UDP as real arms do, or with
// the faults that a test sets.
package realmantest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Arm is a fake arm. It listens from Start on.
type Arm struct {
	Generation int                               // 2 to 4, as controllers are counted; 0 is 3
	Pose       func(since time.Duration) Posture // its state some time after Start; nil: Still
	// Answer, unless nil, replaces the usual reply; "" is no reply.
	Answer func(command, usual string) (r string)

	listener *net.TCPListener
	pushing  *net.UDPConn
	started  time.Time
	done     sync.WaitGroup

	mu       sync.Mutex        // guards the fields below
	conns    map[net.Conn]bool // open ones
	count    int               // of all connections so far
	requests map[string]int    // by command
	stop     []chan struct{}   // of the goroutines that push
	closed   bool
}

// Start listens to an address: a host, and a port or 0 for any. The arm pushes packets from the host.
func (a *Arm) Start(address string) error {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	a.listener, err = net.ListenTCP("tcp", addr)
	if err != nil {
		return err
	}
	a.pushing, err = net.ListenUDP("udp", &net.UDPAddr{IP: addr.IP})
	if err != nil {
		a.listener.Close()
		return err
	}
	if a.Generation == 0 {
		a.Generation = 3
	}
	if a.Pose == nil {
		a.Pose = func(time.Duration) Posture { return Still }
	}
	a.started, a.conns, a.requests = time.Now(), map[net.Conn]bool{}, map[string]int{}
	a.done.Go(a.accept)
	return nil
}

// Host returns the address of the arm.
func (a *Arm) Host() string { return a.listener.Addr().(*net.TCPAddr).IP.String() }

// Port returns the TCP port that the arm listens to.
func (a *Arm) Port() int { return a.listener.Addr().(*net.TCPAddr).Port }

// Close stops the arm.
func (a *Arm) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.listener.Close()
	a.Reset()
	a.Silence()
	a.done.Wait()
	a.pushing.Close()
}

// Connections returns how many connections there were.
func (a *Arm) Connections() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count
}

// Requests returns how often a command was received.
func (a *Arm) Requests(command string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[command]
}

// Commands returns all commands that were received.
func (a *Arm) Commands() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.requests))
}

// Reset cuts all connections, as a loss of power does.
func (a *Arm) Reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for conn := range a.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		conn.Close()
	}
}

// Send sends a text on all connections.
func (a *Arm) Send(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for conn := range a.conns {
		_, _ = conn.Write([]byte(text))
	}
}

func (a *Arm) accept() {
	for {
		conn, err := a.listener.Accept()
		if err != nil {
			return
		}
		a.mu.Lock()
		if a.closed {
			conn.Close()
		}
		a.conns[conn] = true
		a.count++
		a.mu.Unlock()
		a.done.Go(func() { a.serve(conn) })
	}
}

func (a *Arm) serve(conn net.Conn) {
	defer func() {
		a.mu.Lock()
		delete(a.conns, conn)
		a.mu.Unlock()
		conn.Close()
	}()
	in := json.NewDecoder(conn)
	for {
		var request request
		if in.Decode(&request) != nil {
			return
		}
		a.mu.Lock()
		a.requests[request.Command]++
		a.mu.Unlock()
		reply := a.reply(&request)
		if a.Answer != nil {
			reply = a.Answer(request.Command, reply)
		}
		if _, err := conn.Write([]byte(reply)); err != nil {
			return
		}
	}
}

// request is a command to an arm.
type request struct {
	Command string `json:"command"`
	Cycle   int    `json:"cycle"`
	Enable  bool   `json:"enable"`
	Port    int    `json:"port"`
	IP      string `json:"ip"`
}

// reply returns the usual reply, "" if the command is unknown.
func (a *Arm) reply(r *request) string {
	if r.Command == "set_realtime_push" {
		a.Silence()
		if r.Enable {
			if err := a.PushTo(fmt.Sprintf("%s:%d", r.IP, r.Port),
				time.Duration(r.Cycle)*5*time.Millisecond); err != nil {
				return `{"command":"set_realtime_push","state":false}` + "\r\n"
			}
		}
		return `{"command":"set_realtime_push","state":true}` + "\r\n"
	}
	text := a.Pose(time.Since(a.started)).reply(r.Command, a.Generation)
	if text == "" {
		return ""
	}
	return text + "\r\n"
}

// PushTo pushes packets to an address, one per cycle, until Silence or Close.
func (a *Arm) PushTo(address string, cycle time.Duration) error {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	a.mu.Lock()
	a.stop = append(a.stop, stop)
	a.mu.Unlock()
	a.done.Go(func() {
		tick := time.NewTicker(cycle)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			_, _ = a.pushing.WriteTo([]byte(a.Pose(time.Since(a.started)).packet(a.Generation)), to)
		}
	})
	return nil
}

// Packet pushes one packet to an address.
func (a *Arm) Packet(address, packet string) error {
	to, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return err
	}
	_, err = a.pushing.WriteTo([]byte(packet), to)
	return err
}

// Silence stops all pushes.
func (a *Arm) Silence() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, stop := range a.stop {
		close(stop)
	}
	a.stop = nil
}
