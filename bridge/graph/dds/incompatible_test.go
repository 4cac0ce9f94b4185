package dds

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// TestIncompatible has a publisher and a subscription that don't match warn of each other, once, unless the
// subscription is replaced by one that does.
func TestIncompatible(t *testing.T) {
	t.Parallel()
	var heard, spoken console
	listener, err := Open(bridge.Options{Name: "listener", Namespace: "/test", Domain: domainOf(t), Console: &heard})
	require.NoError(t, err)
	defer listener.Close()
	talker, err := Open(bridge.Options{Name: "talker", Namespace: "/test", Domain: domainOf(t), Console: &spoken})
	require.NoError(t, err)
	defer talker.Close()
	var replaced time.Duration // after so long
	for _, topic := range []string{"bytes", "replaced"} {
		began := time.Now()
		_, err = talker.Advertise(topic, bridgetest.BytesType, bridge.SensorDataQoS())
		require.NoError(t, err)
		s, err := listener.Subscribe(topic, bridgetest.BytesType, codec.DefaultQoS(), func([]bridge.Sample) {})
		require.NoError(t, err)
		if topic == "replaced" {
			require.Eventually(t, func() bool { return len(publishersOf(listener, s.Topic())) == 1 }, patience,
				5*time.Millisecond)
			require.NoError(t, s.Close())
			replaced = time.Since(began)
		}
	}
	const reason = "the publisher is best effort, the subscriber asks for reliable"
	require.Eventually(t, func() bool {
		return strings.Contains(heard.String(), "/test/bytes: /test/talker does not reach this "+
			"subscription: "+reason) &&
			strings.Contains(spoken.String(), "/test/bytes: /test/listener does not receive from this "+
				"publisher: "+reason)
	}, patience, 5*time.Millisecond)
	_, err = talker.Advertise("other", bridgetest.BytesType, codec.DefaultQoS()) // another change of the graph
	require.NoError(t, err)
	time.Sleep(settled + quiet)
	for _, said := range []string{heard.String(), spoken.String()} {
		require.Equal(t, 1, strings.Count(said, "/test/bytes: "))
		if replaced < settled {
			require.NotContains(t, said, "/test/replaced: ")
		}
	}
}
