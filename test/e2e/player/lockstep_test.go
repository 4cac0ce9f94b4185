package player

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/codec/encoding/cdr"
	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
)

// clocks returns the received times of /clock, since epoch.
func (h *heard) clocks() (list []time.Duration) {
	for _, data := range h.all() {
		var m rosgraph_msgs.Clock
		require.NoError(h.g.t, cdr.Unmarshal(data, &m))
		list = append(list, time.Duration(int64(m.Clock.Sec)*1e9+int64(m.Clock.Nanosec)-epoch))
	}
	return list
}

// TestLockStep acknowledges each step once all of its messages have arrived, after delays that differ between runs. It
// checks that all runs publish equal times and play equal messages in each step.
func TestLockStep(t *testing.T) {
	const step, steps = 50 * time.Millisecond, 20
	n := track{topic: "/n", qos: keepAll(), period: 10 * time.Millisecond, count: steps * 5}
	for _, rate := range []string{"--rate=10", "--immediate"} {
		t.Run(rate, func(t *testing.T) {
			g := newGraph(t)
			// The player waits for subscribers of /n, but not of /clock: this subscription comes first.
			clock := g.hear(g.node, "/clock", "rosgraph_msgs/msg/Clock", keepAll())
			numbers := g.hear(g.node, "/n", numberType, keepAll())
			done, err := g.node.Advertise("/done", numberType, keepAll())
			require.NoError(t, err)
			ack, err := cdr.Marshal(&std_msgs.UInt32{})
			require.NoError(t, err)
			player := g.player(g.record("drive.mcap", n), rate, "--clock", "40", "--lock-step", step.String(),
				"--lock-step-topic", "/done", "--wait-for-subscribers")
			process.Await(t, func() bool { return done.Subscribers() > 0 })
			var want []time.Duration // on /clock
			for at := time.Duration(0); at < time.Duration(n.at(n.count-1)-epoch); at += step / 2 {
				want = append(want, at)
			}
			want = append(want, time.Duration(n.at(n.count-1)-epoch+1)) // the end
			for i := range steps {
				numbers.wait(5 * (i + 1))
				require.Equal(t, count(0, 5*(i+1)), numbers.numbers(0), "messages of step %d and before", i)
				if i < steps-1 {
					clock.wait(2*(i+1) + 1)
					require.Equal(t, want[:2*(i+1)+1], clock.clocks())
				}
				require.NoError(t, done.Publish(ack))
			}
			player.Wait(0)
			clock.wait(len(want))
			require.Equal(t, want, clock.clocks())
		})
	}
}

// TestClock checks /clock in rounds, a pause and a seek. Its time never decreases, except by the seek, after which it
// is the time of the recording.
func TestClock(t *testing.T) {
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: 50 * time.Millisecond, count: 20}
	clock := g.hear(g.node, "/clock", "rosgraph_msgs/msg/Clock", bridge.ClockQoS())
	player := g.player(g.record("drive.mcap", n), "--clock", "200", "--loop", "--rate", "5")
	process.Await(t, func() bool {
		all := clock.clocks()
		return len(all) > 0 && all[len(all)-1] > 3*time.Second
	}, "/clock does not advance in the next round")
	g.call("pause", "Pause", &rosbag2.Pause_Request{}, nil)
	var before []time.Duration
	process.Await(t, func() bool {
		before = clock.clocks()
		last := len(before) - 1
		return last >= 19 && before[last-19] == before[last]
	}, "/clock is not published, or advances, in a pause")
	g.seek(n.at(10))
	process.Await(t, func() bool { all := clock.clocks(); return all[len(all)-1] == 500*time.Millisecond })
	require.True(t, slices.IsSorted(before), "%v", before)
	player.Interrupt()
}
