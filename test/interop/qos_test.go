package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// TestQoSMismatchOfRecorder checks that the recorder and `ros2 topic pub` warn if their QoS do not match.
func TestQoSMismatchOfRecorder(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.write("qos.yaml", "/n: {reliability: reliable}\n")
		recorder := s.ours("recorder", "-o", "mismatch", "--allow-unmatched", "--qos-profile-overrides-path",
			"qos.yaml",
			"/n")
		pub := s.ros2("topic", "pub", "--rate", "10", "--print", "0", "--qos-reliability", "best_effort", "/n",
			"std_msgs/msg/UInt32", "{data: 7}")
		recorder.Prints("/n: the QoS override does not match a publisher: ")
		pub.Prints("incompatible QoS")
		recorder.Interrupt()
		require.Empty(t, messages(t, s.path("mismatch.record.00000"), "/n"))
	})
}

// TestQoSMismatchOfPlayer checks that the player and `ros2 topic echo` warn if their QoS do not match.
func TestQoSMismatchOfPlayer(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		writeNumbers(t, s.path("n.record"), "record", 500, 10*time.Millisecond, "/n")
		s.write("qos.yaml", "/n: {reliability: best_effort}\n")
		player := s.ours("player", "n.record", "--loop", "--qos-profile-overrides-path", "qos.yaml")
		echo := s.ros2("topic", "echo", "--no-daemon", "--qos-reliability", "reliable", "/n", "std_msgs/msg/UInt32")
		echo.Prints("incompatible QoS")
		player.Prints("does not receive from this publisher")
		require.NotContains(t, echo.Output(), "data:")
	})
}

// TestLateSubscriber checks that `ros2 topic echo` gets a latched message that was played before.
func TestLateSubscriber(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		latched := codec.DefaultQoS()
		latched.Depth, latched.Durability = 1, codec.TransientLocal
		writeRecording(t, s.path("map.record"), "record", "std_msgs/msg/UInt32", latched, []message{
			{"/map", epoch, number(7)},
			{"/hint", epoch + int64(time.Second), number(1)},
			{"/end", epoch + int64(time.Hour), number(2)},
		})
		s.ours("player", "map.record")
		late := []string{"topic", "echo", "--no-daemon", "--once", "--qos-durability", "transient_local",
			"--qos-reliability", "reliable"}
		s.ros2(append(late, "/hint", "std_msgs/msg/UInt32")...).Wait(0)
		require.Contains(t, s.ros2(append(late, "/map", "std_msgs/msg/UInt32")...).Wait(0), "data: 7")
	})
}

// TestLatePublication checks that the recorder gets a latched message that `ros2 topic pub` published before.
func TestLatePublication(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		pub := s.ros2("topic", "pub", "--once", "-w", "0", "--keep-alive", "600", "--qos-durability", "transient_local",
			"/map", "std_msgs/msg/UInt32", "{data: 7}")
		pub.Prints("publishing #1")
		recorder := s.ours("recorder", "-o", "late", "/map")
		recorder.Prints("recording /map ")
		path := s.path("late.record.00000")
		process.Await(t, func() bool { return len(readSoFar(t, path, "/map")) > 0 }, "the active file is empty")
		recorder.Interrupt()
		list := messages(t, path, "/map")
		require.Len(t, list, 1)
		require.Equal(t, number(7), list[0].data)
	})
}
