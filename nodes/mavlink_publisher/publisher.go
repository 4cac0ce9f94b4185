package main

import (
	"context"
	"errors"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/internal/graph/rospub"
)

// publisher publishes the vehicles of several links.
type publisher struct {
	node        bridge.Node
	links       []*link
	diagnostics *rospub.Diagnostics // nil: not published
}

// newPublisher opens the links of groups. The entries of a group share a link.
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
		p.diagnostics, err = rospub.NewDiagnostics(node)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

// run publishes until ctx ends, a link fails, or all logs have ended. The end of ctx is not an error.
func (p *publisher) run(ctx context.Context) error {
	var devices []rospub.Device
	for _, l := range p.links {
		devices = append(devices, rospub.Device{Run: l.run, Topics: l.topics})
	}
	err := rospub.Run(ctx, devices, func(now time.Time) { p.tick(ctx, now) })
	p.tick(context.WithoutCancel(ctx), time.Now())
	return err
}

// tick is called each second. It checks connections and publishes diagnostics.
func (p *publisher) tick(ctx context.Context, now time.Time) {
	for _, l := range p.links {
		l.checkConnections(now.UnixNano())
	}
	if p.diagnostics != nil {
		p.diagnostics.Report(ctx, now, p.statuses()...)
	}
}

func (p *publisher) close() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.close())
	}
	return errors.Join(errs...)
}
