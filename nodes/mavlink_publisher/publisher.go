package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/internal/rospub"
)

// publisher publishes several sources.
type publisher struct {
	node        bridge.Node
	links       []*link
	diagnostics *rospub.Diagnostics // nil: none
}

func newPublisher(node bridge.Node, opened time.Time, o *options, groups [][]entry) (*publisher, error) {
	p := &publisher{node: node}
	for _, entries := range groups {
		l, err := newLink(node, opened, o, entries)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.links = append(p.links, l)
	}
	if o.Diagnostics {
		var err error
		if p.diagnostics, err = rospub.NewDiagnostics(node); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// run publishes until ctx ends, a source fails, or all logs have ended. The end of ctx is not an error.
func (p *publisher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(p.links))
	var working sync.WaitGroup
	for i, l := range p.links {
		working.Go(func() {
			errs[i] = l.run(ctx)
			switch {
			case errors.Is(errs[i], context.Canceled):
				errs[i] = nil
			case errs[i] != nil:
				cancel()
			}
		})
	}
	ended := make(chan struct{})
	go func() {
		working.Wait()
		close(ended)
	}()
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-ended:
			p.tick(time.Now())
			return errors.Join(errs...)
		case now := <-every.C:
			p.tick(now)
		}
	}
}

// tick does what is due each second.
func (p *publisher) tick(now time.Time) {
	for _, l := range p.links {
		l.checkConnections(now.UnixNano())
	}
	if p.diagnostics == nil {
		return
	}
	if err := p.diagnostics.Send(now.UnixNano(), p.statuses()...); err != nil {
		p.node.Log(bridge.Warn, "publish on %s: %v", rospub.DiagnosticsTopic, err)
	}
}

func (p *publisher) close() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
