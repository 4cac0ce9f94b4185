package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
)

// wheelDefinition returns a folder for --definition-paths with car_msgs/msg/Wheel, which no recording defines.
func wheelDefinition(t *testing.T) (prefix string) {
	t.Setenv("AMENT_PREFIX_PATH", "")
	prefix = t.TempDir()
	folder := filepath.Join(prefix, "share/car_msgs/msg")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "Wheel.msg"), []byte("uint8 turns\n"), 0o666))
	return prefix
}

// TestDefinitionPaths reads recordings without the definition of their type, or with an empty one.
func TestDefinitionPaths(t *testing.T) {
	prefix := wheelDefinition(t)
	for name, schema := range map[string]codec.Schema{"missing": {}, "empty": {Encoding: codec.SchemaROS2Msg}} {
		t.Run(name, func(t *testing.T) {
			c := &codec.Channel{Topic: "/wheel", Type: "car_msgs/msg/Wheel", Encoding: codec.EncodingCDR,
				Schema: schema}
			in := filepath.Join(t.TempDir(), "in.mcap")
			w, err := known.Codecs().Create(in, codec.CreateOptions{})
			require.NoError(t, err)
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1, Data: []byte{0, 1, 0, 0, 5}}))
			require.NoError(t, w.Close())

			table, bag := filepath.Join(t.TempDir(), "out.csv"), filepath.Join(t.TempDir(), "out.bag")
			for _, out := range []string{table, bag} {
				_, _, err := run(t, in, out)
				if name == "missing" {
					require.ErrorContains(t, err, "name a folder with its package by --definition-paths", out)
				} else {
					require.ErrorContains(t, err, "is empty", out)
				}
				stdout, _, err := run(t, in, out, "--definition-paths", prefix, "--overwrite")
				require.NoError(t, err, out)
				require.Contains(t, stdout, "1 message, ", out)
				require.NotContains(t, stdout, "lost: ", out)
			}
			text, err := os.ReadFile(table)
			require.NoError(t, err)
			require.Equal(t, "log_time,publish_time,turns\r\n1,1,5\r\n", string(text))
			stdout, stderr, err := run(t, "echo", in, "/wheel", "--definition-paths", prefix)
			require.NoError(t, err)
			require.Empty(t, stderr)
			require.Equal(t, "turns: 5\n---\n", stdout)

			// The copy has the definition.
			out := filepath.Join(t.TempDir(), "out.mcap")
			_, _, err = run(t, in, out, "--definition-paths", prefix)
			require.NoError(t, err)
			stdout, _, err = run(t, "echo", out, "/wheel")
			require.NoError(t, err)
			require.Equal(t, "turns: 5\n---\n", stdout)
		})
	}
}

// Commands that show values have --definition-paths. Without it they fail, or report that the definition is missing.
func TestDefinitionPathsOfCommands(t *testing.T) {
	prefix := wheelDefinition(t)
	t.Chdir(t.TempDir())
	c := &codec.Channel{Topic: "/wheel", Type: "car_msgs/msg/Wheel", Encoding: codec.EncodingCDR}
	for name, first := range map[string]byte{"a.mcap": 5, "b.mcap": 50} {
		w, err := known.Codecs().Create(name, codec.CreateOptions{})
		require.NoError(t, err)
		for i := range byte(3) {
			require.NoError(t, w.Write(&codec.Message{Channel: c, LogTime: 1 + int64(i)*1e9,
				Data: []byte{0, 1, 0, 0, first + i}}))
		}
		require.NoError(t, w.Close())
	}
	_, stderr, err := run(t, "index", "a.mcap", "-o", "bare")
	require.NoError(t, err, stderr)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"report", "a.mcap", "-o", "page.html", "--plot", "/wheel.turns"}, "page.html: "},
		{[]string{"check", "a.mcap"}, "nothing suspicious"},
		{[]string{"expect", "a.mcap", "--field", "/wheel.turns"}, "turns: {"},
		{[]string{"index", "a.mcap", "-o", "full", "--fields", "/wheel turns"}, "a.mcap: 3 messages"},
		{[]string{"find", "bare", "/wheel turns == 6", "--clip", "clips", "--to", "bag"}, "turns = 6; clips/a_"},
		{[]string{"diff", "a.mcap", "b.mcap", "--ignore-fields", "turns"}, "the same as far as"},
		{[]string{"recover", "a.mcap", "saved.bag"}, "saved.bag: 3 messages"},
	} {
		stdout, stderr, err := run(t, test.args...)
		require.True(t, err != nil || stderr != "", test.args, stdout)
		stdout, stderr, err = run(t, append(test.args, "--definition-paths", prefix)...)
		require.NoError(t, err, test.args, stdout)
		require.Empty(t, stderr, test.args)
		require.Contains(t, stdout, test.want, test.args)
	}
}

// TestLabels reads a topic with compressed payloads and two topics with an empty definition. A note reports them.
func TestLabels(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	five := []byte{0, 1, 0, 0, 5}
	in := filepath.Join(t.TempDir(), "in.mcap")
	w, err := known.Codecs().Create(in, codec.CreateOptions{})
	require.NoError(t, err)
	empty := codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("# a number\n")}
	packed := &codec.Channel{Topic: "/packed", Type: "std_msgs/msg/Int8", Encoding: codec.EncodingCDR,
		Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte("int8 data\n")}}
	undefined := &codec.Channel{Topic: "/empty", Type: "std_msgs/msg/Int8", Encoding: codec.EncodingCDR, Schema: empty}
	unknown := &codec.Channel{Topic: "/unknown", Type: "x/msg/A", Encoding: codec.EncodingCDR, Schema: empty}
	for i := range int64(2) {
		require.NoError(t, w.Write(&codec.Message{Channel: packed, LogTime: 1 + i, Data: encoder.EncodeAll(five, nil)}))
		require.NoError(t, w.Write(&codec.Message{Channel: undefined, LogTime: 1 + i, Data: five}))
		require.NoError(t, w.Write(&codec.Message{Channel: unknown, LogTime: 1 + i, Data: five}))
	}
	require.NoError(t, w.Close())
	stdout, _, err := run(t, "check", in)
	require.Error(t, err)
	require.Contains(t, stdout, "3 findings")
	require.Contains(t, stdout, "messages of /packed are called cdr and are compressed with zstd")
	require.Contains(t, stdout, "the definition of std_msgs/msg/Int8 is empty; another definition of the type is used")
	require.Contains(t, stdout, "decode x/msg/A: the definition is empty, but the payload is not")
	for topic, note := range map[string]string{"/packed": "note: read ", "/empty": ""} {
		stdout, stderr, err := run(t, "echo", in, topic)
		require.NoError(t, err)
		require.Equal(t, "data: 5\n---\ndata: 5\n---\n", stdout)
		require.Contains(t, stderr, note)
	}
	stdout, stderr, err := run(t, in, filepath.Join(t.TempDir(), "out.mcap"), "--strict")
	require.NoError(t, err)
	require.Contains(t, stdout, "6 messages")
	require.Equal(t, 2, strings.Count(stderr, "warning: "), stderr)
}
