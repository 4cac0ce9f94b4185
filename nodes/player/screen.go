package main

import (
	"errors"
	"fmt"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/nodes/internal/publish"
)

const clockTopic = "/clock"

// screen is the stage that a node is.
type screen struct {
	node        bridge.Node
	publishers  publishers
	playingTime func(int64) int64
	clock       bridge.Publisher // nil: none
	buf         []byte
}

// newScreen shows a /clock if it is asked to.
func newScreen(node bridge.Node, p publishers, clocked bool) (*screen, error) {
	s := &screen{node: node, publishers: p}
	if !clocked {
		return s, nil
	}
	var err error
	if s.clock, err = node.Advertise(clockTopic, "rosgraph_msgs/msg/Clock", codec.DefaultQoS()); err != nil {
		return nil, fmt.Errorf("publish %s: %w", clockTopic, err)
	}
	return s, nil
}

func (s *screen) publish(m *codec.Message) error {
	p := s.publishers[m.Channel]
	err := p.send(m, s.playingTime)
	if errors.Is(err, errNoMessage) {
		if !p.odd {
			p.odd = true
			s.node.Log(bridge.Warn, "%s: %v", p.Topic(), err)
		}
		err = nil
	}
	return err
}

func (s *screen) tell(clock int64) error {
	message := rosgraph_msgs.Clock{Clock: publish.Time(clock)}
	var err error
	if s.buf, err = cdr.Append(s.buf[:0], &message); err != nil {
		return err
	}
	return s.clock.Publish(s.buf)
}
