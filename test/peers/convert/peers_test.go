package convert

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

var formats = codec.Formats{mcap.Format, record.Format}

// python is Debian's, which has ROS 1's modules.
const python = "/usr/bin/python3"

// made converts real recordings into a format, and returns the contents of each as tapedeck reads it.
func made(t *testing.T, format string) map[string]map[string]int {
	found := map[string]map[string]int{}
	for _, s := range sources {
		if s.format == format {
			continue
		}
		from, ok := generate.Find(t, s.path)
		if !ok {
			continue
		}
		path, _ := targets[format].convert(t, t.TempDir(), from)
		files := []string{path}
		if stat, err := os.Stat(path); err == nil && stat.IsDir() {
			files, err = filepath.Glob(filepath.Join(path, "*_0.*"))
			require.NoError(t, err)
			require.Len(t, files, 1)
		}
		found[files[0]] = counts(t, path)
	}
	return found
}

// requireFound has a peer count the messages in recordings.
func requireFound(t *testing.T, want map[string]map[string]int, command string, args ...string) {
	cmd := exec.Command(command, args...)
	for path := range want {
		cmd.Args = append(cmd.Args, path)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if command == "node" {
		cmd.Dir = process.Modules(t, "conversions are not read with Foxglove's programs")
	}
	output, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	var got map[string]map[string]int
	require.NoError(t, json.Unmarshal(output, &got))
	require.Equal(t, want, got)
}

// ROS 1's own library decodes the messages that every format's messages became.
func TestBagsInROS(t *testing.T) {
	t.Parallel()
	if exec.Command(python, "-c", "import rosbag, genpy").Run() != nil {
		t.Skip("ROS 1's library is not installed (Debian: python3-rosbag); conversions to bags are not read with it")
	}
	requireFound(t, made(t, "bag"), python, "peer.py")
}

func TestDatabasesInSQLite(t *testing.T) {
	t.Parallel()
	if exec.Command(python, "-c", "import sqlite3").Run() != nil {
		t.Skip("Python's sqlite3 is not installed (Debian: python3); conversions to SQLite are not read with it")
	}
	requireFound(t, made(t, "sqlite3"), python, "peer.py")
}

// Foxglove's implementations decode bags, MCAP files with messages as they were, and those of rosbag2 with what became
// of them.
func TestFoxglove(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	for _, format := range []string{"bag", "mcap", "rosbag2"} {
		requireFound(t, made(t, format), "node", script)
	}
}

// protoc decodes protobuf messages that were kept, and those that were made of ROS 2's.
func TestProtoc(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("protoc is not installed (Debian: protobuf-compiler); protobuf messages are not decoded with it")
	}
	anew := filepath.Join(t.TempDir(), "anew.record")
	run(t, 0, generate.Path(t, "rosbag2/rosbags_rs/test_bag_mcap"), anew, "--encoding", "protobuf", "--unmatched",
		"raw")
	require.Contains(t, decode(t, anew, "/test/sensor_msgs/imu"), "linear_acceleration {")

	kept, _ := targets["mcap"].convert(t, t.TempDir(), samples.Path(t, "apollo/example.record.00000"))
	require.Contains(t, decode(t, kept, "/apollo/localization/pose"), "timestamp_sec: 1627031535.11")
	require.Contains(t, decode(t, kept, "/apollo/canbus/chassis"), "engine_started: true")
}

// decode decodes the first message of a topic.
func decode(t *testing.T, path, topic string) string {
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == topic }})
	require.NoError(t, err)
	defer it.Close()
	m, err := it.Next()
	require.NoError(t, err)
	require.Equal(t, codec.EncodingProtobuf, m.Channel.Encoding)
	require.Equal(t, codec.SchemaProtobuf, m.Channel.Schema.Encoding)
	set := filepath.Join(t.TempDir(), "set")
	require.NoError(t, os.WriteFile(set, m.Channel.Schema.Data, 0o666))
	cmd := exec.Command("protoc", "--decode="+m.Channel.Type, "--descriptor_set_in="+set)
	cmd.Stdin = bytes.NewReader(m.Data)
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	lines := strings.Split(string(output), "\n")
	require.Greater(t, len(lines), 3)
	return string(output)
}
