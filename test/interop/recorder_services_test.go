package interop

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/test/internal/process"
)

// TestRecorderServices calls each service of rosbag2's newest recorder with `ros2 service call`.
func TestRecorderServices(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s = s.newest()
		recorder := s.ours("recorder", "-s", "mcap", "-o", "drive", "--repeat-latched=false", "/n")
		s.publish(10, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		for _, call := range []struct{ service, typeName, request, reply string }{
			{"is_recording", "IsRecording", "{}", "recording=True"},
			{"get_uri", "GetUri", "{}", "uri='drive'"},
			{"get_subscribed_topics", "GetSubscribedTopics", "{}", "topics=['/n']"},
			{"is_discovery_running", "IsDiscoveryRunning", "{}", "running=True"},
			{"stop_discovery", "StopDiscovery", "{}", "return_code=0"},
			{"is_discovery_running", "IsDiscoveryRunning", "{}", "running=False"},
			{"start_discovery", "StartDiscovery", "{}", "return_code=0"},
			{"subscribe_to_topics", "SubscribeToTopics",
				"{topics: [/m, /none], topic_types: [std_msgs/msg/UInt32, '']}",
				"return_code=0, error_string='', subscribed_topics=['/m'], unavailable_topics=['/none']"},
			{"pause", "Pause", "{}", "Pause_Response()"},
			{"is_paused", "IsPaused", "{}", "paused=True"},
			{"resume", "Resume", "{resume_mode: 3}", "return_code=1"},
			{"resume", "Resume", "{}", "return_code=0"},
			{"split_bagfile", "SplitBagfile", "{}", "return_code=0"},
			{"split_bagfile", "SplitBagfile", "{split_mode: 1, split_time: {sec: 1}, tracking_topic_name: /m}",
				"return_code=0"},
		} {
			s.call(call.service, call.typeName, call.request, call.reply)
		}
		s.publishNumbers("/n")
		s.publishNumbers("/m")
		s.call("stop", "Stop", "{}", "return_code=0")
		s.call("stop", "Stop", "{}", "return_code=1")
		s.call("record", "Record", "{uri: second}", "return_code=0")
		s.call("get_uri", "GetUri", "{}", "uri='second'")
		s.publishNumbers("/n")
		recorder.Interrupt()
		require.Len(t, messages(t, s.path("drive/drive_0.mcap"), "/n"), 10)
		require.Len(t, messages(t, s.path("drive/drive_1.mcap"), "/n"), 5)
		require.Len(t, messages(t, s.path("drive/drive_2.mcap"), "/m"), 5)
		require.Len(t, messages(t, s.path("second"), "/n"), 5)
	})
}

// publishNumbers publishes 5 numbers once the topic has a subscriber. The publisher stays for another 10 s, in which
// the recorder can discover it.
func (s *stack) publishNumbers(topic string) {
	s.t.Helper()
	s.ros2("topic", "pub", "--times", "5", "--rate", "50", "--print", "0", "--keep-alive", "10", "--qos-history",
		"keep_all", topic, "std_msgs/msg/UInt32", "{data: 7}").Wait(0)
}

// call calls a service of the recorder.
func (s *stack) call(service, typeName, request, reply string) {
	s.t.Helper()
	out := s.ros2("service", "call", "/recorder/"+service, "rosbag2_interfaces/srv/"+typeName, request).Wait(0)
	require.Contains(s.t, out, reply, service)
}

// TestRecorderEvents checks that `ros2 topic echo` prints the recorder's split events, in the installed form.
func TestRecorderEvents(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("rosbag2_interfaces")
		recorder := s.ours("recorder", "-o", "drive", "--max-bag-messages", "10", "--publish", "/n")
		split := s.echo("/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent")
		begin := s.echo("/begin_write", "std_msgs/msg/String", "--qos-durability", "transient_local",
			"--qos-reliability",
			"reliable")
		begin.Prints("data: drive.record.00000")
		s.publish(15, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		split.Prints("closed_file: drive.record.00000\nopened_file: drive.record.00001\n")
		begin.Prints("data: drive.record.00001")
		recorder.Interrupt()
		split.Prints("closed_file: drive.record.00001\nopened_file: ''\n")
	})
}

// TestRecorderOfAnotherRelease checks that `ros2` with the installed rosbag2_interfaces can call a recorder that uses
// the newest rosbag2_interfaces, whose types may have other fields.
func TestRecorderOfAnotherRelease(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s.needPackage("rosbag2_interfaces")
		if s.middleware != "dds" {
			t.Skip("on rcl the recorder uses the installed types")
		}
		other := *s
		other.env = append(s.env[:len(s.env):len(s.env)], "AMENT_PREFIX_PATH=", "ROS_DISTRO=")
		recorder := other.start(find("lib/tapedeck/recorder_dds"), "-o", "drive", "--max-bag-messages", "10", "/n")
		split := s.echo("/events/write_split", "rosbag2_interfaces/msg/WriteSplitEvent")
		s.call("pause", "Pause", "{}", "Pause_Response(")
		s.call("resume", "Resume", "{}", "Resume_Response(")
		s.call("is_paused", "IsPaused", "{}", "paused=False")
		s.publish(15, "/n", "std_msgs/msg/UInt32", "{data: 7}")
		split.Prints("closed_file: drive.record.00000\nopened_file: drive.record.00001\n")
		recorder.Interrupt()
	})
}

