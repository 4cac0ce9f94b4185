package player

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
)

// TestFirstMessage checks that subscribers which exist before the player miss no message, although the player does not
// have --wait-for-subscribers.
func TestFirstMessage(t *testing.T) {
	for range 3 {
		g := newGraph(t)
		n := track{topic: "/n", qos: keepAll(), period: 100 * time.Microsecond, count: 100}
		other := g.open("other")
		all := []*heard{g.hear(g.node, "/n", numberType, keepAll()), g.hear(other, "/n", numberType, keepAll())}
		g.player(g.record("drive.record", n), "--delay", "0s").Wait(0)
		for _, h := range all {
			h.wait(n.count)
			require.Equal(t, count(0, n.count), h.numbers(0))
		}
	}
}

// TestLateSubscribers checks that subscribers which come while a recording plays get latched messages at once, and then
// all messages.
func TestLateSubscribers(t *testing.T) {
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: 10 * time.Millisecond, count: 60_000}
	state := track{topic: "/state", qos: latched(), period: time.Hour, count: 1}
	first := g.hear(g.node, "/n", numberType, keepAll())
	player := g.player(g.record("drive.mcap", state, n))
	first.wait(100)
	var late []*heard
	for range 3 {
		node := g.open("late")
		h := g.hear(node, "/n", numberType, keepAll())
		late = append(late, h)
		h.wait(10)
		s := g.hear(node, "/state", numberType, latched())
		s.wait(1)
		require.Equal(t, []int{0}, s.numbers(0))
	}
	g.call("set_rate", "SetRate", &rosbag2.SetRate_Request{Rate: 1000}, nil)
	player.Wait(0)
	first.wait(n.count)
	require.Equal(t, count(0, n.count), first.numbers(0))
	for _, h := range late {
		numbers := h.numbers(0)
		h.wait(n.count - numbers[0])
		require.Positive(t, numbers[0])
		require.Equal(t, count(numbers[0], n.count), h.numbers(0))
	}
}

// TestStateBeforeStart plays from the middle on. It checks that latched messages from before come first, whether they
// were recorded shortly before or long before.
func TestStateBeforeStart(t *testing.T) {
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: time.Millisecond, count: 2000}
	tracks := []track{n,
		{topic: "/old", qos: latched(), period: time.Hour, count: 1},
		{topic: "/recent", qos: latched(), begin: 500 * time.Microsecond, period: 100 * time.Millisecond, count: 20},
		{topic: "/future", qos: latched(), begin: 1999 * time.Millisecond, period: time.Hour, count: 1},
	}
	all := map[string]*heard{}
	for _, r := range tracks {
		all[r.topic] = g.hear(g.node, r.topic, numberType, r.qos)
	}
	player := g.player(g.record("drive.record", tracks...), "--start-offset", "1s", "--start-paused")
	all["/old"].waitLast(0)
	all["/recent"].waitLast(9)
	require.Zero(t, all["/future"].count())
	require.Zero(t, all["/n"].count())
	g.call("resume", "Resume", &rosbag2.Resume_Request{}, nil)
	player.Wait(0)
	all["/n"].wait(1000)
	require.Equal(t, count(1000, 2000), all["/n"].numbers(0))
	all["/recent"].waitLast(19)
	all["/future"].waitLast(0)
}
