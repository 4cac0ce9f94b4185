package player

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/msgs/builtin_interfaces"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
)

// next makes the paused player play one message.
func (g *graph) next() {
	g.t.Helper()
	var response rosbag2.PlayNext_Response
	g.call("play_next", "PlayNext", &rosbag2.PlayNext_Request{}, &response)
	require.True(g.t, response.Success)
}

// seek makes the player seek to t.
func (g *graph) seek(t int64) {
	g.t.Helper()
	var response rosbag2.Seek_Response
	g.call("seek", "Seek", &rosbag2.Seek_Request{Time: builtin_interfaces.Time{Sec: int32(t / 1e9),
		Nanosec: uint32(t % 1e9)}}, &response)
	require.True(g.t, response.Success)
}

const seeks = 100

// TestSeekWhilePaused seeks at random. It checks that the next message is the first one at that time or later, after
// the latched messages from before.
func TestSeekWhilePaused(t *testing.T) {
	for _, name := range []string{"drive.record", "drive.mcap"} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			g := newGraph(t)
			n := track{topic: "/n", qos: keepAll(), period: 10 * time.Millisecond, count: 10_000, size: 100}
			state := track{topic: "/state", qos: latched(), begin: 5 * time.Millisecond, period: 2 * time.Second,
				count: 50}
			numbers, states := g.hear(g.node, "/n", numberType, keepAll()),
				g.hear(g.node, "/state", numberType, latched())
			player := g.player(g.record(name, n, state), "--start-paused", "--wait-for-subscribers")
			g.next() // which waits until it begins
			numbers.wait(1)
			for range seeks {
				want := 1 + random.IntN(n.count-2)
				if state.from(n.at(want)) != state.from(n.at(want-1)) {
					want++ // /state has the next message
				}
				target := n.at(want) - random.Int64N(int64(n.period))*random.Int64N(2) // at the message or before
				before := numbers.count()
				g.seek(target)
				g.next()
				numbers.wait(before + 1)
				require.Equal(t, []int{want}, numbers.numbers(before), "after a seek to %v",
					time.Duration(target-epoch))
				if last := state.from(target) - 1; last >= 0 {
					states.waitLast(last)
				}
			}
			player.Interrupt()
		})
	}
}

// TestSeekWhilePlaying seeks at random, and lets a few messages pass each time. It checks that messages follow each
// other from the message that was sought.
func TestSeekWhilePlaying(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: 4 * time.Millisecond, count: 100_000, size: 100}
	heard := g.hear(g.node, "/n", numberType, keepAll())
	player := g.player(g.record("drive", n), "--wait-for-subscribers")
	heard.wait(1)
	want := []int{0}
	for i := range seeks {
		// Forwards and backwards, but not to the next messages, and not near the end.
		target := n.at(random.IntN(n.count*3/10)+i%2*n.count/2) + random.Int64N(int64(n.period))
		want = append(want, n.from(target))
		before := heard.count()
		g.seek(target)
		heard.wait(before + 3 + random.IntN(20))
		for len(starts(heard.numbers(0))) < len(want) { // messages from before the seek may still arrive
			heard.wait(heard.count() + 1)
		}
	}
	player.Interrupt()
	require.Equal(t, want, starts(heard.numbers(0)))
}

// starts returns the numbers that do not follow the number before.
func starts(numbers []int) (list []int) {
	for i, n := range numbers {
		if i == 0 || n != numbers[i-1]+1 {
			list = append(list, n)
		}
	}
	return list
}
