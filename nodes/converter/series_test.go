package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs/std_msgs"
	"tapedeck/test/samples"
)

// A split log of CARLA that is read as one has the messages of the whole log, without the state with which each file
// begins.
func TestSeriesOfCARLA(t *testing.T) {
	for _, name := range []string{"scenario_runner_DistanceToLaneCenter.log", "sr2020_DistanceToLaneCenter.log"} {
		path := samples.Path(t, "carla/"+name)
		t.Chdir(t.TempDir())
		_, stderr, err := run(t, path, "d.log", "--max-bag-messages", "20")
		require.NoError(t, err, stderr)
		require.FileExists(t, "d_2.log")
		stdout, stderr, err := run(t, "diff", "--bytes", path, "d.log")
		require.NoError(t, err, stdout+stderr)
		_, stderr, err = run(t, "d.log", "again.log")
		require.NoError(t, err, stderr)
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		got, err := os.ReadFile("again.log")
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "the same bytes")

		whole, _, err := run(t, "info", "--json", path)
		require.NoError(t, err)
		together, _, err := run(t, "info", "--json", "d.log")
		require.NoError(t, err)
		extra := func(text string) string {
			_, behind, found := strings.Cut(text, `"extra"`)
			require.True(t, found)
			return behind
		}
		require.Equal(t, extra(whole), extra(together))
		_, stderr, err = run(t, "info", "--carla", "d.log")
		require.NoError(t, err)
		require.Contains(t, stderr, "this is about d.log alone")

		// Reading from the middle begins with the state at that time.
		_, stderr, err = run(t, path, "a.log", "--begin", "3", "--end", "5")
		require.NoError(t, err, stderr)
		_, stderr, err = run(t, "d.log", "b.log", "--begin", "3", "--end", "5")
		require.NoError(t, err, stderr)
		stdout, stderr, err = run(t, "diff", "--bytes", "a.log", "b.log")
		require.NoError(t, err, stdout+stderr)
	}
}

