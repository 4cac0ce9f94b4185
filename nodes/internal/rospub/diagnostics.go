package rospub

import (
	"fmt"

	"tapedeck/bridge"
	"tapedeck/codec"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/std_msgs"
)

// DiagnosticsTopic is where ROS 2 nodes report their health.
const DiagnosticsTopic = "/diagnostics"

// Diagnostics publishes the health of a node and its devices.
type Diagnostics struct {
	node  bridge.Node
	topic *Topic
}

// NewDiagnostics advertises DiagnosticsTopic.
func NewDiagnostics(node bridge.Node) (*Diagnostics, error) {
	t, err := Advertise(node, DiagnosticsTopic, &diag.DiagnosticArray{}, codec.DefaultQoS())
	if err != nil {
		return nil, err
	}
	return &Diagnostics{node: node, topic: t}, nil
}

// Status returns an OK status. Its name is the name of the node followed by of, such as "recording"; pairs are values
// as Values takes them.
func (d *Diagnostics) Status(of, message string, pairs ...any) diag.DiagnosticStatus {
	return diag.DiagnosticStatus{Level: diag.DiagnosticStatus_OK, Name: d.node.Name() + ": " + of, Message: message,
		Values: Values(pairs...)}
}

// Send publishes statuses, with a stamp in ns since the Unix epoch.
func (d *Diagnostics) Send(stamp int64, statuses ...diag.DiagnosticStatus) error {
	return d.topic.Send(&diag.DiagnosticArray{Header: std_msgs.Header{Stamp: Time(stamp)}, Status: statuses})
}

// Values returns pairs of a name and a value.
func Values(pairs ...any) []diag.KeyValue {
	var list []diag.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, diag.KeyValue{Key: pairs[i].(string), Value: fmt.Sprint(pairs[i+1])})
	}
	return list
}
