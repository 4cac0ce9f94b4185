package rospub

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// matched is a publisher that has matched count subscribers.
type matched struct {
	bridge.Publisher
	topic string
	count int
}

func (m matched) Topic() string    { return m.topic }
func (m matched) Subscribers() int { return m.count }

func TestUnmatched(t *testing.T) {
	reader := func(typeName string, reliability codec.Reliability) bridge.Endpoint {
		qos := codec.DefaultQoS()
		qos.Reliability = reliability
		return bridge.Endpoint{Type: typeName, QoS: qos}
	}
	topics := []bridge.Topic{
		{Name: "/a", Subscribers: []bridge.Endpoint{reader("T", codec.Reliable), reader("T", codec.BestEffort),
			reader("U", codec.Reliable)}},
		{Name: "/b"},
	}
	offering := func(topic string, reliability codec.Reliability, count int) Offer {
		qos := codec.DefaultQoS()
		qos.Reliability = reliability
		return Offer{Publisher: matched{topic: topic, count: count}, Type: "T", QoS: qos}
	}
	for name, test := range map[string]struct {
		offer   Offer
		missing bool
	}{
		"all met":                     {offering("/a", codec.Reliable, 2), false},
		"more than are known":         {offering("/a", codec.Reliable, 3), false},
		"one has not":                 {offering("/a", codec.Reliable, 1), true},
		"one that never will":         {offering("/a", codec.BestEffort, 1), false},
		"none":                        {offering("/a", codec.BestEffort, 0), true},
		"nobody subscribes":           {offering("/b", codec.Reliable, 0), false},
		"a topic that nobody knows":   {offering("/c", codec.Reliable, 0), false},
		"a topic that is called like": {offering("/a/b", codec.Reliable, 0), false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.missing, unmatched(topics, []Offer{test.offer}) != nil)
		})
	}
}

func TestAwaitMatches(t *testing.T) {
	net := &bridgetest.Network{}
	node, err := net.Open(bridge.Options{Name: "player"})
	require.NoError(t, err)
	defer node.Close()
	_, err = node.Subscribe("/a", "T", codec.DefaultQoS(), func([]bridge.Sample) {})
	require.NoError(t, err)
	long := time.Now().Add(-time.Hour)
	list := []Offer{{Publisher: matched{topic: "/a"}, Type: "T", QoS: codec.DefaultQoS()}}
	missing, err := AwaitMatches(t.Context(), node, long, list, time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, []string{"/a"}, missing, "topics without a match")
	missing, err = AwaitMatches(t.Context(), node, long, list, 0)
	require.NoError(t, err)
	require.Nil(t, missing, "nobody waits")
	list[0].Publisher = matched{topic: "/a", count: 1}
	missing, err = AwaitMatches(t.Context(), node, long, list, time.Minute)
	require.NoError(t, err)
	require.Nil(t, missing)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = AwaitMatches(canceled, node, time.Now(), list, time.Minute)
	require.Error(t, err)
	list[0].Publisher = matched{topic: "/a"}
	require.NoError(t, node.Close())
	missing, err = AwaitMatches(t.Context(), node, long, list, 24*time.Hour)
	require.NoError(t, err)
	require.Nil(t, missing, "the node has ended")
}
