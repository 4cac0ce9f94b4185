package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/v4l2"
	"tapedeck/config"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/hardware"
	"tapedeck/nodes/internal/rospub"
)

// diagnosticsPace is the period of diagnostics.
const diagnosticsPace = time.Second

// publisher publishes cameras on a node's graph.
type publisher struct {
	options     *options
	node        bridge.Node
	opened      time.Time // when the node joined the graph
	cameras     []*camera
	diagnostics *rospub.Diagnostics
}

// newPublisher opens cameras, given by name.
func newPublisher(o *options, cameras map[string]*hardware.Camera, node bridge.Node,
	system v4l2.System) (*publisher, error) {
	p := &publisher{options: o, node: node, opened: time.Now()}
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(cameras)) {
		c, err := newCamera(name, cameras[name], o, node, system)
		if err != nil {
			return nil, fmt.Errorf("camera %s: %w", name, err)
		}
		if d, ok := c.source.(*device); ok {
			key := d.key()
			if taken[key] != "" {
				return nil, config.Usagef("cameras %s and %s are the same device: %s; it can be opened only once",
					taken[key], name, d.Device)
			}
			taken[key] = name
		}
		p.cameras = append(p.cameras, c)
	}
	var err error
	p.diagnostics, err = rospub.NewDiagnostics(node)
	return p, err
}

// run publishes until all cameras have ended, as those of files do, one fails, or ctx ends, which is not an error.
func (p *publisher) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Reliable publishers may block for long while a subscriber is behind.
	closing := context.AfterFunc(ctx, p.close)

	var others, cameras sync.WaitGroup
	ready := make(chan struct{})
	others.Go(func() {
		p.await(ctx)
		close(ready)
	})
	telling, stop := context.WithCancel(context.Background())
	others.Go(func() { p.tell(telling) })
	failures := make(chan error, len(p.cameras))
	for _, c := range p.cameras {
		cameras.Go(func() {
			if c.fromFile() {
				<-ready
			}
			if err := c.run(ctx); err != nil {
				failures <- fmt.Errorf("camera %s: %w", c.name, err)
				cancel()
			}
		})
	}
	cameras.Wait()
	rospub.Flush(ctx, p.node, p.offers(), p.options.AckTimeout)
	closing()
	cancel()
	stop()
	others.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

// offers returns the publishers of files, which are known from the beginning.
func (p *publisher) offers() (list []rospub.Offer) {
	for _, c := range p.cameras {
		if c.fromFile() {
			list = append(list, c.offers()...)
		}
	}
	return list
}

// await waits until present subscribers have matched the publishers of files, so that they miss no image.
func (p *publisher) await(ctx context.Context) {
	list := p.offers()
	if list == nil {
		return
	}
	missing, err := rospub.AwaitMatches(ctx, p.node, p.opened, list, p.options.MatchPatience)
	if err == nil && missing != nil {
		p.node.Log(bridge.Warn, "subscribers of %s did not match within match_patience (%v); they may miss images",
			strings.Join(missing, ", "), p.options.MatchPatience)
	}
}

// tell publishes diagnostics until ctx ends.
func (p *publisher) tell(ctx context.Context) {
	var watches []watch
	for _, c := range p.cameras {
		watches = append(watches, watch{camera: c})
	}
	tick := time.NewTicker(diagnosticsPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			var all []diag.DiagnosticStatus
			for i := range watches {
				all = append(all, watches[i].status(now, p.diagnostics))
			}
			if err := p.diagnostics.Send(now.UnixNano(), all...); err != nil {
				p.node.Log(bridge.Warn, "%v", err)
			}
		}
	}
}

// close closes all publishers. Blocked publishers fail.
func (p *publisher) close() {
	var list []rospub.Offer
	for _, c := range p.cameras {
		list = append(list, c.offers()...)
	}
	rospub.Close(list)
}
