package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/config"
	"tapedeck/config/configtest"
)

func TestFlagsOfOtherTools(t *testing.T) {
	configtest.OtherTools(t, func() *cobra.Command { return newCommand(io.Discard, io.Discard) })
}

func TestHelp(t *testing.T) {
	configtest.Help(t, func() *cobra.Command { return newCommand(io.Discard, io.Discard) })
}

func TestHintsAreForUnknownFlags(t *testing.T) {
	configtest.Hints(t, newCommand(io.Discard, io.Discard), hints)
}

// The output may be named by -o or by the last argument, also for reports and contracts.
func TestOutputsAreNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	drive(t, "a.mcap", 1, 2, 3)
	drive(t, "convert", 4) // a file with the name of a command of ros2 bag
	require.NoError(t, os.WriteFile("taken.yaml", []byte("output_bags: []"), 0o600))
	for _, c := range []struct {
		line, out, err string // out is a written file
	}{
		{"a.mcap -o b.mcap", "b.mcap", ""},
		{"-o c.mcap a.mcap convert", "c.mcap", ""},
		{"-i a.mcap mcap --input convert d.mcap", "d.mcap", ""},
		{"-i a.mcap -o e.mcap", "e.mcap", ""},
		{"convert f.mcap", "f.mcap", ""},
		{"-o g.mcap", "", "got 1 path; the usage is: converter IN... OUT"},
		{"", "", "got 0 paths; the usage is: converter IN... OUT"},
		{"-i a.mcap -o taken.yaml", "", "taken.yaml: the output is a recording, not a file with options"},
		{"a.mcap z.mcap /a:=/b", "", "/a:=/b is no recording; to rename a topic use --remap /a:=/b"},
		{"a.mcap new.yml", "", "new.yml: the output is a recording"},
		{"a.mcap -o h.mcap --output-folder x", "", "--output, --output-folder: give one of them"},
		{"recover a.mcap -o i.mcap", "i.mcap", ""},
		{"recover a.mcap j.mcap", "j.mcap", ""},
		{"recover a.mcap k.mcap -o l.mcap", "", "got k.mcap and --output l.mcap; name one output"},
		{"report a.mcap", "a.html", ""},
		{"report a.mcap", "", "a.html exists; --output a.html replaces it"},
		{"report a.mcap -o a.html", "a.html", ""},
		{"report a.mcap convert y.html", "y.html", ""},
		{"expect a.mcap m.yaml", "m.yaml", ""},
		{"expect a.mcap m.yaml", "", "m.yaml exists; --overwrite replaces it"},
		{"expect a.mcap n.yaml -o o.yaml", "", "name one output"},
		{"index a.mcap", "", "name the folder of the catalogue with --output FOLDER"},
	} {
		stdout, stderr, err := run(t, strings.Fields(c.line)...)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, c.line)
			continue
		}
		require.NoError(t, err, "%s: %s", c.line, stderr)
		require.FileExists(t, c.out, c.line)
		require.Contains(t, stdout, c.out)
	}
	_, _, err := run(t, "a.mcap", "-o", "bag")
	require.NoError(t, err)
	_, _, err = run(t, "reindex", "bag", "mcap")
	require.NoError(t, err, "a storage may follow, as in ros2 bag reindex")
}

func TestInfoNamesAndSorts(t *testing.T) {
	t.Chdir(t.TempDir())
	drive(t, "a.mcap", 1, 2, 3) // 3 of std_msgs/msg/Float64 on /n, one of std_msgs/msg/Empty on /map
	for line, want := range map[string]string{
		"-t": "/map\n/n\n", "--topic-name --sort name": "/map\n/n\n", "-t --sort type": "/map\n/n\n",
		"-t --sort count": "/map\n/n\n",
	} {
		stdout, _, err := run(t, append([]string{"info", "a.mcap"}, strings.Fields(line)...)...)
		require.NoError(t, err)
		require.Equal(t, want, stdout, line)
	}
	rows := func(order string) (names []string) {
		info := &codec.Info{Topics: []codec.TopicInfo{
			{Channel: &codec.Channel{Topic: "/a", Type: "z"}, MessageCount: 2},
			{Channel: &codec.Channel{Topic: "/c", Type: "x"}, MessageCount: 3},
			{Channel: &codec.Channel{Topic: "/b", Type: "y"}, MessageCount: 1}}}
		for _, row := range mergedTopics(info, order) {
			names = append(names, row.Channel.Topic)
		}
		return names
	}
	require.Equal(t, []string{"/a", "/b", "/c"}, rows(sortName))
	require.Equal(t, []string{"/c", "/b", "/a"}, rows(sortType))
	require.Equal(t, []string{"/b", "/a", "/c"}, rows(sortCount))
	for line, want := range map[string]string{"-t -v": "give one of them", "-t --json": "they are for text",
		"--sort count --json": "they are for text", "--sort size": "name or type or count"} {
		_, _, err := run(t, append([]string{"info", "a.mcap"}, strings.Fields(line)...)...)
		require.ErrorIs(t, err, config.ErrUsage)
		require.ErrorContains(t, err, want, line)
	}
}
