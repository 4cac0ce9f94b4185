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

// python is Debian's Python, which has ROS 1's modules.
const python = "/usr/bin/python3"

// convertAll converts real recordings into a format. It returns the number of messages of each topic that tapedeck
// reads from each written file.
func convertAll(t *testing.T, format string) map[string]map[string]int {
	found := map[string]map[string]int{}
	for _, s := range recordings {
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

// requireCounts runs a peer that counts the messages of each topic in recordings, and requires the counts want.
func requireCounts(t *testing.T, want map[string]map[string]int, command string, args ...string) {
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

// TestBagsInROS checks that ROS 1's library decodes all messages of bags that were converted from every format.
func TestBagsInROS(t *testing.T) {
	t.Parallel()
	if exec.Command(python, "-c", "import rosbag, genpy").Run() != nil {
		t.Skip("ROS 1's library is not installed (Debian: python3-rosbag); conversions to bags are not read with it")
	}
	requireCounts(t, convertAll(t, "bag"), python, "peer.py")
}

// TestDatabasesInSQLite checks that SQLite finds all messages of databases that were converted from every format.
func TestDatabasesInSQLite(t *testing.T) {
	t.Parallel()
	if exec.Command(python, "-c", "import sqlite3").Run() != nil {
		t.Skip("Python's sqlite3 is not installed (Debian: python3); conversions to SQLite are not read with it")
	}
	requireCounts(t, convertAll(t, "sqlite3"), python, "peer.py")
}

// TestFoxglove checks that Foxglove's implementations decode all messages of bags, of MCAP files with original
// messages, and of rosbag2's MCAP files with ROS 2 messages.
func TestFoxglove(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	for _, format := range []string{"bag", "mcap", "rosbag2"} {
		requireCounts(t, convertAll(t, format), "node", script)
	}
}

// TestProtoc checks that protoc decodes protobuf messages that the converter kept or made of ROS 2 messages.
func TestProtoc(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("protoc"); err != nil {
		t.Skip("protoc is not installed (Debian: protobuf-compiler); protobuf messages are not decoded with it")
	}
	translated := filepath.Join(t.TempDir(), "translated.record")
	run(t, 0, generate.Path(t, "rosbag2/rosbags_rs/test_bag_mcap"), translated, "--encoding", "protobuf", "--unmatched",
		"raw")
	require.Contains(t, decode(t, translated, "/test/sensor_msgs/imu"), "linear_acceleration {")

	kept, _ := targets["mcap"].convert(t, t.TempDir(), samples.Path(t, "apollo/example.record.00000"))
	require.Contains(t, decode(t, kept, "/apollo/localization/pose"), "timestamp_sec: 1627031535.11")
	require.Contains(t, decode(t, kept, "/apollo/canbus/chassis"), "engine_started: true")
}

// decode returns the text of the first message of a topic, as protoc prints it.
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
