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

// clocks returns the times received on /clock, in ns after epoch.
func (h *heard) clocks() (list []time.Duration) {
	for _, data := range h.all() {
		var m rosgraph_msgs.Clock
		require.NoError(h.g.t, cdr.Unmarshal(data, &m))
		list = append(list, time.Duration(int64(m.Clock.Sec)*1e9+int64(m.Clock.Nanosec)-epoch))
	}
	return list
}

// TestLockStep has a subscriber acknowledge each step when it has all of it, sooner or later. All runs tell the same
// times and play the same messages in each step.
func TestLockStep(t *testing.T) {
	const step, steps = 50 * time.Millisecond, 20
	n := track{topic: "/n", qos: keepAll(), period: 10 * time.Millisecond, count: steps * 5}
	for _, rate := range []string{"--rate=10", "--immediate"} {
		t.Run(rate, func(t *testing.T) {
			g := newGraph(t)
			// The player does not wait for a subscriber of /clock, but meets this one before that of /n.
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
				require.Equal(t, count(0, 5*(i+1)), numbers.numbers(0), "nothing of the next step is played")
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

// TestClock follows /clock through rounds, a pause and a seek: it never runs back but by the seek, and has the time of
// the recording then.
func TestClock(t *testing.T) {
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: 50 * time.Millisecond, count: 20}
	clock := g.hear(g.node, "/clock", "rosgraph_msgs/msg/Clock", bridge.ClockQoS())
	player := g.player(g.record("drive.mcap", n), "--clock", "200", "--loop", "--rate", "5")
	process.Await(t, func() bool {
		all := clock.clocks()
		return len(all) > 0 && all[len(all)-1] > 3*time.Second
	}, "it goes on in rounds")
	g.call("pause", "Pause", &rosbag2.Pause_Request{}, nil)
	var before []time.Duration
	process.Await(t, func() bool {
		before = clock.clocks()
		last := len(before) - 1
		return last >= 19 && before[last-19] == before[last]
	}, "it stands, and is told")
	g.seek(n.at(10))
	process.Await(t, func() bool { all := clock.clocks(); return all[len(all)-1] == 500*time.Millisecond })
	require.True(t, slices.IsSorted(before), "%v", before)
	player.Interrupt()
}
