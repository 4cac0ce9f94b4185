package interop

import "testing"

// TestNodeList checks that `ros2 node list` prints tapedeck's nodes.
func TestNodeList(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "list", "--all", "--ros-args", "-r", "__ns:=/robot", "-r", "__node:=taper")
		s.awaitTexts([]string{"/robot/taper\n"}, "node", "list")
	})
}

// TestNodeInfo checks that `ros2 node info` prints the endpoints of tapedeck's nodes.
func TestNodeInfo(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "info", "--snapshot", "/n")
		s.ros2("topic", "pub", "--print", "0", "/n", "std_msgs/msg/UInt32", "{data: 7}")
		s.awaitTexts([]string{
			"/recorder\n", "/n: std_msgs/msg/UInt32", "/rosout: rcl_interfaces/msg/Log",
			"/snapshot: std_srvs/srv/Trigger",
			"/recorder/get_parameters: rcl_interfaces/srv/GetParameters",
		}, "node", "info", "/recorder")
	})
}

// TestParam checks each verb of `ros2 param` on the recorder's options, which cannot be set.
func TestParam(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "param", "-s", "record", "--snapshot", "/n")
		s.awaitTexts([]string{"snapshot_duration", "use_sim_time", "storage"}, "param", "list", "/recorder")
		s.awaitTexts([]string{"String value is: record"}, "param", "get", "/recorder", "storage")
		s.awaitTexts([]string{"Parameter name: snapshot_duration", "Type: double", "Read only: true"}, "param",
			"describe",
			"/recorder", "snapshot_duration")
		s.awaitTexts([]string{"storage: record", "snapshot: true"}, "param", "dump", "/recorder")
		s.awaitTexts([]string{"read-only"}, "param", "set", "/recorder", "storage", "mcap")
		s.awaitTexts([]string{"Set parameter successful"}, "param", "set", "/recorder", "use_sim_time", "true")
	})
}
