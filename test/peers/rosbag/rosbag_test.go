// Package rosbag tests codec/format/rosbag and bridge/translate/ros1 against ROS 1's library for bags and against
// Foxglove's, on bags that these libraries write and on real bags.
package rosbag

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge"
	"tapedeck/bridge/translate/ros1"
	"tapedeck/codec"
	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs"
	"tapedeck/test/internal/process"
	"tapedeck/test/samples/generate"
)

var formats = codec.Formats{rosbag.Format}

// notCompared is the consequence of missing Node.js.
const notCompared = "bags are not compared with Foxglove's"

const python = "/usr/bin/python3"

// haveROS reports whether ROS 1's library is installed.
var haveROS = sync.OnceValue(func() bool {
	return withoutROS2(python, "-c", "import rosbag, sensor_msgs").Run() == nil
})

// withoutROS2 returns a command that does not see the Python packages of a sourced ROS 2. ROS 1 has packages with equal
// names.
func withoutROS2(name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "PYTHONPATH=")
	return command
}

// needROS skips the test if ROS 1's library is not installed.
func needROS(t *testing.T) {
	if !haveROS() {
		t.Skip("ROS 1's library is not installed (Debian: python3-rosbag and python3-sensor-msgs)")
	}
}

// run runs a command and returns its output.
func run(t *testing.T, name string, args ...string) string {
	command := withoutROS2(name, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	require.NoError(t, err, "%s %v: %s%s", name, args, output, &stderr)
	return string(output)
}

// contents is the content of a bag as a peer reads it.
type contents struct {
	Connections []map[string]string // headers
	Messages    []string            // topic, type, time and hash of each message
	Values      []string            // messages as ROS 1 prints them
	Info        struct {
		Count, Chunks int
		Compression   string
		Start, End    float64
	}
	Different []string // messages whose ROS 2 message has other values
}

// askROS returns the contents of bags as ROS 1's library reads them.
func askROS(t *testing.T, paths ...string) []contents {
	var got []contents
	require.NoError(t, json.Unmarshal([]byte(run(t, python, append([]string{"peer.py", "read"}, paths...)...)), &got))
	return got
}

// read returns the messages of a bag as in contents.Messages, and their ROS 2 messages as input of peer.js.
func read(t *testing.T, path string) (lines []string, translated string, info *codec.Info) {
	r, err := formats.Open(path)
	require.NoError(t, err)
	defer r.Close()
	info, err = r.Info()
	require.NoError(t, err)
	translator, err := ros1.ToROS2(r)
	require.NoError(t, err)
	for _, topic := range info.Topics {
		_, err := translator.Topics(topic)
		require.NoError(t, err)
	}
	translate := translator.Begin(nil)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	var b strings.Builder
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return lines, b.String(), info
		}
		require.NoError(t, err)
		message := fmt.Sprintf("%s %s %d %x", m.Channel.Topic, m.Channel.Type, m.LogTime, sha256.Sum256(m.Data))
		lines = append(lines, message)
		out, err := translate(m)
		require.NoError(t, err)
		line, err := json.Marshal(map[string]string{
			"message": message, "definition": string(out[0].Channel.Schema.Data),
			"payload": base64.StdEncoding.EncodeToString(out[0].Data),
		})
		require.NoError(t, err)
		b.Write(append(line, '\n'))
	}
}

// roundTrip translates the messages of a bag to ROS 2 and back, and writes them to another bag.
func roundTrip(t *testing.T, from, to string) {
	r, err := formats.Open(from)
	require.NoError(t, err)
	for _, step := range []struct {
		to, from   string // encodings
		translator func(codec.Reader) (bridge.Translator, error)
	}{{codec.EncodingCDR, codec.EncodingROS1, ros1.ToROS2}, {codec.EncodingROS1, codec.EncodingCDR, ros1.FromROS2}} {
		var untranslated []error
		r, untranslated, err = bridge.Translate(r, step.to, nil,
			map[string]func(codec.Reader) (bridge.Translator, error){step.from: step.translator})
		require.NoError(t, err)
		require.Empty(t, untranslated)
	}
	defer r.Close()
	copyTo(t, r, to, "none")
}

// rewrite writes the messages of a bag to another one.
func rewrite(t *testing.T, from, to, compression string) {
	r, err := formats.Open(from)
	require.NoError(t, err)
	defer r.Close()
	copyTo(t, r, to, compression)
}

