package interop

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLaunch starts recorder and player with `ros2 launch`. Further tests of launch files are in test/interop/launch.
func TestLaunch(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		recorder := s.ros2("launch", "tapedeck", "recorder.launch.py", "topics:=/n", "output:=launched",
			"middleware:="+s.middleware)
		s.publish(20, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		require.Contains(t, recorder.Stop(), "process has finished cleanly")
		require.Len(t, messages(t, s.path("launched.record.00000"), "/n"), 20)
		echo := s.ros2("topic", "echo", "--no-daemon", "--once", "/n", "std_msgs/msg/UInt32")
		player := s.ros2("launch", "tapedeck", "player.launch.py", "files:=launched.record.00000",
			"extra_args:=--wait-for-subscribers",
			"middleware:="+s.middleware)
		require.Contains(t, echo.Wait(0), "data: 7")
		require.Contains(t, player.Wait(0), "process has finished cleanly")
	})
}
