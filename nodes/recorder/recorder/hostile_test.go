package recorder

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/rcl_interfaces"
	"tapedeck/msgs/std_srvs"
	"tapedeck/nodes/recorder/internal/owner"
	"tapedeck/nodes/recorder/internal/queue"
)

// logOf collects the log lines of the nodes of a network.
func logOf(t *testing.T, net *bridgetest.Network) func() string {
	node, err := net.Open(bridge.Options{Name: "listener", LogLevel: bridge.Fatal})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	var mu sync.Mutex
	var log strings.Builder
	_, err = node.Subscribe("/rosout", "rcl_interfaces/msg/Log", bridge.RosoutQoS(), func(samples []bridge.Sample) {
		mu.Lock()
		defer mu.Unlock()
		for _, s := range samples {
			var line rcl_interfaces.Log
			if cdr.Unmarshal(s.Data, &line) == nil {
				fmt.Fprintln(&log, line.Msg)
			}
		}
	})
	require.NoError(t, err)
	return func() string {
		net.Drain()
		mu.Lock()
		defer mu.Unlock()
		return log.String()
	}
}

// If messages are larger than the queue, other topics lose nothing, and one warning is logged.
func TestMessagesLargerThanTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		log := logOf(t, net)
		o := testOptions("mcap")
		o.QueueSize = 1 << 20
		o.Priority = []string{"/huge=100"}
		d := newTestRecorderOn(t, net, o, "/n", "/huge")
		small := d.advertise("/n", codec.DefaultQoS())
		huge := d.advertise("/huge", codec.DefaultQoS())
		payload := make([]byte, 2<<20)
		copy(payload, []byte{0, 1, 0, 0})
		var want []uint32
		for i := range uint32(20) {
			require.NoError(t, huge.Publish(payload))
			d.publish(small, 2*i, 2*i+1)
			want = append(want, 2*i, 2*i+1)
			time.Sleep(statusPace)
		}
		require.NoError(t, d.end())
		require.Equal(t, want, numbers(t, d.path(), "/n"))
		require.Contains(t, d.printed.String(), "20 dropped")
		require.Equal(t, 1, strings.Count(log(), "larger than queue_size"), log())
		require.NotContains(t, log(), "the disk does not keep up")
	})
}

// If topics appear and vanish with one message each, other topics lose nothing.
func TestTopicsThatAppearAndVanish(t *testing.T) {
	const topics = 2000
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		o := testOptions("mcap")
		o.All, o.Quiet = true, true
		d := newTestRecorderOn(t, net, o)
		p := d.advertise("/n", codec.DefaultQoS())
		var want []uint32
		for i := range uint32(topics) {
			other, err := d.peer.Advertise(fmt.Sprintf("/gone%d", i), "nobody_msgs/msg/Knows", codec.DefaultQoS())
			require.NoError(t, err)
			if i%100 == 0 {
				d.awaitSubscribers(other)
				require.NoError(t, other.Publish([]byte{0, 1, 0, 0, byte(i)}))
				d.publish(p, i)
				want = append(want, i)
			}
			require.NoError(t, other.Close())
		}
		require.NoError(t, d.end())
		require.Equal(t, want, numbers(t, d.path(), "/n"))
		n := 0
		for range messages(t, d.path(), func(c *codec.Channel) bool { return strings.HasPrefix(c.Topic, "/gone") }) {
			n++
		}
		require.Equal(t, topics/100, n)
	})
}

// At most 10,000 topics are recorded, besides those that are named at the start.
func TestTopicsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("subscribes to 10,000 topics, which is slow under the race detector")
	}
	const limit = 10_000 // mostTopics of package subscription
	const excess = 50    // number of topics beyond limit
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		log := logOf(t, net)
		node, err := net.Open(bridge.Options{Name: "recorder", LogLevel: bridge.Warn})
		require.NoError(t, err)
		o := testOptions("mcap")
		o.All, o.Quiet = true, true
		d := newTestRecorderOf(t, net, node, o, "/z")
		for i := range limit + excess {
			_, err := d.peer.Advertise(fmt.Sprintf("/t%d", i), "std_msgs/msg/UInt32", codec.DefaultQoS())
			require.NoError(t, err)
		}
		p := d.advertise("/z", codec.DefaultQoS())
		d.publish(p, 1, 2, 3)
		require.InDelta(t, limit, len(d.topics.Topics()), 1, "the limit, and possibly /z beyond it")
		_, _, err = d.subscribe(slices.Repeat([]string{"/x"}, limit+1), nil)
		require.ErrorContains(t, err, "topics would be named")
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 2, 3}, numbers(t, d.path(), "/z"))
		require.Equal(t, 1, strings.Count(log(), "further ones are not, unless they are named at the start"), log())
	})
}

