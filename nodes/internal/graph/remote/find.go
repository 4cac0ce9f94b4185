package remote

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"tapedeck/bridge"
)

const (
	quiet   = 500 * time.Millisecond // a node is the only one if no other one of the kind appears for so long
	absent  = 3 * time.Second        // a node is not running if the graph lacks it and is unchanged for so long
	lacking = 5 * time.Second        // a service is not offered if the graph lacks it and is unchanged for so long
)

// Find returns the only running node of the kind, or the one that o names.
func (k Kind) Find(ctx context.Context, node bridge.Node, o *Options) (*Peer, error) {
	patience := absent
	if o.Timeout > DefaultOptions().Timeout { // the user wants to wait for a node that is being started
		patience = o.Timeout
	}
	peer := func(name string) (*Peer, error) {
		return &Peer{Node: node, Name: name, Timeout: o.Timeout, kind: k, patience: patience}, nil
	}
	if o.Node != "" {
		return peer("/" + strings.TrimPrefix(o.Node, "/"))
	}
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var found []string
	began := time.Now()
	changed := began
	timer := newGraphTimer(node)
	for {
		if now := k.nodeNames(node); !slices.Equal(now, found) {
			found, changed = now, time.Now()
		}
		switch {
		case len(found) > 1:
			return nil, fmt.Errorf("several nodes are running: %s; name one with --node", strings.Join(found, ", "))
		case len(found) == 1 && time.Since(changed) > quiet:
			return peer(found[0])
		case len(found) == 0 && timer.unchanged() > patience:
			return nil, k.missing(k.Name, time.Since(began))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if errors.Is(parent.Err(), context.Canceled) {
				return nil, parent.Err()
			}
			if len(found) == 1 {
				return peer(found[0])
			}
			return nil, k.missing(k.Name, o.Timeout)
		}
	}
}

// missing returns an error about a node that was not found.
func (k Kind) missing(what string, within time.Duration) error {
	return fmt.Errorf("no %s was found within %v; is one running with the same ROS_DOMAIN_ID (here %s)?",
		what, within.Round(time.Second/10), cmp.Or(os.Getenv("ROS_DOMAIN_ID"), "0"))
}

// graphTimer measures for how long the graph has not changed.
type graphTimer struct {
	node    bridge.Node
	graph   [2]int // number of topics, and of endpoints whose node is known
	changed time.Time
}

func newGraphTimer(node bridge.Node) *graphTimer { return &graphTimer{node: node, changed: time.Now()} }

// unchanged returns for how long the graph has not changed.
func (r *graphTimer) unchanged() time.Duration {
	var graph [2]int
	for _, topic := range r.node.Topics() {
		graph[0]++
		for _, list := range [][]bridge.Endpoint{topic.Publishers, topic.Subscribers} {
			for i := range list {
				if list[i].Node != "" {
					graph[1]++
				}
			}
		}
	}
	if graph != r.graph {
		r.graph, r.changed = graph, time.Now()
	}
	return time.Since(r.changed)
}

// nodeNames returns the names of the nodes of the kind that the graph has now, in order.
func (k Kind) nodeNames(node bridge.Node) (names []string) {
	for _, topic := range node.Topics() {
		for _, p := range topic.Publishers {
			if p.Type == k.Publishes && p.Node != "" {
				names = append(names, p.Node)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
