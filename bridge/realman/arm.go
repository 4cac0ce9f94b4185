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

// Arm observes one arm, for ever: where there is no connection, it makes one. Its fields are set before Run.
type Arm struct {
	Host      string  // name or address
	Port      int     // TCP
	Joints    int     // that it has; 0: 6 or 7, as it says
	SpeedUnit float64 // of the speeds that it pushes: CentidegreesPerSecond or another one

	Polls   []Poll        // if there are none, there is no connection
	Timeout time.Duration // for a connection, and for a reply
	Silence time.Duration // a connection on which nothing comes for so long, beside the shortest period, is given up
	Retry   time.Duration // until the next connection; longer each time, up to 10 times as long
	Push    *Push         // nil: it is not told to push
	Fresh   time.Duration // what was pushed within is not asked for

	// Handle is given what the arm tells, one after the other. Of what it pushes, too, only that is.
	Handle func(*Update)
	// Problem is told what goes wrong. It may be called by several goroutines at once.
	Problem func(error)

	handling sync.Mutex // of Handle, and of what follows
	packets  *decoder
	latest   [len(stamped)]time.Time // stamps of what Handle was given

	mu     sync.Mutex // of what follows
	counts Counts
	pushed part
	fresh  time.Time    // until when what was pushed need not be asked for
	ips    []netip.Addr // which packets may be from
}

// Counts tell how it goes with an Arm.
type Counts struct {
	Connected   bool
	Connections uint64
	Replies     uint64 // good ones
	Packets     uint64 // good ones
	Bad         uint64 // replies and packets that make no sense
	Timeouts    uint64 // commands without a reply in time, of the first of Polls and those that the arm has replied to
	Unknown     uint64 // other commands without a reply: arms do not know all of them
	Refused     uint64 // replies that tell nothing
	Others      uint64 // of what was not asked for
	Late        uint64 // of what was left out, because it is no newer than what was told before
	RoundTrip   time.Duration
	LastPacket  time.Time
	Problem     string // the latest one
	ProblemAt   time.Time
}

// Counts returns how it goes.
func (a *Arm) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// Address returns host and port.
func (a *Arm) Address() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// Run observes until ctx ends. An error is that of a wrong field.
func (a *Arm) Run(ctx context.Context) error {
	for _, p := range a.Polls {
		if _, err := newAsked(p); err != nil {
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

// observe does so until the connection ends. Without polls there is none.
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

// resolve finds the addresses of the arm, which packets are from.
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

// is says whether the arm has an address.
func (a *Arm) is(ip netip.Addr) bool {
	if own, err := netip.ParseAddr(a.Host); err == nil {
		return own.Unmap() == ip
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Contains(a.ips, ip)
}

// Receive takes a packet that the arm pushed, with the time at which it was received.
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

// deliver passes on what came over a connection, but for what is pushed, too.
func (a *Arm) deliver(u *Update) {
	a.handling.Lock()
	defer a.handling.Unlock()
	switch {
	case u.PushSet != nil:
		if !*u.PushSet {
			a.problem(fmt.Errorf("%s: the arm refuses to push as it is told", a.Address()))
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
	u.without(a.known(u.Received))
	a.give(u)
}

// stamped are the parts whose stamps ascend.
var stamped = [...]part{partJoints, partPose, partForce, partGripper}

// clockSet is by how much stamps do not descend unless the clock is set.
const clockSet = time.Second

// give has what u tells handled, but for what is no newer than what was before: replies and packets overtake each
// other, and two replies may have come at once.
func (a *Arm) give(u *Update) {
	var late part
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

// known returns what need not be asked for, because it is pushed.
func (a *Arm) known(now time.Time) part {
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

// bad counts something that makes no sense.
func (a *Arm) bad(err error) {
	a.count(func(n *Counts) { n.Bad++ })
	a.problem(err)
}

// problem tells what is wrong.
func (a *Arm) problem(err error) {
	a.count(func(n *Counts) { n.Problem, n.ProblemAt = err.Error(), time.Now() })
	a.Problem(err)
}
