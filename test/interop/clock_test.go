package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClockOfPlayer checks that `ros2 bag record` stamps messages with the time on the player's /clock.
func TestClockOfPlayer(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		writeNumbers(t, s.path("n.record"), "record", 200, 10*time.Millisecond, "/n")
		bag := s.record("simulated", []string{"/n"}, "--use-sim-time")
		s.ours("player", "n.record", "--clock", "200", "--wait-for-subscribers").Wait(0)
		finish(bag)
		requireSimulatedTimes(t, s.path("simulated"), 200)
	})
}

// TestClockOfBagPlay checks that the recorder stamps messages with the time on /clock of `ros2 bag play`.
func TestClockOfBagPlay(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("ros2bag")
		writeNumbers(t, s.path("bag"), "rosbag2", 200, 10*time.Millisecond, "/n")
		recorder := s.ours("recorder", "-o", "simulated", "/n", "--ros-args", "-p", "use_sim_time:=true")
		s.play(recorder, "/n", "bag", "--clock", "200").Wait(0)
		recorder.Interrupt()
		requireSimulatedTimes(t, s.path("simulated.record.00000"), 200)
	})
}

// requireSimulatedTimes requires that the log times of a recording of numbers are times of the played recording, whose
// numbers are 10 ms apart. Simulated time stops at the end of the played recording, so no log time is later.
func requireSimulatedTimes(t *testing.T, path string, want int) {
	t.Helper()
	requireNumbers(t, path, "/n", want)
	before := epoch - int64(time.Second)
	list := messages(t, path, "/n")
	for i, m := range list {
		require.GreaterOrEqual(t, m.time, before, "message %d", i)
		before = m.time
	}
	require.Greater(t, before, list[0].time)
	require.LessOrEqual(t, before, epoch+int64(want)*int64(10*time.Millisecond)+int64(time.Second))
}
