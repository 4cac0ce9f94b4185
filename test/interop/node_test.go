package interop

import "testing"

func TestNodeList(t *testing.T) {
	each(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "list", "--all", "--ros-args", "-r", "__ns:=/robot", "-r", "__node:=taper")
		s.look([]string{"/robot/taper\n"}, "node", "list")
	})
}

func TestNodeInfo(t *testing.T) {
	each(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "info", "--snapshot", "/n")
		s.ros2("topic", "pub", "--print", "0", "/n", "std_msgs/msg/UInt32", "{data: 7}")
		s.look([]string{
			"/recorder\n", "/n: std_msgs/msg/UInt32", "/rosout: rcl_interfaces/msg/Log",
			"/snapshot: std_srvs/srv/Trigger",
			"/recorder/get_parameters: rcl_interfaces/srv/GetParameters",
		}, "node", "info", "/recorder")
	})
}

// TestParam has each verb of `ros2 param` work on the recorder's options. They are fixed once it runs.
func TestParam(t *testing.T) {
	each(t, func(t *testing.T, s *stack) {
		s.ours("recorder", "-o", "param", "-s", "record", "--snapshot", "/n")
		s.look([]string{"snapshot_duration", "use_sim_time", "storage"}, "param", "list", "/recorder")
		s.look([]string{"String value is: record"}, "param", "get", "/recorder", "storage")
		s.look([]string{"Parameter name: snapshot_duration", "Type: double", "Read only: true"}, "param", "describe",
			"/recorder", "snapshot_duration")
		s.look([]string{"storage: record", "snapshot: true"}, "param", "dump", "/recorder")
		s.look([]string{"read-only"}, "param", "set", "/recorder", "storage", "mcap")
		s.look([]string{"Set parameter successful"}, "param", "set", "/recorder", "use_sim_time", "true")
	})
}
