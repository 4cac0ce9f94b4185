package realman

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Arm observes one arm and reconnects whenever the connection is lost. Its fields are set before Run.
type Arm struct {
	Host      string  // name or address
	Port      int     // TCP
	Joints    int     // number of joints, from MinJoints to MaxJoints; 0: as many as the arm reports
	SpeedUnit float64 // of pushed speeds: CentidegreesPerSecond or another one

	Polls   []Poll        // without any there is no connection
	Timeout time.Duration // to connect, and for a reply
	Silence time.Duration // without any data, beyond the shortest period, until the connection is closed
	Retry   time.Duration // until the next attempt to connect; doubled each time, up to 10 times
	Push    *Push         // nil: its push is not configured
	Fresh   time.Duration // fields that were pushed this recently are not queried

	// Handle is called with each update, one at a time. Fields that the arm pushes are removed from replies.
	Handle func(*Update)
	// Problem is called with errors. It may be called by several goroutines at once.
	Problem func(error)

	handling sync.Mutex // held during Handle; guards packets and latest
	packets  *decoder
	latest   [len(stamped)]time.Time // by stamped: stamp of the field last passed to Handle

	mu     sync.Mutex // guards the fields below
	counts Counts
	pushed fieldSet     // of the last packet
	fresh  time.Time    // until then pushed fields are not queried
	ips    []netip.Addr // possible senders of packets
}

// Counts are statistics of an Arm.
type Counts struct {
	Connected   bool
	Connections uint64
	Replies     uint64 // that could be decoded
	Packets     uint64 // that could be decoded
	Bad         uint64 // replies and packets that cannot be decoded
	Timeouts    uint64 // late replies to the first of Polls, and to queries that had a reply before
	Unknown     uint64 // queries without a reply that never had one: arms do not know all of Polls
	Refused     uint64 // replies without content
	Others      uint64 // messages that are no replies
	Late        uint64 // updates dropped as no newer than the one before
	RoundTrip   time.Duration
	LastPacket  time.Time
	Problem     string // the latest
	ProblemAt   time.Time
}

// Counts returns the statistics so far.
func (a *Arm) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// Address returns host and port.
func (a *Arm) Address() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// Run observes the arm until ctx ends. It returns an error only for an invalid field.
func (a *Arm) Run(ctx context.Context) error {
	for _, p := range a.Polls {
		if err := p.check(); err != nil {
			return err
		}
	}
	wait := a.Retry
	for ctx.Err() == nil {
		before := a.Counts().Replies
		if err := a.observe(ctx); err != nil && ctx.Err() == nil {
			a.problem(err)
		}
		if a.Counts().Replies > before {
			wait = a.Retry
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		wait = min(2*wait, 10*a.Retry)
	}
	return nil
}

// observe runs one connection until it ends; without polls it waits for ctx to end.
func (a *Arm) observe(ctx context.Context) error {
	if err := a.resolve(ctx); err != nil {
		return err
	}
	if len(a.Polls) == 0 {
		<-ctx.Done()
		return nil
	}
	d := net.Dialer{Timeout: a.Timeout}
	conn, err := d.DialContext(ctx, "tcp", a.Address())
	if err != nil {
		return err
	}
	a.count(func(n *Counts) { n.Connected = true; n.Connections++ })
	defer a.count(func(n *Counts) { n.Connected = false })
	return newConnection(a, conn).run(ctx)
}

// resolve looks up the addresses from which the arm sends packets.
func (a *Arm) resolve(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.Timeout)
	defer cancel()
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", a.Host)
	if err != nil {
		return err
	}
	for i := range list {
		list[i] = list[i].Unmap()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ips = list
	return nil
}

// is reports whether an address is the arm's.
func (a *Arm) is(ip netip.Addr) bool {
	if own, err := netip.ParseAddr(a.Host); err == nil {
		return own.Unmap() == ip
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.ips, ip)
}

// Receive handles a packet that the arm pushed, received at a time.
func (a *Arm) Receive(data []byte, at time.Time) {
	a.handling.Lock()
	defer a.handling.Unlock()
	if a.packets == nil {
		a.packets = &decoder{joints: a.Joints, speed: a.SpeedUnit}
	}
	u, err := a.packets.decode(bytes.TrimRight(data, "\x00"))
	if err != nil {
		a.bad(err)
		return
	}
	u.Pushed, u.Stamp, u.Received = true, at, at
	a.count(func(n *Counts) {
		n.Packets++
		n.LastPacket = at
		a.pushed, a.fresh = u.has, at.Add(a.Fresh)
	})
	a.give(u)
}

// deliver passes on a reply, without the fields that are pushed.
func (a *Arm) deliver(u *Update) {
	a.handling.Lock()
	defer a.handling.Unlock()
	switch {
	case u.PushSet != nil:
		if !*u.PushSet {
			a.problem(fmt.Errorf("%s: the arm refused the push configuration", a.Address()))
		}
		return
	case u.Refused:
		a.count(func(n *Counts) { n.Refused++ })
		return
	case u.has == 0:
		a.count(func(n *Counts) { n.Others++ })
		return
	}
	a.count(func(n *Counts) { n.Replies++ })
	u.without(a.pushedFields(u.Received))
	a.give(u)
}

// stamped are the fields whose stamps always increase.
var stamped = [...]fieldSet{fieldJoints, fieldPose, fieldForce, fieldGripper}

// clockSet is how far a stamp must go back to count as a clock that was set.
const clockSet = time.Second

// give passes u to Handle without fields that are no newer than before: replies and packets overtake each other, and
// two replies may arrive at once.
func (a *Arm) give(u *Update) {
	var late fieldSet
	for i, p := range stamped {
		if u.has&p == 0 {
			continue
		}
		stamp := u.Stamp.Round(0) // as it is published
		if age := a.latest[i].Sub(stamp); age >= 0 && age < clockSet {
			late |= p
			continue
		}
		a.latest[i] = stamp
	}
	if late != 0 {
		a.count(func(n *Counts) { n.Late++ })
		u.without(late)
	}
	if u.has != 0 {
		a.Handle(u)
	}
}

// pushedFields returns the fields that need not be queried because they are pushed.
func (a *Arm) pushedFields(now time.Time) fieldSet {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.fresh) {
		return a.pushed
	}
	return 0
}

func (a *Arm) count(one func(*Counts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one(&a.counts)
}

// bad counts and reports data that cannot be decoded.
func (a *Arm) bad(err error) {
	a.count(func(n *Counts) { n.Bad++ })
	a.problem(err)
}

// problem reports an error.
func (a *Arm) problem(err error) {
	a.count(func(n *Counts) { n.Problem, n.ProblemAt = err.Error(), time.Now() })
	a.Problem(err)
}
