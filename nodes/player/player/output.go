package player

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/rosidl/wire"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/graph/rospub"
)

const clockTopic = "/clock"

// graphOutput publishes on a node's graph.
type graphOutput struct {
	node        bridge.Node
	publishers  publishers
	playingTime func(int64) int64
	clock       *rospub.Topic // nil: none
}

// newGraphOutput returns an output on the node's graph. It advertises /clock if clocked is true.
func newGraphOutput(node bridge.Node, p publishers, clocked bool) (*graphOutput, error) {
	o := &graphOutput{node: node, publishers: p}
	if !clocked {
		return o, nil
	}
	var err error
	o.clock, err = rospub.Advertise(node, clockTopic, &rosgraph_msgs.Clock{}, codec.DefaultQoS())
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", clockTopic, err)
	}
	return o, nil
}

func (o *graphOutput) publish(m *codec.Message) error {
	p := o.publishers[m.Channel]
	err := p.send(m, o.playingTime)
	if errors.Is(err, errMismatch) {
		if !p.warned {
			p.warned = true
			o.node.Log(bridge.Warn, "%s: %v", m.Channel.Topic, err)
		}
		err = nil
	}
	return err
}

func (o *graphOutput) publishClock(clock int64) error {
	return o.clock.Send(&rosgraph_msgs.Clock{Clock: builtin_interfaces.TimeAt(clock)})
}

// publishers publish the messages of channels.
type publishers map[*codec.Channel]*publisher

// publisher publishes the messages of all channels of one topic and type. A publisher with a caller belongs to one
// channel, and sends the channel's requests to a service instead of publishing.
type publisher struct {
	rospub.Offer
	requests *requestReader
	caller   *caller
	action   *action // of the requests; nil: they belong to no action

	stamps *cdr.Stamps // stamps to move to the time of playing; nil: they stay unchanged
	warned bool        // a payload that does not match the type was reported
}

// advertise creates the publishers of the channels. It skips channels in readers, whose reader may be nil, and topics
// that cannot be published. It logs a warning for each skipped topic.
func advertise(node bridge.Node, channels []*codec.Channel, readers map[*codec.Channel]*requestReader,
	o *options) (publishers, callers, error) {
	overrides, err := graph.QoSOverrides(o.QoSOverrides)
	if err != nil {
		return nil, callers{}, err
	}
	type key struct{ topic, typeName string }
	var order []key
	byKey := map[key][]*codec.Channel{}
	for _, c := range channels {
		if _, requests := readers[c]; requests || c.Encoding != codec.EncodingCDR {
			continue // mergedRecordings warned of other encodings
		}
		k := key{c.Topic, c.Type}
		if byKey[k] == nil {
			order = append(order, k)
		}
		byKey[k] = append(byKey[k], c)
	}
	all, called := o.openCallers(node, readers)
	types := map[string]string{} // by topic
	for _, k := range order {
		if k.typeName == "" {
			node.Log(bridge.Warn, "%s is not played: the recording does not name its type", cmp.Or(k.topic, `""`))
			continue
		}
		qos, ok := overrides[full(k.topic)]
		if !ok {
			qos = offer(byKey[k])
		}
		topic := o.prefixed(k.topic)
		define(node, k.typeName, byKey[k])
		own, err := node.Advertise(topic, k.typeName, qos)
		if err != nil {
			node.Log(bridge.Warn, "%s is not played: %v", cmp.Or(k.topic, `""`), err)
			continue
		}
		if other := types[own.Topic()]; other != "" && other != k.typeName {
			node.Log(bridge.Warn, "%s is played with two types, %s and %s; a subscriber gets one of them", own.Topic(),
				other, k.typeName)
		}
		types[own.Topic()] = k.typeName
		shared := &publisher{Offer: rospub.Offer{Publisher: own, Type: k.typeName, QoS: qos}}
		for _, c := range byKey[k] {
			all[c] = shared
		}
	}
	if len(all) == 0 {
		return nil, called, errors.New("nothing to play: no topic of the recording is selected, or none carries ROS " +
			"2 messages; 'converter info' lists them")
	}
	return all, called, nil
}

// prefixed returns the name of a topic or service under the option Prefix.
func (o *options) prefixed(name string) string {
	if o.Prefix == "" {
		return name
	}
	return "/" + strings.Trim(o.Prefix, "/") + full(name)
}

// define gives the node the recorded definition of a type, so that subscribers can ask for it.
func define(node bridge.Node, typeName string, channels []*codec.Channel) {
	for _, c := range channels {
		library, err := c.Definitions()
		if err != nil {
			continue
		}
		if err := node.Define(typeName, library); err != nil {
			node.Log(bridge.Warn, "the definition of %s is not offered to subscribers: %v", typeName, err)
		}
		return
	}
}

// offer returns the QoS of the publisher for channels of one topic.
func offer(channels []*codec.Channel) codec.QoS {
	var recorded []codec.QoS
	for _, c := range channels {
		recorded = append(recorded, c.QoS...)
	}
	qos := bridge.OfferQoS(recorded)
	if qos.Reliability == codec.Reliable && qos.Durability == codec.Volatile {
		// KeepAll keeps all messages of a burst until they are acknowledged, so that lost ones can be sent again.
		qos.History, qos.Depth = codec.KeepAll, 0
	}
	return qos
}

// latchedDepth returns the number of a channel's latest messages that a late subscriber would have received.
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

// offers returns each publisher once, sorted by topic.
func (p publishers) offers() []rospub.Offer {
	once := map[*publisher]bool{}
	var list []rospub.Offer
	for _, one := range p {
		if !once[one] && one.caller == nil {
			once[one] = true
			list = append(list, one.Offer)
		}
	}
	slices.SortFunc(list, func(a, b rospub.Offer) int { return strings.Compare(a.Topic(), b.Topic()) })
	return list
}

// send publishes a message. It moves stamps to playingTime if the publisher has stamps to move.
func (p *publisher) send(m *codec.Message, playingTime func(int64) int64) error {
	if len(m.Data) < wire.HeaderSize {
		return errMismatch
	}
	if p.caller != nil {
		return p.call(m, playingTime)
	}
	if err := p.restamp(m, playingTime); err != nil {
		return err
	}
	if m.Buffer != nil {
		return p.Lend(m.Data, m.Buffer)
	}
	return p.Publish(m.Data)
}

// restamp moves the stamps of a message to playingTime if the publisher has stamps to move.
func (p *publisher) restamp(m *codec.Message, playingTime func(int64) int64) error {
	if p.stamps != nil {
		stamp, ok, err := p.stamps.First(m.Data)
		if ok && err == nil {
			if stamp == 0 { // not set, but later stamps of the message may be
				stamp = m.LogTime
			}
			err = p.stamps.Add(m.Data, playingTime(stamp)-stamp)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errMismatch, err)
		}
	}
	return nil
}

var errMismatch = errors.New("skipped a payload that does not match its type")