// TestSeries gives each command the first of several files. The command must read all of them.
func TestSeries(t *testing.T) {
	for _, extension := range []string{".mcap", ".record", ".bag"} {
		t.Run(extension, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			numbers := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR,
				QoS: []codec.QoS{codec.DefaultQoS()}}
			plan := &codec.Channel{Topic: "/map", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR,
				QoS: []codec.QoS{codec.DefaultQoS()}}
			plan.QoS[0].Durability = codec.TransientLocal
			var messages []codec.Message
			for i := range 60 {
				data, err := cdr.Marshal(&std_msgs.UInt32{Data: uint32(i)})
				require.NoError(t, err)
				c := numbers
				if i == 1 {
					c = plan
				}
				ns := 1_700_000_000_000_000_000 + int64(i)*1e9
				messages = append(messages, codec.Message{Channel: c, LogTime: ns, PublishTime: ns - 1000, Data: data})
			}
			in, first := writeLines(t, "all.lines", messages), "d"+extension
			_, stderr, err := run(t, in, first, "--max-bag-messages", "20")
			require.NoError(t, err, stderr)
			if extension == ".record" {
				first = "d.record.00000"
			}
			files, err := filepath.Glob("d*")
			require.NoError(t, err)
			require.Len(t, files, 3)

			for _, args := range [][]string{{first}, files, slices.Concat([]string{"./" + first}, files[1:])} {
				stdout, stderr, err := run(t, slices.Concat([]string{"info", "-v"}, args)...)
				require.NoError(t, err, stderr)
				require.Equal(t, 1, strings.Count(stdout, "Bag size:"), stdout)
				require.Regexp(t, `Messages: +60\n +2 messages at the start of files`, stdout)
				for _, name := range files {
					require.Contains(t, stdout, name)
				}
				out := filepath.Join(t.TempDir(), "all.mcap")
				stdout, stderr, err = run(t, append(slices.Clone(args), out)...)
				require.NoError(t, err, stderr)
				require.Contains(t, stdout, ": 60 messages")
				require.Empty(t, stderr)
				if extension != ".bag" { // payloads of bags differ
					stdout, stderr, err = run(t, "diff", "--as", "raw", out, first)
					require.NoError(t, err, stdout+stderr)
				}
			}
			stdout, stderr, err := run(t, "echo", first, "/n")
			require.NoError(t, err, stderr)
			require.Equal(t, 59, strings.Count(stdout, "data: "))
			stdout, stderr, err = run(t, "recover", first, "saved.mcap")
			require.NoError(t, err, stderr)
			require.Contains(t, stdout, ": 60 messages")
			stdout, stderr, err = run(t, "check", first)
			require.NoError(t, err, stdout+stderr)
			_, stderr, err = run(t, slices.Concat([]string{"report", "-o", "page.html"}, files)...)
			require.NoError(t, err, stderr)

			_, stderr, err = run(t, slices.Concat([]string{"index", "-o", "catalogue"}, files)...)
			require.NoError(t, err, stderr)
			stdout, stderr, err = run(t, "find", "catalogue", "/n data > 57", "--clip", "clips", "--before", "40s")
			require.NoError(t, err, stderr)
			require.Contains(t, stdout, "found 1 time in 1 of 1 recording", stdout)
			clips, err := filepath.Glob("clips/d*")
			require.NoError(t, err)
			require.Len(t, clips, 1)
			stdout, _, err = run(t, "info", clips[0])
			require.NoError(t, err)
			require.Contains(t, stdout, "Duration:   41.", stdout)
			stdout, stderr, err = run(t, "index", ".", "-o", "catalogue")
			require.NoError(t, err, stderr)
			if extension != ".record" { // d.record means its files
				require.Contains(t, stdout, "1 recording unchanged", stdout)
			}

			stdout, stderr, err = run(t, "info", files[1])
			require.NoError(t, err, stderr)
			require.Contains(t, stdout, fmt.Sprintf("Note:       %s is a part of the recording %s", files[1], first))
			_, stderr, err = run(t, files[1], "part.mcap")
			require.NoError(t, err, stderr)
			require.Contains(t, stderr, "is a part of the recording "+first)
		})
	}
}

// The files of a split recording are one recording even if there is a long pause between two files, or if they repeat
// messages that are not latched.
func TestSplitAtPause(t *testing.T) {
	for _, test := range []struct {
		output, first string
		pause         int64 // s
		repeat        bool
		marked        bool
	}{
		{"d.mcap", "d.mcap", 600, false, true},
		{"d.bag", "d.bag", 600, false, true},
		{"d.record", "d.record.00000", 600, false, false},
		{"d", "d", 600, false, false}, // the bag has a metadata.yaml
		{"d.mcap", "d.mcap", 1, false, false},
		{"d.mcap", "d.mcap", 1, true, true},
		{"d", "d", 1, true, true},
		{"d.record", "d.record.00000", 1, true, true},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			t.Chdir(t.TempDir())
			c := &codec.Channel{Topic: "/n", Type: "std_msgs/msg/UInt32", Encoding: codec.EncodingCDR}
			var messages []codec.Message
			ns := int64(1_700_000_000_000_000_000)
			for i := range 40 {
				data, err := cdr.Marshal(&std_msgs.UInt32{Data: uint32(i)})
				require.NoError(t, err)
				messages = append(messages, codec.Message{Channel: c, LogTime: ns, PublishTime: ns - 1000, Data: data})
				ns += 1e9
				if i == 19 {
					ns += (test.pause - 1) * 1e9
				}
			}
			args := []string{writeLines(t, "all.lines", messages), test.output, "--max-bag-messages", "20"}
			if test.repeat {
				args = append(args, "--repeat", "/n")
			}
			stdout, stderr, err := run(t, args...)
			require.NoError(t, err, stdout+stderr)
			require.Empty(t, stderr)
			stdout, stderr, err = run(t, "info", "-v", test.first)
			require.NoError(t, err, stderr)
			require.NotContains(t, stdout, "Note:")
			require.Equal(t, test.marked, strings.Contains(stdout, "continues "+test.output), stdout)
			stdout, stderr, err = run(t, "echo", test.first, "/n")
			require.NoError(t, err, stderr)
			require.Equal(t, 40, strings.Count(stdout, "data: "))
		})
	}
}

