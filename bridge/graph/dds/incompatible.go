package dds

import (
	"fmt"
	"slices"
	"time"

	"tapedeck/bridge"
)

// settled is the time after the last change of the graph after which the graph is fully known, and replaced
// subscriptions are gone.
const settled = 1500 * time.Millisecond

// mostReported is the largest number of peers that are named for each endpoint of the node.
const mostReported = 20

// warnOfIncompatible logs the peers that do not match with the node's publishers and subscriptions. It names each peer
// of an endpoint once.
func (g *graph) warnOfIncompatible() {
	g.mu.Lock()
	lines := g.incompatible()
	g.mu.Unlock()
	for _, line := range lines {
		g.log(bridge.Warn, "%s", line)
	}
}

func (g *graph) incompatible() (lines []string) {
	if g.closed {
		return nil
	}
	nodes := g.nodes()
	own := make(map[string][]*endpoint) // by topic
	for _, e := range g.endpoints {
		if e.Own {
			own[e.topic] = append(own[e.topic], e)
		}
	}
	for guid, peer := range g.endpoints {
		for _, e := range own[peer.topic] {
			if peer.Own || peer.subscriber == e.subscriber || peer.Type != e.Type || e.reported[guid] ||
				len(e.reported) >= mostReported {
				continue
			}
			offer, request, side := peer.QoS, e.QoS, "does not reach this subscription"
			if peer.subscriber {
				offer, request, side = e.QoS, peer.QoS, "does not receive from this publisher"
			}
			if ok, reason := bridge.Compatible(offer, request); !ok {
				if e.reported == nil {
					e.reported = make(map[bridge.GUID]bool)
				}
				e.reported[guid] = true
				if len(e.reported) == mostReported {
					reason += "; further peers of this topic are not named"
				}
				lines = append(lines, fmt.Sprintf("%s: %s %s: %s", e.topic, nodes[guid], side, reason))
			}
		}
	}
	slices.Sort(lines)
	return lines
}
