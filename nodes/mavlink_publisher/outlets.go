package main

import (
	"context"
	"fmt"
	"path"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/nodes/internal/publish"
)

// outlets are the publishers of one vehicle's topics.
type outlets struct {
	node   bridge.Node
	name   string // of the vehicle
	topics [topicCount]*publish.Topic
	failed bool // publishing did, and that was told
}

// newOutlets advertises the topics of a vehicle: all of them reliably if reliable says so. With whole, publishing waits for reliable
// subscribers rather than have them miss something.
func newOutlets(node bridge.Node, name string, reliable, whole bool) (*outlets, error) {
	o := &outlets{node: node, name: name}
	for i, t := range topics {
		qos := t.qos()
		if reliable || whole {
			qos.Reliability = codec.Reliable
		}
		if whole {
			qos.History, qos.Depth = codec.KeepAll, 0
		}
		var err error
		if o.topics[i], err = publish.Advertise(node, path.Join(name, t.name), t.message, qos); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// send implements outlet.
func (o *outlets) send(t topic, m msgs.Message) {
	if err := o.topics[t].Send(m); err != nil && !o.failed {
		o.failed = true
		o.log(bridge.Error, "%v", err)
	}
}

// log implements outlet.
func (o *outlets) log(level bridge.LogLevel, format string, args ...any) {
	o.node.Log(level, "%s: %s", o.name, fmt.Sprintf(format, args...))
}

// flush waits until reliable subscribers have everything.
func (o *outlets) flush(ctx context.Context) error {
	for _, t := range o.topics {
		if err := t.Flush(ctx); err != nil {
			return fmt.Errorf("subscribers have not acknowledged everything: %w", err)
		}
	}
	return nil
}

// offers returns what the topics offer to subscribers.
func (o *outlets) offers() []publish.Offer {
	var list []publish.Offer
	for _, t := range o.topics {
		list = append(list, t.Offer)
	}
	return list
}
