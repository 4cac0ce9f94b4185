package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/rospub"
)

// outlets are the publishers of one vehicle's topics.
type outlets struct {
	node   bridge.Node
	name   string                    // of the vehicle
	topics [topicCount]*rospub.Topic // nil: ROS 2 has not its type
	failed atomic.Bool               // publishing did, and that was told
	sent   uint64                    // messages
}

// newOutlets advertises the topics of a vehicle: all of them reliably if reliable says so. With whole, publishing waits
// for reliable subscribers rather than have them miss something. What ROS 2's libraries do not know the type of is left
// out, and told.
func newOutlets(node bridge.Node, name string, reliable, whole bool) (*outlets, error) {
	o := &outlets{node: node, name: name}
	var missing []string
	var cause error
	for i, t := range topics {
		qos := t.qos()
		if reliable || whole {
			qos.Reliability = codec.Reliable
		}
		if whole {
			qos.History, qos.Depth = codec.KeepAll, 0
		}
		var err error
		o.topics[i], err = rospub.Advertise(node, path.Join(name, t.name), t.message, qos)
		switch {
		case errors.Is(err, rosidl.ErrUnknownType):
			missing, cause = append(missing, t.name), err
		case err != nil:
			return nil, err
		}
	}
	if missing != nil {
		o.log(bridge.Warn, "without %s: %v; or use --middleware dds, which needs none of it", strings.Join(missing, ", "),
			cause)
	}
	return o, nil
}

// send implements outlet.
func (o *outlets) send(t topic, m msgs.Message) {
	if o.topics[t] == nil {
		return
	}
	if err := o.topics[t].Send(m); err == nil {
		o.sent++
	} else if !o.failed.Swap(true) {
		o.log(bridge.Error, "%v", err)
	}
}

// log implements outlet.
func (o *outlets) log(level bridge.LogLevel, format string, args ...any) {
	o.node.Log(level, "%s: %s", o.name, fmt.Sprintf(format, args...))
}

// offers returns what the topics offer to subscribers.
func (o *outlets) offers() []rospub.Offer {
	var list []rospub.Offer
	for _, t := range o.topics {
		if t != nil {
			list = append(list, t.Offer)
		}
	}
	return list
}
