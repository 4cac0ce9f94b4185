package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/episode"
	"tapedeck/test/samples/generate"
)

func TestInfoOfEpisodes(t *testing.T) {
	yes := true
	one := episode.Summary{
		Name: "a", Task: "pick", Success: &yes, Duration: 2.5,
		Cameras: []episode.StreamSummary{{Name: "camera_0", Count: 75, Rate: 30, Gaps: 1, LongestGap: 0.5},
			{Name: "camera_1", Count: 1}},
		Streams: []episode.StreamSummary{{Name: "arm_0/joint", Count: 250, Rate: 100, LongestGap: 0.02,
			Columns: []string{"a", "b"}}},
	}
	var b strings.Builder
	writeEpisodes(&b, []episode.Summary{one})
	require.Equal(t, `  a: 2.500 s, pick, success: true
    stream       count      rate  gaps  longest  columns
    camera_0        75   30.0 Hz     1  0.500 s  -
    camera_1         1         -     0  0.000 s  -
    arm_0/joint    250  100.0 Hz     0  0.020 s  a b
`, b.String())

	b.Reset()
	var many []episode.Summary
	for range 52 {
		many = append(many, one)
	}
	writeEpisodes(&b, many)
	lines := strings.Split(b.String(), "\n")
	require.Equal(t, "  episode  duration  frames  slowest camera  gaps  longest  task", lines[0])
	require.Equal(t, "  a         2.500 s      76               -     1  0.500 s  pick", lines[50])
	require.Equal(t, "  and 2 more; --json shows all", lines[51])
}

func TestConvertEpisodes(t *testing.T) {
	in := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	out := t.TempDir() + "/x.hdf5"
	stdout, _, err := run(t, in, in, out)
	require.NoError(t, err)
	require.Contains(t, stdout, "20261121_082214: 1.100000000 s, 88 frames; 27 rows of 30, 3 dropped, 1 hole\n  "+
		"camera_0: 30 frames, 27 used, worst skew 0s of 16.5ms\n")
	require.Contains(t, stdout, out+": 2 episodes, 176 frames, 54 rows; written in ")
	stdout, _, err = run(t, "info", out)
	require.NoError(t, err)
	require.Contains(t, stdout, "Format:     hdf5\nEpisodes:   2\n")
	stdout, _, err = run(t, "info", out, "--json")
	require.NoError(t, err)
	require.Contains(t, stdout, `"name": "camera_0"`)

	folder := t.TempDir()
	stdout, _, err = run(t, in, "--output-folder", folder, "--to", "hdf5", "--timeline", "fixed:20")
	require.NoError(t, err)
	require.Contains(t, stdout, folder+"/20261121_082214.hdf5: 1 episode, 88 frames, ")
}