// TestMessagesLost checks that `ros2 topic echo` prints the recorder's losses, in the newest rosbag2's form.
func TestMessagesLost(t *testing.T) {
	eachCell(t, func(t *testing.T, s *stack) {
		s = s.newest()
		var list []message
		for i := range 40 {
			list = append(list, message{"/text", epoch + int64(i)*int64(time.Millisecond),
				words(t, strings.Repeat("x", 100_000))})
		}
		writeRecording(t, s.path("text.record"), "record", "std_msgs/msg/String", codec.DefaultQoS(), list)
		// No disk has this much space, and the queue is too small for the waiting messages.
		recorder := s.ours("recorder", "-o", "drive", "--min-space", "100%", "--low-space-action", "pause",
			"--queue-size",
			"1MiB", "/text")
		lost := s.echo("/events/rosbag2_messages_lost", "rosbag2_interfaces/msg/MessagesLostEvent")
		s.ours("player", "text.record", "--wait-for-subscribers").Wait(0)
		lost.Prints("node_name: /recorder\nmessages_lost_statistics:\n- topic_name: /text\n  " +
			"messages_lost_in_transport: 0\n  messages_lost_in_recorder: ")
		recorder.Interrupt()
	})
}

// echo starts `ros2 topic echo` and waits until it has subscribed.
func (s *stack) echo(topic, typeName string, options ...string) *process.Process {
	s.t.Helper()
	p := s.ros2(append([]string{"topic", "echo", "--no-daemon", topic, typeName}, options...)...)
	s.awaitTexts([]string{"Subscription count: 1"}, "topic", "info", topic)
	return p
}

// newest returns a copy of the stack with the newest rosbag2_interfaces.
func (s *stack) newest() *stack {
	s.t.Helper()
	setup, problem := newestInterfaces()
	if problem != "" {
		s.t.Skip(problem)
	}
	if setup == "" {
		return s
	}
	cmd := exec.Command("bash", "-c", `. "$1" && env -0`, "bash", setup)
	cmd.Env = s.env
	out, err := cmd.Output()
	require.NoError(s.t, err)
	other := *s
	other.env = strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	return &other
}

// newestInterfaces builds the newest rosbag2_interfaces from tapedeck's definitions, once, if the installed ones are
// older. It returns the setup file to source, or the reason why there is none.
var newestInterfaces = sync.OnceValues(func() (setup, problem string) {
	if find("share/rosbag2_interfaces/srv/SubscribeToTopics.srv") != "" {
		return "", ""
	}
	if _, err := exec.LookPath("colcon"); err != nil {
		return "", "rosbag2_interfaces is not the newest, and there is no colcon (Debian: colcon) to build it with"
	}
	dir, err := filepath.Abs("../../build/test-interop")
	if err == nil {
		err = writeInterfaces(filepath.Join(dir, "src/rosbag2_interfaces"))
	}
	if err != nil {
		return "", err.Error()
	}
	build := exec.Command("colcon", "--log-base", "log", "build", "--base-paths", "src", "--cmake-args",
		"-DPython3_EXECUTABLE="+python, "-DPYTHON_EXECUTABLE="+python)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return "", "build the newest rosbag2_interfaces: " + err.Error() + "\n" + string(out)
	}
	return filepath.Join(dir, "install/local_setup.sh"), ""
})

// writeInterfaces writes a ROS package with tapedeck's definitions.
func writeInterfaces(dir string) error {
	const manifest = `<?xml version="1.0"?>
<package format="3">
  <name>rosbag2_interfaces</name>
  <version>0.0.0</version>
  <description>Services and events of the newest rosbag2, for tests</description>
  <maintainer email="maintainers@example.com">maintainers</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>builtin_interfaces</depend>
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
`
	const recipe = `cmake_minimum_required(VERSION 3.16)
project(rosbag2_interfaces)
find_package(ament_cmake REQUIRED)
find_package(builtin_interfaces REQUIRED)
find_package(rosidl_default_generators REQUIRED)
file(GLOB definitions RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} msg/*.msg srv/*.srv)
rosidl_generate_interfaces(${PROJECT_NAME} ${definitions} DEPENDENCIES builtin_interfaces)
ament_package()
`
	texts := map[string]string{"package.xml": manifest, "CMakeLists.txt": recipe}
	for _, pattern := range []string{"msg/*.msg", "srv/*.srv"} {
		found, err := filepath.Glob(filepath.Join("../../msgs/rosbag2_interfaces", pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			texts[filepath.Join(filepath.Dir(pattern), filepath.Base(path))] = string(text)
		}
	}
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if old, err := os.ReadFile(path); err == nil && string(old) == text {
			continue // writing an equal file would build the package again
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
