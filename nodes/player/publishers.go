package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/wire"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/publish"
)

// publishers publish the messages of channels.
type publishers map[*codec.Channel]*publisher

// publisher is shared by the channels of one topic and type.
type publisher struct {
	publish.Offer
	stamps *cdr.Stamps // to be moved; nil: none
	odd    bool        // a message that is none was told of
}

// advertise creates the publishers of the channels. A topic that cannot be published does not keep the others from being played.
func advertise(node bridge.Node, channels []*codec.Channel, o *options) (publishers, error) {
	overrides, err := graph.QoSOverrides(o.QoSOverrides)
	if err != nil {
		return nil, err
	}
	type key struct{ topic, typeName string }
	var order []key
	byKey := map[key][]*codec.Channel{}
	for _, c := range channels {
		if c.Encoding != codec.EncodingCDR {
			continue // its source has told of it
		}
		k := key{c.Topic, c.Type}
		if byKey[k] == nil {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], c)
	}
	all := publishers{}
	for _, k := range order {
		qos, ok := overrides[full(k.topic)]
		if !ok {
			qos = offer(byKey[k])
		}
		topic := k.topic
		if o.Prefix != "" {
			topic = "/" + strings.Trim(o.Prefix, "/") + full(topic)
		}
		own, err := node.Advertise(topic, k.typeName, qos)
		if err != nil {
			node.Log(bridge.Warn, "%s is not played: %v", k.topic, err)
			continue
		}
		shared := &publisher{Offer: publish.Offer{Publisher: own, Type: k.typeName, QoS: qos}}
		for _, c := range byKey[k] {
			all[c] = shared
		}
	}
	if len(all) == 0 {
		return nil, errors.New("nothing to play: no topic of the recording is selected, or none carries ROS 2 messages; 'converter info' lists them")
	}
	for _, name := range o.Topics {
		if !slices.ContainsFunc(channels, func(c *codec.Channel) bool { return full(name) == full(c.Topic) }) {
			node.Log(bridge.Warn, "%s is not in the recording", name)
		}
	}
	return all, nil
}

// offer returns the QoS of the publisher for channels of one topic.
func offer(channels []*codec.Channel) codec.QoS {
	var recorded []codec.QoS
	for _, c := range channels {
		recorded = append(recorded, c.QoS...)
	}
	qos := bridge.OfferQoS(recorded)
	if qos.Reliability == codec.Reliable && qos.Durability == codec.Volatile {
		// So that a burst reaches subscribers whole, whatever the network loses of it at first.
		qos.History, qos.Depth = codec.KeepAll, 0
	}
	return qos
}

// latchedDepth returns how many of the last messages of a channel a late subscriber would have got.
func (p *publisher) latchedDepth(c *codec.Channel) int {
	depth := codec.LatchedDepth(c)
	switch {
	case depth > 0 || p.QoS.Durability != codec.TransientLocal:
		return depth
	case p.QoS.History == codec.KeepAll:
		return codec.All
	}
	return max(p.QoS.Depth, 1)
}

// offers returns each publisher once, in the order of their topics.
func (p publishers) offers() []publish.Offer {
	once := map[*publisher]bool{}
	var list []publish.Offer
	for _, one := range p {
		if !once[one] {
			once[one] = true
			list = append(list, one.Offer)
		}
	}
	slices.SortFunc(list, func(a, b publish.Offer) int { return strings.Compare(a.Topic(), b.Topic()) })
	return list
}

// send publishes a message with its stamps moved as playingTime says.
func (p *publisher) send(m *codec.Message, playingTime func(int64) int64) error {
	if len(m.Data) < wire.HeaderSize {
		return errNoMessage
	}
	if p.stamps != nil {
		stamp, ok, err := p.stamps.First(m.Data)
		if ok && err == nil {
			if stamp == 0 { // it was not set, as others may be
				stamp = m.LogTime
			}
			err = p.stamps.Add(m.Data, playingTime(stamp)-stamp)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errNoMessage, err)
		}
	}
	return p.Publish(m.Data)
}

var errNoMessage = errors.New("what is no message of its type is not played")
