package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	page "tapedeck/nodes/internal/page/report"
	"tapedeck/test/samples/generate"
)

// readPage returns the data of a page.
func readPage(t *testing.T, path string) (recordings []page.Data) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(text), `id="data">`)
	data, _, found := strings.Cut(rest, "</script>")
	require.True(t, found)
	require.NoError(t, json.Unmarshal([]byte(data), &recordings))
	return recordings
}

func TestReportPage(t *testing.T) {
	for _, c := range []struct {
		name  string
		shows func(t *testing.T, d *page.Data)
	}{
		{"apollo/example.record.00000", func(t *testing.T, d *page.Data) {
			require.NotEmpty(t, d.Tracks)
			require.NotEmpty(t, d.Signals)
		}},
		{"apollo/apollo_cpp_sensors.record", func(t *testing.T, d *page.Data) {
			require.Len(t, d.Cameras, 2)
			for _, c := range d.Cameras {
				if strings.HasSuffix(c.Topic, "/image") {
					require.NotEmpty(t, c.Thumbs[0].JPEG)
				}
			}
			require.NotEmpty(t, d.Clouds)
		}},
		{"apollo/incomplete_killed.record", func(t *testing.T, d *page.Data) { require.False(t, d.Good) }},
		{"bag/cruise_example.bag", func(t *testing.T, d *page.Data) {
			require.Len(t, d.Tracks, 2)
			require.NotEmpty(t, d.Topics[0].Density)
		}},
		{"bag/cruise_no-messages.bag", func(t *testing.T, d *page.Data) { require.Zero(t, d.Messages) }},
		{"carla/sr2020_DistanceToLaneCenter.log", func(t *testing.T, d *page.Data) {
			require.NotEmpty(t, d.Tracks)
			boxes := slices.ContainsFunc(d.Topics, func(t page.Topic) bool { return t.Name == "/carla/markers" })
			require.Equal(t, boxes, len(d.Clouds) > 0 && len(d.Clouds[0].Boxes) > 0) // generated logs have none
		}},
		{"rosbag2/humble_py/talker", func(t *testing.T, d *page.Data) { require.NotEmpty(t, d.Topics) }},
		{"rosbag2/rosbags_rs/test_bag_sqlite3", func(t *testing.T, d *page.Data) { require.NotEmpty(t, d.Topics) }},
		{"mavlink/synthetic_px4_v2.tlog", func(t *testing.T, d *page.Data) { require.NotEmpty(t, d.Tracks) }},
		{"session/easyteleop_reference/temp", func(t *testing.T, d *page.Data) {
			require.Len(t, d.Episodes, 1)
			require.Len(t, d.Episodes[0].Cameras, 3)
			require.NotEmpty(t, d.Episodes[0].Panels)
			require.Positive(t, d.Episodes[0].Rows)
		}},
	} {
		if testing.Short() && c.name == "rosbag2/rosbags_rs/test_bag_sqlite3" {
			continue // a large bag; its page shows nothing that the small bag's page lacks
		}
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.html")
			stdout, _, err := run(t, "report", generate.Path(t, c.name), "-o", path)
			require.NoError(t, err)
			require.Contains(t, stdout, path+": ")
			recordings := readPage(t, path)
			require.Len(t, recordings, 1)
			c.shows(t, &recordings[0])
		})
	}
}

// A recording is shown as episodes with a mapping; several recordings share a page, which replaces an older one.
func TestReportPageOfSeveral(t *testing.T) {
	session := generate.Path(t, "session/easyteleop_reference/temp/20261121_082214")
	folder := t.TempDir()
	recording := filepath.Join(folder, "take.mcap")
	_, _, err := run(t, session, recording)
	require.NoError(t, err)
	mapping := filepath.Join(folder, "robot.yaml")
	require.NoError(t, os.WriteFile(mapping, []byte("cameras: {front: /camera_0/image/compressed}\narms: {left: "+
		"{joint: /arm_0/joint_states}}\n"), 0o644))
	out := filepath.Join(folder, "out.html")
	_, _, err = run(t, "report", recording, "-o", out, "--mapping", mapping)
	require.NoError(t, err)
	require.Len(t, readPage(t, out)[0].Episodes[0].Cameras, 1)
	_, _, err = run(t, "report", session, recording, "-o", out)
	require.NoError(t, err)
	pages := readPage(t, out)
	require.Len(t, pages, 2)
	require.NotEmpty(t, pages[0].Episodes)
	require.Empty(t, pages[1].Episodes)
	require.Len(t, pages[1].Cameras, 3)
}