// copyTo writes the messages of r to a bag.
func copyTo(t *testing.T, r codec.Reader, to, compression string) {
	w, err := formats.Create(to, codec.CreateOptions{Compression: compression, ChunkSize: 30_000})
	require.NoError(t, err)
	it, err := r.Read(codec.Query{})
	require.NoError(t, err)
	defer it.Close()
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		require.NoError(t, w.Write(m))
	}
	require.NoError(t, w.Close())
}

// sorted returns sorted lines, because the order of messages with equal times is undefined.
func sorted(lines []string) []string { return slices.Sorted(slices.Values(lines)) }

// connectionsOf returns the headers of the connections in a bag, as in contents.Connections.
func connectionsOf(info *codec.Info) []map[string]string {
	list := []map[string]string{}
	for _, topic := range info.Topics {
		c := topic.Channel
		header := map[string]string{"topic": c.Topic, "type": c.Type, "message_definition": string(c.Schema.Data)}
		for key, value := range c.Metadata {
			if key == "latching" {
				value = map[string]string{"true": "1", "false": "0"}[value]
			}
			header[key] = value
		}
		list = append(list, header)
	}
	return list
}

// requireEqual requires that tapedeck reads the messages and connections that a peer reads.
func requireEqual(t *testing.T, want contents, lines []string, info *codec.Info) {
	t.Helper()
	require.Equal(t, sorted(want.Messages), sorted(lines))
	require.ElementsMatch(t, want.Connections, connectionsOf(info))
}

// TestROS checks that tapedeck and ROS 1 read equal contents from the bags of ROS 1, in every compression. It checks
// that ROS 1 reads equal contents from tapedeck's copies of the bags, and that ROS 1's tools work on a copy.
func TestROS(t *testing.T) {
	needROS(t)
	dir := t.TempDir()
	run(t, python, "peer.py", "write", dir)
	var bags []string
	for _, compression := range []string{"none", "bz2", "lz4"} {
		theirs, ours := filepath.Join(dir, compression+".bag"), filepath.Join(dir, compression+"_ours.bag")
		rewrite(t, theirs, ours, compression)
		bags = append(bags, theirs, ours)
	}
	all := askROS(t, bags...)
	for i, compression := range []string{"none", "bz2", "lz4"} {
		t.Run(compression, func(t *testing.T) {
			want, got := all[2*i], all[2*i+1]
			require.Len(t, want.Messages, 9*60)
			require.Greater(t, want.Info.Chunks, 2)
			lines, _, info := read(t, bags[2*i])
			requireEqual(t, want, lines, info)

			require.Equal(t, sorted(want.Messages), sorted(got.Messages))
			require.Equal(t, sorted(want.Values), sorted(got.Values))
			require.ElementsMatch(t, want.Connections, got.Connections)
			require.Equal(t, want.Info.Count, got.Info.Count)
			require.Equal(t, want.Info.Start, got.Info.Start)
			require.Equal(t, want.Info.End, got.Info.End)
			require.Equal(t, compression, got.Info.Compression)
			require.Greater(t, got.Info.Chunks, 2)
		})
	}
	t.Run("tools", func(t *testing.T) { testTools(t, bags[0], bags[5]) })
}

// testTools runs ROS 1's tools on tapedeck's bag ours, which has the messages of theirs in chunks of LZ4. It checks the
// contents of the bags that the tools write.
func testTools(t *testing.T, theirs, ours string) {
	dir := t.TempDir()
	require.Contains(t, run(t, "rosbag", "info", ours), "compression:  lz4 [")
	require.Contains(t, run(t, "rosbag", "check", ours), "Bag file does not need any migrations.")
	filtered, decompressed, unindexed := filepath.Join(dir, "filtered.bag"), t.TempDir(),
		filepath.Join(dir, "unindexed.bag")
	run(t, "rosbag", "filter", ours, filtered, "topic == '/imu'")
	run(t, "rosbag", "decompress", "-q", "--output-dir="+decompressed, ours)

	// rosbag reindex finds all messages of a bag without an index.
	content, err := os.ReadFile(ours)
	require.NoError(t, err)
	const field = "index_pos="
	copy(content[bytes.Index(content, []byte(field))+len(field):], make([]byte, 8))
	require.NoError(t, os.WriteFile(unindexed, content, 0o666))
	run(t, "rosbag", "reindex", "-q", "-f", unindexed)

	bags := []string{theirs, filtered, filepath.Join(decompressed, filepath.Base(ours)), unindexed}
	got := askROS(t, bags...)
	require.Len(t, got[1].Messages, 60)
	require.Equal(t, sorted(got[0].Messages), sorted(got[2].Messages))
	require.Equal(t, sorted(got[0].Messages), sorted(got[3].Messages))
	// tapedeck reads the files that the tools wrote.
	for i, path := range bags {
		lines, _, info := read(t, path)
		requireEqual(t, got[i], lines, info)
	}
}

