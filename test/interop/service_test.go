package interop

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestServiceList checks that `ros2 service list -t` prints the recorder's services with their types.
func TestServiceList(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "drive", "--snapshot", "/n")
		s.awaitTexts([]string{
			"/snapshot [std_srvs/srv/Trigger]", "/recorder/take_snapshot [tapedeck/srv/TakeSnapshot]",
			"/recorder/list_parameters [rcl_interfaces/srv/ListParameters]",
		}, "service", "list", "-t")
	})
}

// TestServiceCall calls the services of the nodes with `ros2 service call`.
func TestServiceCall(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		recorder := s.ours("recorder", "-o", "drive", "--snapshot", "/n")
		s.publish(20, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		for _, call := range []struct{ service, typeName, request, reply string }{
			{"/snapshot", "std_srvs/srv/Trigger", "{}", "success=True"},
			{"/recorder/take_snapshot", "tapedeck/srv/TakeSnapshot", "{path: crash, cause: a bang}",
				"message_count=20"},
			{"/recorder/pause", "rosbag2_interfaces/srv/Pause", "{}", "Pause_Response()"},
			{"/recorder/is_paused", "rosbag2_interfaces/srv/IsPaused", "{}", "paused=True"},
			{"/recorder/resume", "rosbag2_interfaces/srv/Resume", "{}", "Resume_Response("},
			{"/recorder/is_paused", "rosbag2_interfaces/srv/IsPaused", "{}", "paused=False"},
		} {
			if pkg, _, _ := strings.Cut(call.typeName, "/"); find("share/"+pkg) != "" {
				require.Contains(t, s.ros2("service", "call", call.service, call.typeName, call.request).Wait(0),
					call.reply)
			}
		}
		recorder.Interrupt()
		converter := s.ours("converter_node")
		if find("share/tapedeck") != "" {
			require.Contains(t, s.ros2("service", "call", "/convert", "tapedeck/srv/Convert",
				"{inputs: [drive.record.00000], output: drive.mcap, options: ['topics=/n']}").Wait(0),
				"message_count=20")
		}
		converter.Interrupt()
		for _, pattern := range []string{"drive.record.00000", "snapshot_drive_*", "crash*"} {
			found, err := filepath.Glob(s.path(pattern))
			require.NoError(t, err)
			require.Len(t, found, 1, pattern)
			require.Len(t, messages(t, found[0], "/n"), 20, pattern)
		}
	})
}
