package bridgetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
)

func testGraph(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	offered := bridge.LatchedQoS()
	offered.Depth = 7
	offered.Deadline = 250 * time.Millisecond
	offered.Lifespan = 5 * time.Second
	offered.LivelinessLease = 3 * time.Second
	out := advertise(t, talker, "imu", "sensor_msgs/msg/Imu", offered)
	in := subscribe(t, listener, "imu", "sensor_msgs/msg/Imu", bridge.SensorDataQoS())
	name := out.Topic()

	for _, n := range []bridge.Node{talker, listener} {
		eventually(t, n.Name()+" knows both endpoints and their nodes", func() bool {
			got := topic(n, name)
			return len(got.Publishers) == 1 && got.Publishers[0].Node != "" &&
				len(got.Subscribers) == 1 && got.Subscribers[0].Node != ""
		})
		got := topic(n, name)
		require.Equal(t, []string{"sensor_msgs/msg/Imu"}, got.Types)
		p, s := got.Publishers[0], got.Subscribers[0]
		require.Equal(t, talker.Name(), p.Node)
		require.Equal(t, listener.Name(), s.Node)
		require.Equal(t, n == talker, p.Own)
		require.Equal(t, n == listener, s.Own)
		require.Equal(t, "sensor_msgs/msg/Imu", p.Type)
		require.Equal(t, "sensor_msgs/msg/Imu", s.Type)
		require.NotZero(t, p.GUID)
		require.NotZero(t, s.GUID)
		require.NotEqual(t, p.GUID, s.GUID)
		requireQoS(t, offered, p.QoS)
		requireQoS(t, bridge.SensorDataQoS(), s.QoS)

		topics := n.Topics()
		require.True(t, slices.IsSortedFunc(topics,
			func(a, b bridge.Topic) int { return strings.Compare(a.Name, b.Name) }))
		for _, other := range topics {
			require.True(t, strings.HasPrefix(other.Name, "/"), other.Name)
			require.NotEqual(t, "/ros_discovery_info", other.Name)
		}
		eventually(t, "the nodes' own topics", func() bool {
			return hasPublisher(n, "/rosout", talker) && hasPublisher(n, "/parameter_events", listener)
		})
	}

	second := advertise(t, listener, "imu", "sensor_msgs/msg/Imu", codec.DefaultQoS())
	eventually(t, "two publishers", func() bool { return len(topic(talker, name).Publishers) == 2 })
	publishers := topic(talker, name).Publishers
	require.Negative(t, slices.Compare(publishers[0].GUID[:], publishers[1].GUID[:]), "endpoints are sorted by GUID")
	require.NoError(t, second.Close())
	eventually(t, "one publisher left", func() bool { return len(topic(talker, name).Publishers) == 1 })

	require.NoError(t, in.Close())
	eventually(t, "no subscriber left", func() bool { return len(topic(talker, name).Subscribers) == 0 })
	require.NoError(t, talker.Close())
	eventually(t, "a closed node leaves the graph", func() bool {
		return topic(listener, name).Name == "" && !hasPublisher(listener, "/rosout", talker)
	})
}

// hasPublisher reports whether n knows a publisher of owner on a topic.
func hasPublisher(n bridge.Node, name string, owner bridge.Node) bool {
	return slices.ContainsFunc(topic(n, name).Publishers, func(e bridge.Endpoint) bool { return e.Node == owner.Name() })
}

// requireQoS compares QoS, except for a history or lifespan that the middleware does not announce.
func requireQoS(t *testing.T, want, got codec.QoS) {
	t.Helper()
	if got.History == codec.UnknownHistory {
		want.History, want.Depth = got.History, got.Depth
	}
	if got.Lifespan == codec.Infinite {
		want.Lifespan = codec.Infinite
	}
	require.Equal(t, want, got)
}

func testWatch(t *testing.T, open Open) {
	talker, listener := pair(t, open)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watch := listener.Watch(ctx)

	// change calls act and waits for an announcement after which condition holds.
	change := func(description string, act func(), condition func() bool) {
		t.Helper()
		for settled := false; !settled; { // announcements of earlier changes must not count
			select {
			case <-watch:
			case <-time.After(quiet):
				settled = true
			}
		}
		act()
		timeout := time.After(patience)
		for {
			select {
			case _, open := <-watch:
				require.True(t, open)
				if condition() {
					return
				}
			case <-timeout:
				require.FailNow(t, "no change announced", description)
			}
		}
	}
	var out bridge.Publisher
	var in *inbox
	change("publisher and its node", func() { out = advertise(t, talker, "numbers", numberType, codec.DefaultQoS()) },
		func() bool {
			publishers := topic(listener, out.Topic()).Publishers
			return len(publishers) == 1 && publishers[0].Node == talker.Name()
		})
	change("subscriber", func() { in = subscribe(t, talker, "numbers", numberType, codec.DefaultQoS()) }, func() bool {
		return len(topic(listener, out.Topic()).Subscribers) == 1
	})
	change("no subscriber", func() { require.NoError(t, in.Close()) }, func() bool {
		return len(topic(listener, out.Topic()).Subscribers) == 0
	})
	change("no topic", func() { require.NoError(t, talker.Close()) }, func() bool {
		return topic(listener, out.Topic()).Name == ""
	})

	ended := func(c <-chan struct{}) func() bool {
		return func() bool {
			select {
			case _, open := <-c:
				return !open
			default:
				return false
			}
		}
	}
	cancel()
	eventually(t, "the channel closes with its context", ended(watch))
	watch = listener.Watch(context.Background())
	require.NoError(t, listener.Close())
	eventually(t, "the channel closes with the node", ended(watch))
	eventually(t, "the channel of a closed node", ended(listener.Watch(context.Background())))
}
