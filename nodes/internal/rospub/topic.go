// Package rospub publishes messages that nodes make themselves, rather than replay: topics, diagnostics, and waiting
// for subscribers.
package rospub

import (
	"sync"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
)

// Topic publishes messages of one type. Its methods may be called from several goroutines at once.
type Topic struct {
	Offer

	mu  sync.Mutex
	buf []byte
}

// Advertise creates the publisher of a topic for messages of the type of m.
func Advertise(node bridge.Node, topic string, m msgs.Message, qos codec.QoS) (*Topic, error) {
	p, err := node.Advertise(topic, m.TypeName(), qos)
	if err != nil {
		return nil, err
	}
	return &Topic{Offer: Offer{Publisher: p, Type: m.TypeName(), QoS: qos}}, nil
}

// Send publishes m, which is of the topic's type.
func (t *Topic) Send(m msgs.Message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var err error
	if t.buf, err = cdr.Append(t.buf[:0], m); err != nil {
		return err
	}
	return t.Publish(t.buf)
}

// Time returns a time in ns since the Unix epoch, from 1970 to 2038, as ROS 2 has it.
func Time(ns int64) builtin_interfaces.Time {
	return builtin_interfaces.Time{Sec: int32(ns / 1e9), Nanosec: uint32(ns % 1e9)}
}
