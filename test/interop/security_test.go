package interop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
)

// TestSecured checks that the recorder records messages of `ros2 topic pub`, and `ros2 topic echo` prints played
// messages, if all of them have keys. Messages without keys must not be received. The keystore is made by sros2, or by
// openssl without sros2.
func TestSecured(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		if s.middleware == "dds" && s.rmw == "rmw_fastrtps_cpp" {
			t.Skip("with SROS 2, nodes on Cyclone DDS do not match nodes on Fast DDS, also without tapedeck")
		}
		secured := *s
		secured.env = append(s.env[:len(s.env):len(s.env)], s.keys("/robot")...)
		probe := secured.ros2("topic", "list", "--no-daemon")
		probe.Ended()
		// The messages of both RMW implementations name this option of CMake.
		if out := probe.Output(); strings.Contains(out, "SECURITY=ON") {
			t.Skipf("this ROS 2 was built without security: %s", out)
		}

		recorder := secured.ours("recorder", "-o", "secured", "/n", "/foreign", "--allow-unmatched")
		secured.publish(20, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		s.ros2("topic", "pub", "--times", "20", "--rate", "50", "--wait-matching-subscriptions", "0", "/foreign",
			"std_msgs/msg/UInt32", "{data: 8}").Wait(0)
		require.Contains(t, recorder.Interrupt(), "0 dropped, 0 lost in transport")
		list := messages(t, s.path("secured.record.00000"), "/n")
		require.Len(t, list, 20)
		require.Equal(t, number(7), list[0].data)
		require.Empty(t, messages(t, s.path("secured.record.00000"), "/foreign"))

		writeRecording(t, s.path("talk.record"), "record", "std_msgs/msg/String", codec.DefaultQoS(), []message{
			{"/chatter", epoch, words(t, "for those with keys")},
		})
		foreign := s.ros2("topic", "echo", "--no-daemon", "/chatter", "std_msgs/msg/String")
		echo := secured.ros2("topic", "echo", "--no-daemon", "--once", "/chatter", "std_msgs/msg/String")
		secured.ours("player", "talk.record", "--wait-for-subscribers").Wait(0)
		require.Contains(t, echo.Wait(0), "data: for those with keys")
		require.NotContains(t, foreign.Stop(), "data:")
	})
}

// keys makes a keystore with an enclave, and returns the environment variables of processes in the enclave.
func (s *stack) keys(enclave string) []string {
	s.t.Helper()
	if find("share/sros2") != "" {
		k := &bridgetest.Keystore{Path: s.path("keystore")}
		s.ros2("security", "create_keystore", k.Path).Wait(0)
		s.ros2("security", "create_enclave", k.Path, enclave).Wait(0)
		return k.Environment(enclave)
	}
	k := bridgetest.NewKeystore(s.t, s.domain)
	k.Add(enclave, bridgetest.Enclave{})
	return k.Environment(enclave)
}
