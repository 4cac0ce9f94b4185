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
	"tapedeck/bridge/device/v4l2"
	"tapedeck/config"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/hardware"
)

// publisher publishes cameras on a node's graph.
type publisher struct {
	options     *options
	node        bridge.Node
	opened      time.Time // when the node joined the graph
	cameras     []*camera
	diagnostics *rospub.Diagnostics
}

// newPublisher opens cameras. Keys are their names.
func newPublisher(o *options, cameras map[string]*hardware.Camera, node bridge.Node,
	system v4l2.System) (*publisher, error) {
	p := &publisher{options: o, node: node, opened: time.Now()}
	taken := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(cameras)) {
		c, err := newCamera(name, cameras[name], o, node, system)
		if err != nil {
			return nil, fmt.Errorf("camera %s: %w", name, err)
		}
		if d, ok := c.capture.(*device); ok {
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

// run publishes until a camera fails, all cameras have ended, or ctx ends. Only cameras from files end. The end of ctx
// is not an error.
func (p *publisher) run(ctx context.Context) error {
	var watches []watch
	var devices []rospub.Device
	matched := sync.OnceFunc(func() { p.await(ctx) })
	for _, c := range p.cameras {
		watches = append(watches, watch{camera: c})
		devices = append(devices, rospub.Device{Topics: c.topics, Run: func(ctx context.Context) error {
			if c.fromFile() {
				matched()
			}
			if err := c.run(ctx); err != nil {
				return fmt.Errorf("camera %s: %w", c.name, err)
			}
			if c.fromFile() {
				rospub.Flush(ctx, p.node, c.topics.Offers(), p.options.AckTimeout)
			}
			return nil
		}})
	}
	return rospub.Run(ctx, devices, func(now time.Time) {
		var statuses []diag.DiagnosticStatus
		for i := range watches {
			statuses = append(statuses, watches[i].status(now, p.diagnostics))
		}
		p.diagnostics.Report(ctx, now, statuses...)
	})
}

// await waits until present subscribers have matched the publishers of files, so that they miss no image.
func (p *publisher) await(ctx context.Context) {
	var list []rospub.Offer
	for _, c := range p.cameras {
		if c.fromFile() {
			list = append(list, c.topics.Offers()...)
		}
	}
	missing, err := rospub.AwaitMatches(ctx, p.node, p.opened, list, p.options.MatchPatience)
	if err == nil && missing != nil {
		p.node.Log(bridge.Warn, "subscribers of %s did not match within match_patience (%v); they may miss images",
			strings.Join(missing, ", "), p.options.MatchPatience)
	}
}
