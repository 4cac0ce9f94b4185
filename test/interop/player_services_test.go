package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPlayerServices calls each service of rosbag2's newest player with `ros2 service call`.
func TestPlayerServices(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s = s.newest()
		writeNumbers(t, s.path("n.record"), "record", 100, time.Second, "/n")
		player := s.ours("player", "n.record", "--start-paused", "--keep-alive")
		for _, call := range []struct{ service, typeName, request, reply string }{
			{"is_paused", "IsPaused", "{}", "paused=True"},
			{"play_next", "PlayNext", "{}", "success=True"},
			{"burst", "Burst", "{num_messages: 3}", "actually_burst=3"},
			{"seek", "Seek", "{time: {sec: 1700000090}}", "success=True"},
			{"burst", "Burst", "{}", "actually_burst=10"},
			{"set_rate", "SetRate", "{rate: 0}", "success=False"},
			{"set_rate", "SetRate", "{rate: 2.5}", "success=True"},
			{"get_rate", "GetRate", "{}", "rate=2.5"},
			{"play", "Play", "{}", "success=False"},
			{"stop", "Stop", "{}", "return_code=0"},
			{"play", "Play", "{start_offset: {sec: 50}, playback_duration: {sec: -1}}", "success=True"},
			{"burst", "Burst", "{}", "actually_burst=50"},
			{"seek", "Seek", "{time: {sec: 1}}", "success=True"},
			{"resume", "Resume", "{}", "return_code=0"},
			{"toggle_paused", "TogglePaused", "{}", "TogglePaused_Response()"},
			{"pause", "Pause", "{}", "Pause_Response()"},
		} {
			out := s.ros2("service", "call", "/player/"+call.service, "rosbag2_interfaces/srv/"+call.typeName,
				call.request).Wait(0)
			require.Contains(s.t, out, call.reply, "%s %s", call.service, call.request)
		}
		player.Interrupt()
	})
}

// follower is a program for rclpy with a timer of simulated time.
const follower = `
import sys, rclpy
from rclpy.parameter import Parameter

rclpy.init()
node = rclpy.create_node('follower', parameter_overrides=[Parameter('use_sim_time', value=True)])
times = []
node.create_timer(0.1, lambda: times.append(node.get_clock().now().nanoseconds))
while len(times) < 20:
    rclpy.spin_once(node, timeout_sec=1)
if sorted(times) != times:
    sys.exit('time runs back: %s' % times)
print('followed from', times[0] // 10**9, 'to', times[-1] // 10**9)
`

// TestUseSimTime checks that a node of rclpy follows the player's /clock through rounds of a loop.
func TestUseSimTime(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		writeNumbers(t, s.path("n.record"), "record", 10, 100*time.Millisecond, "/n")
		player := s.ours("player", "n.record", "--clock", "100", "--loop")
		require.Contains(t, s.start(python, "-c", follower).Wait(0), "followed from 17000000")
		player.Interrupt()
	})
}
