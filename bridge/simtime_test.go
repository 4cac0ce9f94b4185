package bridge_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// impatient is a node whose use_sim_time is cleared while NewSimTime subscribes to /clock.
type impatient struct {
	bridge.Node
	set chan error
}

func (n *impatient) Subscribe(
	topic, typeName string, qos codec.QoS, handle func([]bridge.Sample),
) (bridge.Subscription, error) {
	go func() { n.set <- n.Parameters().Set("use_sim_time", false) }()
	time.Sleep(20 * time.Millisecond) // the change may happen now
	return n.Node.Subscribe(topic, typeName, qos, handle)
}

func TestSimTimeChangesEarly(t *testing.T) {
	var network bridgetest.Network
	node, err := network.Open(bridge.Options{Name: "node", Parameters: map[string]any{"use_sim_time": true}})
	require.NoError(t, err)
	defer node.Close()
	n := &impatient{node, make(chan error, 1)}
	clock, err := bridge.NewSimTime(n)
	require.NoError(t, err)
	require.NoError(t, <-n.set)
	require.NotZero(t, clock.Now(), "the parameter is cleared, so this is the machine's time")
}
