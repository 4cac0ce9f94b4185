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

// seek makes the player seek to the log time t.
func (g *graph) seek(t int64) {
	g.t.Helper()
	var response rosbag2.Seek_Response
	g.call("seek", "Seek", &rosbag2.Seek_Request{Time: builtin_interfaces.Time{Sec: int32(t / 1e9),
		Nanosec: uint32(t % 1e9)}}, &response)
	require.True(g.t, response.Success)
}

const seeks = 100 // number of seeks of each test

// TestSeekWhilePaused seeks to random times and plays one message after each seek. The player must play the first
// message of /n at that time or later. Before that message, it must play the last message of the latched topic /state.
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
			g.next() // waits until the player has begun
			numbers.wait(1)
			for range seeks {
				want := 1 + random.IntN(n.count-2)
				if state.from(n.at(want)) != state.from(n.at(want-1)) {
					want++ // a message of /state lies between these messages of /n, and would be played instead
				}
				target := n.at(want) - random.Int64N(int64(n.period)) // after the previous message
				if random.Int64N(2) == 0 {
					target = n.at(want)
				}
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

// TestSeekWhilePlaying seeks to random times while the player plays, and receives a few messages after each seek. The
// player must continue with the first message at the time of the seek or later, and then play without gaps.
func TestSeekWhilePlaying(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: 4 * time.Millisecond, count: 100_000, size: 100}
	numbers := g.hear(g.node, "/n", numberType, keepAll())
	player := g.player(g.record("drive", n), "--wait-for-subscribers")
	numbers.wait(1)
	want := []int{0}
	for i := range seeks {
		// Seek backwards into the first 30 % of the recording, then forwards into the range from 50 to 80 %. Thus a
		// target is never among the next messages, and never near the end.
		previous := random.IntN(n.count * 3 / 10)
		if i%2 == 1 {
			previous += n.count / 2
		}
		target := n.at(previous) + random.Int64N(int64(n.period))
		want = append(want, n.from(target))
		before := numbers.count()
		g.seek(target)
		numbers.wait(before + 3 + random.IntN(20))
		for len(starts(numbers.numbers(0))) < len(want) { // only messages from before the seek have arrived
			numbers.wait(numbers.count() + 1)
		}
	}
	player.Interrupt()
	require.Equal(t, want, starts(numbers.numbers(0)), "first message after each seek")
}

// starts returns the numbers that begin a sequence of consecutive numbers.
func starts(numbers []int) (list []int) {
	for i, n := range numbers {
		if i == 0 || n != numbers[i-1]+1 {
			list = append(list, n)
		}
	}
	return list
}
