package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/device/realman"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/hardware"
)

// publisher publishes arms on the graph of a node.
type publisher struct {
	node        bridge.Node
	arms        []*arm
	listeners   map[*realman.Listener][]*realman.Arm
	diagnostics *rospub.Diagnostics
}

// newPublisher prepares arms. Keys are their names.
func newPublisher(arms map[string]*hardware.Arm, node bridge.Node) (*publisher, error) {
	p := &publisher{node: node, listeners: map[*realman.Listener][]*realman.Arm{}}
	if err := p.prepare(arms); err != nil {
		for l := range p.listeners {
			p.closeListener(l)
		}
		return nil, err
	}
	return p, nil
}

// prepare prepares arms and the listeners of their pushed packets.
func (p *publisher) prepare(arms map[string]*hardware.Arm) error {
	ports := map[int]*realman.Listener{}
	for _, name := range slices.Sorted(maps.Keys(arms)) {
		a, err := newArm(name, arms[name], p.node)
		if err != nil {
			return fmt.Errorf("arm %s: %w", name, err)
		}
		p.arms = append(p.arms, a)
		if err := p.listen(a, ports); err != nil {
			return err
		}
	}
	var err error
	p.diagnostics, err = rospub.NewDiagnostics(p.node)
	return err
}

// listen attaches an arm to the listener of its port, which several arms may share.
func (p *publisher) listen(a *arm, ports map[int]*realman.Listener) error {
	if a.options.Push == pushNone {
		return nil
	}
	port := a.options.PushPort
	l, open := ports[port]
	if !open {
		var err error
		l, err = realman.Listen(fmt.Sprintf(":%d", port))
		if err != nil {
			if a.options.Push == pushSet || a.options.Rate == 0 {
				return fmt.Errorf("arm %s: listen for pushed packets: %w; choose another push_port or --push none",
					a.name, err)
			}
			p.node.Log(bridge.Warn, "%s: querying without pushed packets: %v; choose another push_port or --push none",
				a.name, err)
		}
		ports[port] = l
	}
	if l == nil {
		return nil
	}
	if a.arm.Push != nil {
		a.arm.Push.Port = l.Port()
	}
	p.listeners[l] = append(p.listeners[l], a.arm)
	return nil
}

// run publishes until ctx ends.
func (p *publisher) run(ctx context.Context) error {
	var devices []rospub.Device
	for _, a := range p.arms {
		devices = append(devices, rospub.Device{Topics: a.topics, Run: func(ctx context.Context) error {
			if err := a.arm.Run(ctx); err != nil {
				return fmt.Errorf("arm %s: %w", a.name, err)
			}
			return nil
		}})
	}
	for l, arms := range p.listeners {
		devices = append(devices, rospub.Device{Run: func(ctx context.Context) error {
			defer context.AfterFunc(ctx, func() { p.closeListener(l) })()
			if err := l.Serve(arms...); ctx.Err() == nil {
				return err
			}
			return nil
		}})
	}
	strangers := map[string]bool{}
	return rospub.Run(ctx, devices, func(now time.Time) {
		var statuses []diag.DiagnosticStatus
		for _, a := range p.arms {
			statuses = append(statuses, a.status(now, p.diagnostics))
		}
		p.diagnostics.Report(ctx, now, statuses...)
		p.warnOfStrangers(strangers)
	})
}

// warnOfStrangers warns once about each address that pushes packets but is no arm of this node.
func (p *publisher) warnOfStrangers(warned map[string]bool) {
	for l := range p.listeners {
		for ip := range l.Strangers() {
			if from := net.JoinHostPort(ip.String(), fmt.Sprint(l.Port())); !warned[from] {
				warned[from] = true
				p.node.Log(bridge.Warn, "ignoring packets of %v to UDP port %d: it is not a configured arm", ip,
					l.Port())
			}
		}
	}
}

// closeListener closes a listener, and logs an error.
func (p *publisher) closeListener(l *realman.Listener) {
	if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		p.node.Log(bridge.Warn, "%v", err)
	}
}
