package convert

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// recording is a real recording.
type recording struct {
	path     string
	format   string   // key in targets of the recording's format
	messages string   // number of messages that diff --as ros2 prints
	standIn  string   // value of messages for a generated stand-in, if it differs
	foreign  bool     // messages are not ROS 2 messages
	lost     string   // text in the report of losses of the translation to ROS 2
	back     []string // arguments of diff for the recording that was converted to another format and back
}

var recordings = map[string]recording{
	"Apollo's sensors": {
		path: "apollo/apollo_cpp_sensors.record", format: "record", messages: "1511 messages", foreign: true,
		lost: "lost: header.module_name (",
	},
	"Apollo's simulation": {
		path: "apollo/example.record.00000", format: "record", messages: "80 messages", foreign: true,
	},
	"ROS 2": {
		path: "rosbag2/rosbags_rs/test_bag_mcap/test_bag_mcap.mcap", format: "mcap", messages: "188 messages",
	},
	"ROS 2 in SQLite": {
		path: "rosbag2/rosbags_rs/test_bag_sqlite3", format: "sqlite3", messages: "188 messages",
	},
	"ROS 1": {
		path: "bag/cruise_example.bag", format: "bag", messages: "8647 messages", foreign: true,
		lost: "lost: ",
	},
	"ROS 1 from Python": {
		path: "bag/py_lz4.bag", format: "bag", messages: "480 messages", foreign: true,
		lost: "lost: ",
	},
	// The log that comes back has neither the hero's model nor boxes. Times of logs are floats.
	"CARLA": {
		path: generate.CARLALog, format: "carla", messages: "3472 messages", standIn: "1209 messages", foreign: true,
		back: []string{"--tolerance", "1e-5", "--exclude", "/carla/markers", "--allow-unmatched"},
	},
}

// target is a format that a recording is converted to.
type target struct {
	name string
	args []string
	ros2 bool // messages become ROS 2 messages; in bags they become ROS 1 messages
}

var targets = map[string]target{
	"record":  {name: "out.record", args: []string{"--to", "record"}},
	"mcap":    {name: "out.mcap", args: []string{"--to", "mcap"}},
	"rosbag2": {name: "out", args: []string{"--to", "rosbag2", "--storage", "mcap"}, ros2: true},
	"sqlite3": {name: "out_db", args: []string{"--to", "rosbag2", "--storage", "sqlite3"}, ros2: true},
	"bag":     {name: "out.bag", args: []string{"--to", "bag"}, ros2: true},
	"carla":   {name: "out.log", args: []string{"--to", "carla"}, ros2: true},
}

// convert converts the recording from into a file or folder in folder.
func (to target) convert(t *testing.T, folder, from string) (path, output string) {
	t.Helper()
	path = filepath.Join(folder, to.name)
	return path, run(t, 0, append([]string{"-v", from, path}, to.args...)...)
}

// TestMatrix converts each recording into every format and back. It checks with diff that messages are equal, except
// for reported losses.
func TestMatrix(t *testing.T) {
	for name, s := range recordings {
		for format, to := range targets {
			t.Run(name+" to "+format, func(t *testing.T) {
				t.Parallel()
				from := generate.Path(t, s.path)
				if _, real := samples.Find(s.path); !real && s.standIn != "" {
					s.messages = s.standIn
				}
				folder := t.TempDir()
				if format == "carla" && s.format != "carla" {
					testNoCARLA(t, from, folder)
					return
				}
				path, output := to.convert(t, folder, from)
				if s.foreign && to.ros2 && format != s.format {
					require.Contains(t, output, s.lost)
				}
				ignored := []string{}
				if format == "bag" && !s.foreign {
					// Later releases of ROS 2 have a new field in this type.
					ignored = []string{"--ignore-fields", "/test/sensor_msgs/range:variance"}
				}
				output = run(t, 0, append([]string{"diff", from, path}, ignored...)...)
				require.Contains(t, output, "note: log times are the same\n")
				require.Contains(t, run(t, 0, append([]string{"diff", "--as", "ros2", from, path}, ignored...)...),
					s.messages+"\n")

				back, _ := targets[s.format].convert(t, t.TempDir(), path)
				args := append(append([]string{"diff", "--as", "ros2", from, back}, ignored...), s.back...)
				run(t, 0, args...)
				if format == s.format || format == "mcap" && s.format != "carla" {
					run(t, 0, "diff", "--as", "raw", from, back) // payloads are identical
				}
			})
		}
	}
}

// testNoCARLA requires that a recording without actors does not become an empty log.
func testNoCARLA(t *testing.T, from, folder string) {
	path := filepath.Join(folder, "out.log")
	output := run(t, 1, from, path)
	require.Contains(t, output, "out.log is not written, because ")
	require.Contains(t, output, "topics without a counterpart in the format (")
	require.NoFileExists(t, path)
}

// TestStrict checks that --strict refuses conversions with losses.
func TestStrict(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := filepath.Join(folder, "out")
	output := run(t, 1, generate.Path(t, "apollo/apollo_cpp_sensors.record"), path, "--to", "rosbag2", "--strict")
	require.Contains(t, output, "header.module_name")
	require.NoDirExists(t, path)
	run(t, 0, generate.Path(t, "rosbag2/rosbags_rs/test_bag_mcap"), path, "--to", "rosbag2", "--strict")
}
