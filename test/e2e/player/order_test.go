package player

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	rosbag2 "tapedeck/msgs/rosbag2_interfaces"
)

// busy keeps all processors busy until the end of the test.
func busy(t *testing.T) {
	for range runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// TestLoops plays several rounds. It checks that each round has every message in order.
func TestLoops(t *testing.T) {
	const rounds = 5
	g := newGraph(t)
	n := track{topic: "/n", qos: keepAll(), period: time.Millisecond, count: 1000}
	m := track{topic: "/m", qos: keepAll(), begin: 300 * time.Microsecond, period: 10 * time.Millisecond, count: 100,
		size: 50_000}
	heardN, heardM := g.hear(g.node, "/n", numberType, keepAll()), g.hear(g.node, "/m", numberType, keepAll())
	busy(t)
	player := g.player(g.record("drive.mcap", n, m), "--loop-count", fmt.Sprint(rounds), "--rate", "10",
		"--wait-for-subscribers")
	require.Contains(t, player.Wait(0), fmt.Sprintf("played %d messages", rounds*(n.count+m.count)))
	for r, h := range map[track]*heard{n: heardN, m: heardM} {
		h.wait(rounds * r.count)
		var want []int
		for range rounds {
			want = append(want, count(0, r.count)...)
		}
		require.Equal(t, want, h.numbers(0), r.topic)
	}
}

// TestControls pauses, resumes, steps and changes the rate at random on a busy machine. It checks that each message is
// played once, in order.
func TestControls(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	g := newGraph(t)
	tracks := []track{
		{topic: "/imu", qos: keepAll(), period: time.Millisecond, count: 50_000, size: 350},
		{topic: "/pose", qos: keepAll(), begin: 100 * time.Microsecond, period: 20 * time.Millisecond, count: 2500},
		{topic: "/image", qos: keepAll(), begin: 200 * time.Microsecond, period: 100 * time.Millisecond, count: 500,
			size: 50_000},
	}
	all := map[string]*heard{}
	for _, r := range tracks {
		all[r.topic] = g.hear(g.node, r.topic, numberType, keepAll())
	}
	busy(t)
	// The recording's 50 s must not end before the test is done, however busy the machine is.
	player := g.player(g.record("drive.record", tracks...), "--wait-for-subscribers", "--rate", "0.1")
	all["/imu"].wait(1)
	paused := func() bool {
		var response rosbag2.IsPaused_Response
		g.call("is_paused", "IsPaused", &rosbag2.IsPaused_Request{}, &response)
		return response.Paused
	}
	setRate := func(rate float64) {
		var set rosbag2.SetRate_Response
		g.call("set_rate", "SetRate", &rosbag2.SetRate_Request{Rate: rate}, &set)
		require.True(t, set.Success)
		var get rosbag2.GetRate_Response
		g.call("get_rate", "GetRate", &rosbag2.GetRate_Request{}, &get)
		require.InDelta(t, rate, get.Rate, 1e-9)
	}
	for range 30 {
		switch random.IntN(4) {
		case 0:
			g.call("pause", "Pause", &rosbag2.Pause_Request{}, nil)
			require.True(t, paused())
			var burst rosbag2.Burst_Response
			steps := uint64(1 + random.IntN(50))
			g.call("burst", "Burst", &rosbag2.Burst_Request{NumMessages: steps}, &burst)
			require.Equal(t, steps, burst.ActuallyBurst)
			g.next()
			require.True(t, paused())
			g.call("resume", "Resume", &rosbag2.Resume_Request{}, nil)
			require.False(t, paused())
		case 1:
			g.call("toggle_paused", "TogglePaused", &rosbag2.TogglePaused_Request{}, nil)
			require.True(t, paused())
			g.call("toggle_paused", "TogglePaused", &rosbag2.TogglePaused_Request{}, nil)
		case 2:
			setRate(0.01 + random.Float64()/10)
		case 3:
			all["/imu"].wait(all["/imu"].count() + random.IntN(20))
		}
	}
	setRate(100)
	player.Wait(0)
	for _, r := range tracks {
		all[r.topic].wait(r.count)
		require.Equal(t, count(0, r.count), all[r.topic].numbers(0), r.topic)
	}
}