// The number of warnings about topics and types is limited.
func TestWarningsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		log := logOf(t, net)
		d := newTestRecorderOn(t, net, testOptions("mcap"), "/n")
		for i := range 3 * mostWarnings {
			d.warn(fmt.Sprint("topic ", i), "strange: %d", i)
		}
		require.EqualValues(t, mostWarnings, d.topicWarnings.Load())
		require.True(t, d.do(func() {}), "the owner must have logged all warnings")
		// The log also has a few lines about the recording itself.
		require.LessOrEqual(t, strings.Count(log(), "\n"), mostWarnings+20)
		require.Equal(t, 1, strings.Count(log(), "further ones are not"))
	})
}

// logNode is a node with only a log.
type logNode struct {
	bridge.Node
	log func(text string)
}

func (n logNode) Log(_ bridge.LogLevel, format string, args ...any) {
	n.log(fmt.Sprintf(format, args...))
}

// A warning of a handler of messages is logged later, by the owner. Warnings without the name of a topic are logged
// even after the maximum number of warnings about topics.
func TestWarningsDoNotDelayMessages(t *testing.T) {
	var logged []string
	r := &recorder{owner: owner.New(), queue: queue.New(1)}
	r.node = logNode{log: func(text string) { logged = append(logged, text) }}
	r.onTooLarge(queue.NewTopic(&codec.Channel{Topic: "/a"}), 5)
	require.Empty(t, logged)
	r.owner.Turn()
	require.Len(t, logged, 1)
	require.Contains(t, logged[0], "/a: messages are dropped")
	for i := range 2 * mostWarnings {
		r.warn(fmt.Sprint("large /", i), "large: %d", i)
	}
	r.owner.Turn()
	require.Len(t, logged, mostWarnings+1)
	r.warn("dropped", "messages are dropped")
	r.owner.Turn()
	require.Equal(t, "messages are dropped", logged[len(logged)-1])
}

// Payloads that do not match their type, or have a wrong encapsulation, are recorded unchanged. A snapshot condition on
// such payloads does not fill the log.
func TestMalformedPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		log := logOf(t, net)
		o := testOptions("mcap")
		o.Snapshot, o.SnapshotCondition = true, []string{"/lie data > 5"}
		d := newTestRecorderOn(t, net, o, "/n", "/lie")
		p := d.advertise("/n", codec.DefaultQoS())
		lie := d.advertise("/lie", codec.DefaultQoS())
		payloads := [][]byte{{0, 1, 0, 0}, {0, 1, 0, 0, 1}, {0xff, 0xff, 0xff, 0xff, 9, 9, 9, 9},
			{0, 3, 0, 0, 9, 9, 9, 9}, {0, 0, 0, 0, 0xff, 0xff}, bytes.Repeat([]byte{0xff}, 1<<16)}
		var want []uint32
		for i := range 20 * len(payloads) {
			require.NoError(t, lie.Publish(payloads[i%len(payloads)]))
			d.publish(p, uint32(i))
			want = append(want, uint32(i))
		}
		require.NoError(t, d.end())
		require.Equal(t, want, numbers(t, d.path(), "/n"))
		var got [][]byte
		for m := range messages(t, d.path(), func(c *codec.Channel) bool { return c.Topic == "/lie" }) {
			got = append(got, bytes.Clone(m.Data))
		}
		require.Len(t, got, 20*len(payloads))
		for i := range got {
			require.Equal(t, payloads[i%len(payloads)], got[i])
		}
		// One line says that /lie is recorded. The 120 payloads must not cause a warning each.
		require.LessOrEqual(t, strings.Count(log(), "/lie"), 3, log())
	})
}

// A thousand concurrent calls of services are all answered while the recorder records.
func TestThousandClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &bridgetest.Network{}
		d := newTestRecorderOn(t, net, testOptions("mcap"), "/n")
		p := d.advertise("/n", codec.DefaultQoS())
		request, err := cdr.Marshal(&std_srvs.Trigger_Request{})
		require.NoError(t, err)
		var clients sync.WaitGroup
		for range 1000 {
			clients.Go(func() {
				_, err := d.peer.Call(t.Context(), d.node.Name()+"/is_paused", "rosbag2_interfaces/srv/IsPaused",
					request)
				require.NoError(t, err)
			})
		}
		d.publish(p, 1, 2, 3)
		clients.Wait()
		require.NoError(t, d.end())
		require.Equal(t, []uint32{1, 2, 3}, numbers(t, d.path(), "/n"))
	})
}