// TestSamples checks that tapedeck and ROS 1 read equal contents from real bags and from tapedeck's copies.
func TestSamples(t *testing.T) {
	needROS(t)
	dir := t.TempDir()
	var all []string
	for _, name := range []string{
		"cruise_example.bag", "cruise_example-bz2.bag", "cruise_example-lz4.bag", "cruise_example-unsorted-chunks.bag",
		"cruise_no-messages.bag", "py_none.bag", "py_lz4.bag",
	} {
		path, ok := generate.Find(t, "bag/"+name)
		if !ok {
			continue
		}
		ours := filepath.Join(dir, name)
		rewrite(t, path, ours, "none")
		all = append(all, path, ours)
	}
	for i, want := range askROS(t, all...) {
		lines, _, info := read(t, all[i])
		requireEqual(t, want, lines, info)
	}
}

// TestPublishers checks that several publishers of a topic become several connections with the publishers' headers, and
// that ROS 1's tools accept such a bag.
func TestPublishers(t *testing.T) {
	needROS(t)
	dir := t.TempDir()
	ours, filtered := filepath.Join(dir, "ours.bag"), filepath.Join(dir, "filtered.bag")
	w, err := formats.Create(ours, codec.CreateOptions{ChunkSize: 500, Compression: "lz4"})
	require.NoError(t, err)
	var publishers []*codec.Channel
	for _, metadata := range []map[string]string{{"callerid": "/one", "latching": "true"},
		{"callerid": "/two", "latching": "false"}, {"callerid": "/three"}} {
		publishers = append(publishers, &codec.Channel{
			Topic: "/chat", Type: "std_msgs/String", Encoding: codec.EncodingROS1, Metadata: metadata,
			Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte("string data\n")},
		})
	}
	const count = 300
	for i := range int64(count) {
		require.NoError(t, w.Write(&codec.Message{Channel: publishers[i%3], LogTime: 1700000000e9 + i,
			Data: []byte("\x02\x00\x00\x00hi")}))
	}
	require.NoError(t, w.Close())
	require.Contains(t, run(t, "rosbag", "info", ours), "(3 connections)")
	require.Contains(t, run(t, "rosbag", "check", ours), "Bag file does not need any migrations.")
	run(t, "rosbag", "filter", ours, filtered, "m.data == 'hi'")
	run(t, "rosbag", "reindex", "-q", "-f", ours)
	got := askROS(t, ours, filtered)
	require.Len(t, got[0].Messages, count)
	require.Len(t, got[1].Messages, count)
	const sum, definition = "992ce8a1687cec8c8bd883ec73ca41d1", "string data\n"
	require.ElementsMatch(t, []map[string]string{
		{"topic": "/chat", "type": "std_msgs/String", "md5sum": sum, "message_definition": definition,
			"callerid": "/one", "latching": "1"},
		{"topic": "/chat", "type": "std_msgs/String", "md5sum": sum, "message_definition": definition,
			"callerid": "/two", "latching": "0"},
		{"topic": "/chat", "type": "std_msgs/String", "md5sum": sum, "message_definition": definition,
			"callerid": "/three"},
	}, got[0].Connections)
}

// TestRoundTrip checks that messages which were translated to ROS 2 and back have equal values in ROS 1, but for fields
// that ROS 2 does not have.
func TestRoundTrip(t *testing.T) {
	needROS(t)
	dir := t.TempDir()
	run(t, python, "peer.py", "write", dir)
	bags := []string{filepath.Join(dir, "none.bag")}
	for _, name := range []string{"cruise_example.bag", "py_none.bag"} {
		if path, ok := generate.Find(t, "bag/"+name); ok {
			bags = append(bags, path)
		}
	}
	for _, path := range bags {
		ours := filepath.Join(t.TempDir(), filepath.Base(path))
		roundTrip(t, path, ours)
		both := askROS(t, path, ours)
		seq := regexp.MustCompile(`(?m)^ *seq: \d+$`)
		logFields := regexp.MustCompile(`(?m)^topics:.*(\n *- .*)*|^ *frame_id: .*$`)
		withoutLostFields := func(values []string) (list []string) {
			for _, v := range values {
				v = seq.ReplaceAllString(v, "")
				if strings.Contains(v, "\nfunction: ") {
					v = logFields.ReplaceAllString(v, "")
				}
				list = append(list, v)
			}
			return sorted(list)
		}
		require.Equal(t, withoutLostFields(both[0].Values), withoutLostFields(both[1].Values), path)
		sums := func(c contents) (list []string) {
			for _, header := range c.Connections {
				// Both types become tf2_msgs/msg/TFMessage.
				if header["type"] != "tf/tfMessage" && header["type"] != "tf2_msgs/TFMessage" {
					list = append(list, header["topic"]+" "+header["type"]+" "+header["md5sum"]+" "+header["callerid"]+
						" "+header["latching"])
				}
			}
			return sorted(list)
		}
		require.Equal(t, sums(both[0]), sums(both[1]), path)
	}
}

