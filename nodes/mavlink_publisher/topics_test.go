package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/translate/mavros"
	"tapedeck/codec"
	"tapedeck/msgs/mavros_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/internal/graph/rospub"
)

// bare is a node of a ROS 2 without mavros_msgs.
type bare struct {
	bridge.Node
	said string
}

func (n *bare) Log(_ bridge.LogLevel, format string, args ...any) {
	n.said += fmt.Sprintf(format, args...)
}

func (n *bare) Advertise(topic, typeName string, qos codec.QoS) (bridge.Publisher, error) {
	if strings.HasPrefix(typeName, "mavros_msgs/") {
		return nil, fmt.Errorf("%w: %s", rosidl.ErrUnknownType, typeName)
	}
	return n.Node.Advertise(topic, typeName, qos)
}

func TestMissingTypes(t *testing.T) {
	var network bridgetest.Network
	node, err := network.Open(bridge.Options{Name: "mavlink_publisher"})
	require.NoError(t, err)
	n := &bare{Node: node}
	o, err := newTopicPublishers(n, rospub.NewTopics(n, ""), "mavros", true, false)
	require.NoError(t, err)
	require.Contains(t, n.said, "mavros: not publishing gpsstatus/gps1/raw, altitude, state")
	require.Len(t, o.offers(), mavros.TopicCount-12)
	for i, topic := range mavros.Topics {
		switch topic.Name {
		case "state":
			o.Send(mavros.Topic(i), &mavros_msgs.State{})
		case "imu/data":
			o.Send(mavros.Topic(i), &sensor_msgs.Imu{})
		}
	}
	require.False(t, o.failed)
	require.EqualValues(t, 1, o.sent)
}
