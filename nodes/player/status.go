package main

import (
	"fmt"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/std_msgs"
)

const (
	diagnosticsTopic = "/diagnostics"
	diagnosticsPace  = time.Second
)

// diagnostics tells how a playback goes, as ROS 2's tools expect it. A nil one does not.
type diagnostics struct {
	node      bridge.Node
	publisher bridge.Publisher
	last      time.Time
}

func newDiagnostics(node bridge.Node) *diagnostics {
	p, err := node.Advertise(diagnosticsTopic, "diagnostic_msgs/msg/DiagnosticArray", codec.DefaultQoS())
	if err != nil {
		node.Log(bridge.Warn, "nothing is told on %s: %v", diagnosticsTopic, err)
		return nil
	}
	return &diagnostics{node: node, publisher: p}
}

// tell publishes the state, once a second at most.
func (d *diagnostics) tell(now time.Time, s state) {
	if d == nil || now.Sub(d.last) < diagnosticsPace {
		return
	}
	d.last = now
	status := diag.DiagnosticStatus{Level: diag.DiagnosticStatus_OK, Name: d.node.Name() + ": playback", Message: s.String()}
	for _, pair := range [][2]any{
		{"state", s.word}, {"rate", s.rate}, {"position", fmt.Sprintf("%.3f", float64(s.position-s.start)/1e9)},
		{"duration", fmt.Sprintf("%.3f", float64(s.end-s.start)/1e9)}, {"messages", s.played},
	} {
		status.Values = append(status.Values, diag.KeyValue{Key: fmt.Sprint(pair[0]), Value: fmt.Sprint(pair[1])})
	}
	data, err := cdr.Marshal(&diag.DiagnosticArray{Header: std_msgs.Header{Stamp: rosTime(now.UnixNano())}, Status: []diag.DiagnosticStatus{status}})
	if err == nil {
		err = d.publisher.Publish(data)
	}
	if err != nil {
		d.node.Log(bridge.Warn, "publish on %s: %v", d.publisher.Topic(), err)
	}
}
