package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/realman"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/hardware"
	"tapedeck/nodes/internal/rospub"
)

// diagnosticsPace is the period of diagnostics.
const diagnosticsPace = time.Second

// publisher publishes arms on the graph of a node.
type publisher struct {
	node        bridge.Node
	arms        []*arm
	listeners   map[*realman.Listener][]*realman.Arm
	diagnostics *rospub.Diagnostics
}

// newPublisher prepares arms, by name.
func newPublisher(arms map[string]*hardware.Arm, node bridge.Node) (*publisher, error) {
	p := &publisher{node: node, listeners: map[*realman.Listener][]*realman.Arm{}}
	if err := p.prepare(arms); err != nil {
		p.closeListeners()
		return nil, err
	}
	return p, nil
}

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
		if l, err = realman.Listen(fmt.Sprintf(":%d", port)); err != nil {
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Closing unblocks reliable publishers that wait for slow subscribers.
	defer context.AfterFunc(ctx, p.close)()
	var running sync.WaitGroup
	failures := make(chan error, len(p.arms)+len(p.listeners))
	fail := func(err error) {
		failures <- err
		cancel()
	}
	for _, a := range p.arms {
		running.Go(func() {
			if err := a.arm.Run(ctx); err != nil {
				fail(fmt.Errorf("arm %s: %w", a.name, err))
			}
		})
	}
	for l, arms := range p.listeners {
		running.Go(func() {
			if err := l.Serve(arms...); ctx.Err() == nil {
				fail(err)
			}
		})
	}
	running.Go(func() { p.diagnose(ctx) })
	<-ctx.Done()
	p.closeListeners()
	running.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// diagnose publishes diagnostics until ctx ends.
func (p *publisher) diagnose(ctx context.Context) {
	tick := time.NewTicker(diagnosticsPace)
	defer tick.Stop()
	strangers := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			var all []diag.DiagnosticStatus
			for _, a := range p.arms {
				all = append(all, a.status(now, p.diagnostics))
			}
			if err := p.diagnostics.Send(now.UnixNano(), all...); err != nil && ctx.Err() == nil {
				p.node.Log(bridge.Warn, "%v", err)
			}
			p.warnOfStrangers(strangers)
		}
	}
}

// warnOfStrangers warns once of each address that pushes without being an arm of this node.
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

func (p *publisher) closeListeners() {
	for l := range p.listeners {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			p.node.Log(bridge.Warn, "%v", err)
		}
	}
}

// close closes all topics. Publishers that block fail.
func (p *publisher) close() {
	var closing sync.WaitGroup
	for _, a := range p.arms {
		for _, t := range a.topics() {
			closing.Go(func() { _ = t.Close() })
		}
	}
	closing.Wait()
}
