package main

import (
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/nodes/internal/publish"
)

const diagnosticsPace = time.Second

// diagnostics tells how a playback goes, as ROS 2's tools expect it. A nil one does not.
type diagnostics struct {
	*publish.Diagnostics
	node bridge.Node
	last time.Time
}

func newDiagnostics(node bridge.Node) *diagnostics {
	d, err := publish.NewDiagnostics(node)
	if err != nil {
		node.Log(bridge.Warn, "nothing is told on %s: %v", publish.DiagnosticsTopic, err)
		return nil
	}
	return &diagnostics{Diagnostics: d, node: node}
}

// tell publishes the state, once a second at most.
func (d *diagnostics) tell(now time.Time, s state) {
	if d == nil || now.Sub(d.last) < diagnosticsPace {
		return
	}
	d.last = now
	err := d.Send(now.UnixNano(), d.Status("playback", s.String(), "state", s.word, "rate", s.rate, "position", fmt.Sprintf("%.3f", float64(s.position-s.start)/1e9),
		"duration", fmt.Sprintf("%.3f", float64(s.end-s.start)/1e9), "messages", s.played))
	if err != nil {
		d.node.Log(bridge.Warn, "publish on %s: %v", publish.DiagnosticsTopic, err)
	}
}
