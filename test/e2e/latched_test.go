package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/std_msgs"
)

// latched is the QoS of /tf_static.
func latched() codec.QoS {
	qos := codec.DefaultQoS()
	qos.Depth, qos.Durability = 1, codec.TransientLocal
	return qos
}

// number returns a std_msgs/msg/UInt32 as CDR.
func (g *graph) number(n uint32) []byte { return marshal(g.t, &std_msgs.UInt32{Data: n}) }

// TestLatchedMessageFromBeforeTheRecorder checks that the recorder records a latched message that was published before
// it started.
func TestLatchedMessageFromBeforeTheRecorder(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	p, err := g.open("publisher").Advertise("/map", "std_msgs/msg/UInt32", latched())
	require.NoError(t, err)
	require.NoError(t, p.Publish(g.number(7)))
	recorder := g.start("recorder", "-o", "early", "--all")
	recorder.Prints("recording /map ")
	path := g.path("early.record.00000")
	await(t, func() bool { return len(readSoFar(t, path)["/map"]) > 0 }) // the file is still being written
	recorder.Interrupt()
	require.Equal(t, [][]byte{g.number(7)}, messages(t, path)["/map"])
	require.Equal(t, codec.TransientLocal, channel(t, path, "/map").QoS[0].Durability)
}

// TestLatchedMessageFromAPublisherThatComesLate checks that the recorder records a latched message of a publisher that
// comes after the subscription. Before, the recorder knows only another subscriber of the topic, but no publisher's
// QoS.
func TestLatchedMessageFromAPublisherThatComesLate(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	viewer := g.open("viewer")
	_, err := viewer.Subscribe("/map", "std_msgs/msg/UInt32", latched(), func([]bridge.Sample) {})
	require.NoError(t, err)
	recorder := g.start("recorder", "-o", "late", "/map")
	recorder.Prints("recording /map ")
	node := g.open("publisher")
	p, err := node.Advertise("/map", "std_msgs/msg/UInt32", latched())
	require.NoError(t, err)
	require.NoError(t, p.Publish(g.number(7)), "publish before the publisher knows a subscriber")
	require.Eventually(t, func() bool { return recorderQoS(node, "/map") == codec.TransientLocal }, patient,
		5*time.Millisecond)
	require.NoError(t, p.Publish(g.number(8)))
	require.NoError(t, p.Flush(t.Context()))
	recorder.Interrupt()
	path := g.path("late.record.00000")
	got := messages(t, path)["/map"]
	require.Contains(t, [][][]byte{{g.number(7), g.number(8)}, {g.number(8)}}, got, "each once")
	offered := channel(t, path, "/map").QoS
	require.Len(t, offered, 1, "of %v", got)
	require.Equal(t, codec.TransientLocal, offered[0].Durability)
}

// recorderQoS returns the durability of the recorder's subscriptions of a topic. It returns "" while subscriptions
// differ.
func recorderQoS(node bridge.Node, topic string) (durability codec.Durability) {
	for _, found := range node.Topics() {
		for i, s := range found.Subscribers {
			if found.Name != topic || s.Node != "/recorder" {
				continue
			}
			if i > 0 && durability != "" && durability != s.QoS.Durability {
				return ""
			}
			durability = s.QoS.Durability
		}
	}
	return durability
}

// channel returns the channel of a topic in a recording, which must have one channel of the topic.
func channel(t *testing.T, path, topic string) *codec.Channel {
	t.Helper()
	var found []*codec.Channel
	for _, info := range infoOf(t, path).Topics {
		if info.Channel.Topic == topic {
			found = append(found, info.Channel)
		}
	}
	require.Len(t, found, 1, topic)
	return found[0]
}

// TestPlayerLatches checks that late subscribers get played latched messages.
func TestPlayerLatches(t *testing.T) {
	t.Parallel()
	g := isolate(t)
	path := g.path("drive.record")
	w, err := formats.Create(path, codec.CreateOptions{})
	require.NoError(t, err)
	static := &codec.Channel{Topic: "/map", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{latched()}}
	tick := &codec.Channel{Topic: "/tick", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
	write := func(c *codec.Channel, ms int64, n uint32) {
		require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: epoch + ms*int64(time.Millisecond),
			Data: g.number(n)}))
	}
	write(static, 0, 7)
	for ms := range int64(60) {
		write(tick, ms*1000, uint32(ms))
	}
	require.NoError(t, w.Close())

	for name, args := range map[string][]string{"from the start": nil, "behind it": {"--start-offset", "10s"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := isolate(t)
			player := g.start("player", append([]string{path}, args...)...)
			node := g.open("listener")
			ticks := g.collect(node, "/tick", "std_msgs/msg/UInt32", keepAll())
			await(t, func() bool { return len(ticks()) > 0 }) // wait until the player plays
			heard := g.collect(node, "/map", "std_msgs/msg/UInt32", latched())
			await(t, func() bool { return len(heard()) > 0 })
			require.Equal(t, [][]byte{g.number(7)}, heard())
			require.Contains(t, player.Interrupt(), "played")
		})
	}
}
