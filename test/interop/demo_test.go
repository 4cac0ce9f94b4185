package interop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/internal/process"
)

// TestTalker checks that the recorder records the talker of ROS 2's C++ demos.
func TestTalker(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		recorder := s.ours("recorder", "-o", "talk", "/chatter")
		talker := s.run("demo_nodes_cpp", "talker")
		process.Await(t, func() bool { return len(readSoFar(t, s.path("talk.record.00000"), "/chatter")) > 1 })
		talker.Stop()
		recorder.Interrupt()
		list := messages(t, s.path("talk.record.00000"), "/chatter")
		first := 0
		for i, m := range list {
			var text std_msgs.String
			require.NoError(t, cdr.Unmarshal(m.data, &text))
			if i == 0 {
				_, err := fmt.Sscanf(text.Data, "Hello World: %d", &first)
				require.NoError(t, err)
			}
			require.Equal(t, fmt.Sprintf("Hello World: %d", first+i), text.Data)
		}
	})
}

// TestListener checks that the listener of ROS 2's C++ demos prints played messages.
func TestListener(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		var list []message
		for i := range 100 {
			list = append(list, message{"/chatter", epoch + int64(i)*int64(10*time.Millisecond),
				words(t, fmt.Sprintf("word %d.", i))})
		}
		listener := s.run("demo_nodes_cpp", "listener")
		kind := "std_msgs/msg/String"
		if lyrical := "example_interfaces/msg/String"; strings.Contains(
			s.awaitTexts([]string{"Subscription count: 1"}, "topic", "info", "/chatter"), lyrical) {
			kind = lyrical
		}
		writeRecording(t, s.path("talk.record"), "record", kind, codec.DefaultQoS(), list)
		s.ours("player", "talk.record", "--wait-for-subscribers").Wait(0)
		for i := range list {
			listener.Prints(fmt.Sprintf("I heard: [word %d.]", i))
		}
	})
}
