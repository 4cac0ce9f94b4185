package interop

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// TestTopicEcho checks that `ros2 topic echo` prints the played messages.
func TestTopicEcho(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		writeRecording(t, s.path("talk.record"), "record", "std_msgs/msg/String", codec.DefaultQoS(), []message{
			{"/chatter", epoch, words(t, "for all who listen")},
		})
		echo := s.ros2("topic", "echo", "--no-daemon", "--once", "/chatter", "std_msgs/msg/String")
		s.ours("player", "talk.record", "--wait-for-subscribers").Wait(0)
		require.Contains(t, echo.Wait(0), "data: for all who listen")
	})
}

// TestTopicPub checks that the recorder records the messages of `ros2 topic pub`.
func TestTopicPub(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		recorder := s.ours("recorder", "-o", "pub", "/n")
		s.publish(20, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
		list := messages(t, s.path("pub.record.00000"), "/n")
		require.Len(t, list, 20)
		require.Equal(t, number(7), list[0].data)
	})
}

// publish waits for a subscriber, and publishes a message several times with `ros2 topic pub`.
func (s *stack) publish(times int, topic, typeName, text string) {
	s.t.Helper()
	s.ros2("topic", "pub", "--times", strconv.Itoa(times), "--rate", "50", "--print", "0", "--keep-alive", "1",
		"--qos-history", "keep_all", topic, typeName, text).Wait(0)
}

// TestTopicHz checks that `ros2 topic hz` measures the rate of the played messages.
func TestTopicHz(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		writeNumbers(t, s.path("n.record"), "record", 500, 10*time.Millisecond, "/n")
		s.ours("player", "n.record", "--loop")
		awaitRate(t, s.ros2("topic", "hz", "/n"), 100)
	})
}

// awaitRate waits until `ros2 topic hz` has printed about the rate want, in Hz.
func awaitRate(t *testing.T, hz *process.Process, want float64) {
	t.Helper()
	printed := regexp.MustCompile(`average rate: ([\d.]+)`)
	require.Eventually(t, func() bool {
		for _, m := range printed.FindAllStringSubmatch(hz.Output(), -1) {
			if got, _ := strconv.ParseFloat(m[1], 64); got > 0.9*want && got < 1.1*want {
				return true
			}
		}
		return false
	}, process.Patience, 100*time.Millisecond)
}

// TestTopicInfo checks that `ros2 topic info -v` prints tapedeck's endpoints with their node, type and QoS.
func TestTopicInfo(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		writeNumbers(t, s.path("n.record"), "record", 500, 10*time.Millisecond, "/n")
		s.ours("player", "n.record", "--loop", "--ros-args", "-r", "__ns:=/robot")
		s.ours("recorder", "-o", "info", "/n")
		out := s.awaitTexts([]string{
			"Publisher count: 1", "Subscription count: 1", "Node name: player\nNode namespace: /robot\n",
			"Node name: recorder\nNode namespace: /\n",
		}, "topic", "info", "-v", "/n")
		require.NotContains(t, out, "Failed to parse type hash")
		require.Contains(t, out, "Type: std_msgs/msg/UInt32")
		for _, kind := range []string{"PUBLISHER", "SUBSCRIPTION"} { // since Iron with the type hash
			require.Regexp(t, `Topic type: std_msgs/msg/UInt32
(Topic type hash: RIHS01_\w{64}
)?Endpoint type: `+kind, out)
		}
		require.Contains(t, out, "Reliability: RELIABLE")
		require.Contains(t, out, "Durability: VOLATILE")
	})
}
