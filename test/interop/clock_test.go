package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClockOfPlayer has `ros2 bag record` stamp messages with the time that the player publishes.
func TestClockOfPlayer(t *testing.T) {
	each(t, func(t *testing.T, s *stack) {
		s.needs("ros2bag")
		numbers(t, s.path("n.record"), "record", 200, 10*time.Millisecond, "/n")
		bag := s.record("simulated", []string{"/n"}, "--use-sim-time")
		s.ours("player", "n.record", "--clock", "200", "--wait-for-subscribers").Wait(0)
		finish(bag)
		simulated(t, s.path("simulated"), 200)
	})
}

// TestClockOfBagPlay has the recorder stamp messages with the time that `ros2 bag play` publishes.
func TestClockOfBagPlay(t *testing.T) {
	each(t, func(t *testing.T, s *stack) {
		s.needs("ros2bag")
		numbers(t, s.path("bag"), "rosbag2", 200, 10*time.Millisecond, "/n")
		recorder := s.ours("recorder", "-o", "simulated", "/n", "--ros-args", "-p", "use_sim_time:=true")
		s.play(recorder, "/n", "bag", "--clock", "200").Wait(0)
		recorder.Interrupt()
		simulated(t, s.path("simulated.record.00000"), 200)
	})
}

// simulated requires that a recording of numbers has times of the one that was played, whose numbers are 10 ms apart.
// However late it is, simulated time does not go on behind the end.
func simulated(t *testing.T, path string, want int) {
	t.Helper()
	count(t, path, "/n", want)
	before := epoch - int64(time.Second)
	list := messages(t, path, "/n")
	for i, m := range list {
		require.GreaterOrEqual(t, m.time, before, "message %d", i)
		before = m.time
	}
	require.Greater(t, before, list[0].time)
	require.LessOrEqual(t, before, epoch+int64(want)*int64(10*time.Millisecond)+int64(time.Second))
}
