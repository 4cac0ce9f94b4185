package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"tapedeck/bridge"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/nodes/internal/graph/rospub"
)

// topicPublishers are the publishers of one vehicle's topics.
type topicPublishers struct {
	node   bridge.Node
	name   string                           // name of the vehicle
	topics [mavros.TopicCount]*rospub.Topic // nil: ROS 2 does not define the type
	failed bool                             // a failure to publish was logged
	sent   uint64                           // number of messages
}

// newTopicPublishers advertises the topics of a vehicle in list. reliable makes them reliable. whole also makes
// publishing wait for subscribers, so that they miss nothing. Topics whose types ROS 2's libraries do not define are
// omitted with a warning.
func newTopicPublishers(node bridge.Node, list *rospub.Topics, name string,
	reliable, whole bool) (*topicPublishers, error) {
	o := &topicPublishers{node: node, name: name}
	var missing []string
	var cause error
	for i, t := range mavros.Topics {
		qos := t.QoS()
		if reliable || whole {
			qos.Reliability = codec.Reliable
		}
		if whole {
			qos.History, qos.Depth = codec.KeepAll, 0
		}
		var err error
		o.topics[i], err = list.Topic(path.Join(name, t.Name), t.Message, qos)
		switch {
		case errors.Is(err, rosidl.ErrUnknownType):
			missing, cause = append(missing, t.Name), err
		case err != nil:
			return nil, err
		}
	}
	if missing != nil {
		o.Log(bridge.Warn, "not publishing %s: %v; --middleware dds does not need these definitions",
			strings.Join(missing, ", "), cause)
	}
	return o, nil
}

// Send implements mavros.Publisher.
func (o *topicPublishers) Send(t mavros.Topic, m msgs.Message) {
	if o.topics[t] == nil {
		return
	}
	err := o.topics[t].Send(m)
	if err == nil {
		o.sent++
	} else if !o.failed && !errors.Is(err, context.Canceled) {
		o.failed = true
		o.Log(bridge.Error, "%v", err)
	}
}

// Log implements mavros.Publisher.
func (o *topicPublishers) Log(level bridge.LogLevel, format string, args ...any) {
	o.node.Log(level, "%s: %s", o.name, fmt.Sprintf(format, args...))
}

// offers returns the offers of the publishers.
func (o *topicPublishers) offers() []rospub.Offer {
	var list []rospub.Offer
	for _, t := range o.topics {
		if t != nil {
			list = append(list, t.Offer)
		}
	}
	return list
}