// TestTypes checks that each type of ROS 1 becomes a type of ROS 2, and that the ROS 2 type becomes the ROS 1 type
// again, with the MD5 sum of ROS 1.
func TestTypes(t *testing.T) {
	needROS(t)
	var types map[string]struct{ MD5sum, Definition string }
	require.NoError(t, json.Unmarshal([]byte(run(t, python, "peer.py", "types")), &types))
	require.Greater(t, len(types), 80)
	toROS2, err := ros1.ToROS2(nil)
	require.NoError(t, err)
	fromROS2, err := ros1.FromROS2(nil)
	require.NoError(t, err)
	for name, want := range types {
		topics, err := toROS2.Topics(codec.TopicInfo{Channel: &codec.Channel{
			Topic: "/a", Type: name, Encoding: codec.EncodingROS1,
			Schema: codec.Schema{Encoding: codec.SchemaROS1Msg, Data: []byte(want.Definition)},
		}})
		require.NoError(t, err, name)
		c := topics[0].Channel
		switch name {
		case "std_msgs/Time", "std_msgs/Duration":
			require.Equal(t, strings.Replace(name, "std_msgs", "builtin_interfaces/msg", 1), c.Type)
		case "rosgraph_msgs/Log":
			require.Equal(t, "rcl_interfaces/msg/Log", c.Type)
		default:
			require.Equal(t, strings.Replace(name, "/", "/msg/", 1), c.Type)
		}
		if hash, err := msgs.Library().Hash(c.Type); err == nil {
			require.Equal(t, hash, c.TypeHash, name)
		}
		topics, err = fromROS2.Topics(topics[0])
		require.NoError(t, err, name)
		require.Equal(t, name, topics[0].Channel.Type)
		require.Equal(t, want.MD5sum, topics[0].Channel.Metadata["md5sum"], "%s: %s", name,
			topics[0].Channel.Schema.Data)
	}
}

// askFoxglove runs peer.js on a bag and on the ROS 2 messages that its messages became.
func askFoxglove(t *testing.T, path, translated string) contents {
	dir := process.Modules(t, notCompared)
	script, err := filepath.Abs("peer.js")
	require.NoError(t, err)
	path, err = filepath.Abs(path)
	require.NoError(t, err)
	command := exec.Command("node", script, path)
	command.Dir = dir
	command.Stderr = os.Stderr
	command.Stdin = strings.NewReader(translated)
	output, err := command.Output()
	require.NoError(t, err)
	var got contents
	require.NoError(t, json.Unmarshal(output, &got))
	return got
}

// TestFoxglove checks that Foxglove's reader finds the messages that tapedeck reads, and that Foxglove's decoders find
// equal values in each ROS 1 message and its ROS 2 message.
func TestFoxglove(t *testing.T) {
	process.Modules(t, notCompared)
	bags := []string{}
	for _, name := range []string{"cruise_example.bag", "cruise_example-bz2.bag", "cruise_example-lz4.bag",
		"py_none.bag", "py_lz4.bag"} {
		if path, ok := generate.Find(t, "bag/"+name); ok {
			bags = append(bags, path)
		}
	}
	if haveROS() {
		dir := t.TempDir()
		run(t, python, "peer.py", "write", dir)
		bags = append(bags, filepath.Join(dir, "none.bag"))
	}
	if len(bags) == 0 {
		generate.Path(t, "bag/py_none.bag") // skips the test
	}
	for i, path := range bags {
		compression := []string{"none", "bz2", "lz4"}[i%3]
		t.Run(filepath.Base(path)+" "+compression, func(t *testing.T) {
			ours := filepath.Join(t.TempDir(), "ours.bag")
			rewrite(t, path, ours, compression)
			lines, translated, info := read(t, ours)
			got := askFoxglove(t, ours, translated)
			requireEqual(t, got, lines, info)
			for _, text := range got.Different {
				// ROS 2's Log has fewer fields and other levels. ROS 2's Range has a new field.
				require.Regexp(t, `rosgraph_msgs/Log|sensor_msgs/Range: .*,"variance":"0"}$`, text)
			}
		})
	}
}