// A failed report does not change an existing page.
func TestReportPageFails(t *testing.T) {
	sample := generate.Path(t, "bag/cruise_example.bag")
	folder := t.TempDir()
	out := filepath.Join(folder, "out.html")
	require.NoError(t, os.WriteFile(out, []byte("<!doctype html>old"), 0o644))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"report", sample, out, "-o", out}, "name one output"},
		{[]string{"report", out}, "name a recording before"},
		{[]string{"report", "-o", out, sample, "--plot", "/nothing.x"}, "--plot /nothing.x"},
		{[]string{"report", "-o", out, filepath.Join(folder, "none.bag")}, "none.bag"},
		{[]string{"report", "-o", filepath.Join(folder, "no", "out.html"), sample}, "no/out.html"},
	} {
		_, _, err := run(t, c.args...)
		require.ErrorContains(t, err, c.want)
	}
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.Equal(t, "<!doctype html>old", string(text))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
}

// Only an older page is replaced.
func TestOutputIsNoReport(t *testing.T) {
	sample := imuDrive(t, "good.lines", 50, "imu")
	before, err := os.ReadFile(sample)
	require.NoError(t, err)
	folder := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"report", sample, "-o", sample}, sample},
		{[]string{"report", "nowhere.mcap", "-o", folder}, folder},
		{[]string{"report", sample, "-o", os.DevNull}, os.DevNull},
		{[]string{"check", sample, "--junit", sample}, sample},
		{[]string{"check", "nowhere.mcap", "--junit", folder}, folder},
	} {
		_, _, err := run(t, c.args...)
		require.EqualError(t, err, c.want+" exists and is no report; name another file")
	}
	_, _, err = run(t, "expect", sample, "-o", os.DevNull, "--overwrite")
	require.EqualError(t, err, os.DevNull+" is no regular file; name another one")
	after, err := os.ReadFile(sample)
	require.NoError(t, err)
	require.Equal(t, before, after)
	page := filepath.Join(folder, "out.html")
	for range 2 {
		_, _, err = run(t, "report", sample, "-o", page)
		require.NoError(t, err)
	}
	require.ErrorContains(t, writeFile(page, func(io.Writer) error { return io.ErrShortWrite }), "short write")
	require.NotContains(t, writeFile(page, func(io.Writer) error { return io.ErrShortWrite }).Error(), "closed")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing else is left")
}

// One of several recordings must have the topic of a plot.
func TestReportPlotOfSeveral(t *testing.T) {
	a, b := imuDrive(t, "a.lines", 50, "imu"), writeLines(t, "b.lines", nil)
	for _, c := range []struct{ first, second, plot, want string }{
		{a, b, "/imu.orientation.w", ""},
		{b, a, "/imu.orientation.w", ""},
		{a, b, "/odom.x", "--plot /odom.x: want /topic.field of a topic in " + b},
	} {
		out := filepath.Join(t.TempDir(), "out.html")
		_, _, err := run(t, "report", c.first, c.second, "-o", out, "--plot", c.plot)
		if c.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.want)
		}
	}
}

func TestHelpNamesOutputs(t *testing.T) {
	stdout, stderr, code := spawn(t, "--help")
	require.Zero(t, code, stderr)
	for _, name := range []string{".csv", ".jsonl", ".parquet", ".mp4", ".gpx"} {
		require.Contains(t, stdout, name)
	}
}