// Each command names a file of a recording that is missing in the middle, or cannot be read.
func TestMissingSplit(t *testing.T) {
	text := &codec.Channel{Topic: "/text", Type: "std_msgs/msg/String", Encoding: codec.EncodingCDR,
		QoS: []codec.QoS{codec.DefaultQoS()}}
	var messages []codec.Message
	for i := range 40 {
		data, err := cdr.Marshal(&std_msgs.String{Data: fmt.Sprint(i)})
		require.NoError(t, err)
		messages = append(messages, codec.Message{Channel: text, LogTime: 1e18 + int64(i)*1e8, Data: data})
	}
	lines := writeLines(t, "a.lines", messages)
	remove := func(name string) func(*testing.T) {
		return func(t *testing.T) { require.NoError(t, os.Remove(name)) }
	}
	both := func(a, b func(*testing.T)) func(*testing.T) {
		return func(t *testing.T) {
			a(t)
			b(t)
		}
	}
	const mcap, sqlite = "d --storage mcap", "d --storage sqlite3"
	empty := func(t *testing.T) { require.NoError(t, os.Truncate("d/d_1.db3", 0)) }
	const numbered = "file number 1 of the recording, before d_2."
	for name, c := range map[string]struct {
		flags, path string
		change      func(*testing.T)
		want        string
	}{
		"mcap":           {"d.mcap", "d.mcap", remove("d_1.mcap"), numbered + "mcap, is missing"},
		"record":         {"d.record", "d.record", remove("d.record.00001"), "d.record.00001 is missing"},
		"first record":   {"d.record", "d.record.00000", remove("d.record.00001"), "before d.record.00002, is missing"},
		"ROS 1":          {"d.bag", "d.bag", remove("d_1.bag"), numbered + "bag, is missing"},
		"bag":            {mcap, "d", remove("d/d_1.mcap"), "d_1.mcap is missing"},
		"database":       {sqlite, "d", remove("d/d_1.db3"), "d_1.db3 is missing"},
		"bare bag":       {mcap, "d", both(remove("d/d_1.mcap"), remove("d/metadata.yaml")), numbered + "mcap"},
		"bare database":  {sqlite, "d", both(remove("d/d_1.db3"), remove("d/metadata.yaml")), numbered + "db3"},
		"cut to 0 bytes": {sqlite, "d", empty, "d_1.db3: not a bag"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			_, stderr, err := run(t, append([]string{lines, "--max-bag-messages", "10"}, strings.Fields(c.flags)...)...)
			require.NoError(t, err, stderr)
			c.change(t)
			for _, command := range [][]string{
				{c.path, "out.mcap"}, {"report", c.path, "-o", "page.html"}, {"index", c.path, "-o", "catalog"},
			} {
				stdout, stderr, err := run(t, command...)
				require.NoError(t, err, stderr)
				require.Regexp(t, "(?m)^warning: .*"+regexp.QuoteMeta(c.want), stderr, "%v: %s", command, stdout)
			}
			_, stderr, err = run(t, c.path, "strict.mcap", "--strict")
			require.ErrorContains(t, err, c.want, stderr)
			require.NoFileExists(t, "strict.mcap")
			stdout, _, err := run(t, "info", c.path)
			require.ErrorIs(t, err, errDamaged)
			require.Contains(t, stdout, c.want)
			stdout, _, err = run(t, "check", c.path)
			require.Error(t, err)
			require.Contains(t, stdout, c.want)
			stdout, stderr, err = run(t, "recover", c.path, "saved.mcap")
			require.NoError(t, err)
			require.Contains(t, stdout+stderr, c.want)
			if strings.Contains(stdout, "10 messages:") { // metadata.yaml counts them
				require.Contains(t, stdout, "10 of 40 messages lost")
			}
		})
	}
}
