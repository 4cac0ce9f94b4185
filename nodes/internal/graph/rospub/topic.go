// Package rospub publishes messages that nodes make themselves. It has topics, diagnostics, and functions that wait for
// subscribers.
package rospub

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/msgs/std_msgs"
)

// Topic publishes messages of one type. It is safe for concurrent use.
type Topic struct {
	Offer

	closed *atomic.Bool // set by Topics.Close; nil: the topic does not belong to Topics

	mu      sync.Mutex
	encoder wire.Encoder // reused, so that sending does not allocate
	buf     []byte
}

// Advertise creates the publisher of a topic for messages of the type of m.
func Advertise(node bridge.Node, topic string, m msgs.Message, qos codec.QoS) (*Topic, error) {
	p, err := node.Advertise(topic, m.TypeName(), qos)
	if err != nil {
		return nil, err
	}
	return &Topic{Offer: Offer{Publisher: p, Type: m.TypeName(), QoS: qos}}, nil
}

// Send publishes m, which must have the topic's type.
func (t *Topic) Send(m msgs.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.encode(m); err != nil {
		return err
	}
	return t.publish()
}

// SendData publishes m with n bytes in its last field, which must be an empty sequence of bytes. fill sets the bytes.
func (t *Topic) SendData(m msgs.Message, n int, fill func([]byte)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.encode(m); err != nil {
		return err
	}
	head := len(t.buf)
	t.buf = slices.Grow(t.buf, n)[:head+n]
	binary.LittleEndian.PutUint32(t.buf[head-4:], uint32(n))
	fill(t.buf[head:])
	return t.publish()
}

// encode sets buf to the payload of m.
func (t *Topic) encode(m msgs.Message) error {
	t.encoder.Reset(t.buf[:0])
	m.MarshalCDR(&t.encoder)
	if err := t.encoder.Err(); err != nil {
		return fmt.Errorf("encode %s: %w", m.TypeName(), err)
	}
	t.buf = t.encoder.Bytes()
	return nil
}

func (t *Topic) publish() error {
	err := t.Publish(t.buf)
	if err != nil && t.closed != nil && t.closed.Load() {
		return context.Canceled
	}
	return err
}

// DiagnosticsTopic is the topic on which ROS 2 nodes report their health.
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

// Status returns an OK status. Its name is the name of the node followed by subject, such as "recording". Its values
// are Values(pairs...).
func (d *Diagnostics) Status(subject, message string, pairs ...any) diag.DiagnosticStatus {
	return diag.DiagnosticStatus{Level: diag.DiagnosticStatus_OK, Name: d.node.Name() + ": " + subject,
		Message: message, Values: Values(pairs...)}
}

// Send publishes statuses with a stamp in ns since the Unix epoch. It adds the node's security to the first one.
func (d *Diagnostics) Send(stamp int64, statuses ...diag.DiagnosticStatus) error {
	if len(statuses) > 0 {
		statuses[0].Values = append(statuses[0].Values, Values("security", d.node.Security())...)
	}
	header := std_msgs.Header{Stamp: builtin_interfaces.TimeAt(stamp)}
	return d.topic.Send(&diag.DiagnosticArray{Header: header, Status: statuses})
}

// Report publishes statuses with the stamp now, and logs a failure unless ctx has ended.
func (d *Diagnostics) Report(ctx context.Context, now time.Time, statuses ...diag.DiagnosticStatus) {
	if err := d.Send(now.UnixNano(), statuses...); err != nil && ctx.Err() == nil {
		d.node.Log(bridge.Warn, "%v", err)
	}
}

// Values returns the values of a status. pairs are names, each followed by its value.
func Values(pairs ...any) []diag.KeyValue {
	var list []diag.KeyValue
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, diag.KeyValue{Key: pairs[i].(string), Value: fmt.Sprint(pairs[i+1])})
	}
	return list
}
