package convert

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
)

// The last line counts episodes and frames of the output. An episode may be split, and frames may be without a row.
func TestLinesAboutEpisodes(t *testing.T) {
	camera := &align.TrackReport{StreamReport: align.StreamReport{Name: "camera_0", Samples: 30}, Used: 24}
	for row := range 5 {
		camera.Drop(align.WhyNoFrame, row, int64(row)*1e9)
	}
	result := &Result{Path: "set", SkippedEpisodes: "episodes 1 of 0-2", Episodes: []Episode{
		{Name: "a", Frames: 30, Report: &align.Report{Points: 30, Rows: 25, Dropped: 5, Holes: 3, Split: 3, Single: 1,
			Cameras: []*align.TrackReport{camera}}},
		{Name: "b", Frames: 30, Report: &align.Report{Points: 30, Rows: 30}},
	}}
	lines := result.episodeLines(false)
	require.Contains(t, lines[0], "25 rows of 30, 5 dropped, 3 holes, 24 rows in 3 episodes")
	require.Contains(t, strings.Join(lines, "\n"), "\nset: 4 episodes, 24 frames, 54 rows; written in ")
	require.Contains(t, lines, "left out: episodes 1 of 0-2; the output has episodes 0 to 3")
	const times = "  camera_0: 5 rows dropped at 0.000 to 4.000 (5): no frame near enough"
	require.NotContains(t, lines, times)
	require.Contains(t, result.episodeLines(true), times)
}

// Without -v, losses that the format always causes share a line, and so do many losses of one topic.
func TestLinesAboutLosses(t *testing.T) {
	result := &Result{Losses: []Loss{
		{What: "quality of service, except durability", Topics: []string{"/imu", "/tf"}, Format: true},
		{What: "AHRS", Topics: []string{"/log"}, Messages: 5},
		{What: "header.seq", Topics: []string{"/imu"}, Messages: 7},
		{What: "EKF", Topics: []string{"/log"}, Messages: 6},
		{What: "publish times", Topics: []string{"/imu"}, Messages: 7, Format: true},
		{What: "TERRAIN", Topics: []string{"/log"}, Messages: 1},
		{What: "2 attachments", Messages: 0},
	}, Unplaced: []Loss{
		{What: "metadata of topics", Topics: []string{"/imu", "/tf"}, Format: true},
		{What: "metadata of the recording", Format: true},
	}}
	require.Equal(t, []string{
		"lost: AHRS, EKF, TERRAIN (on /log); -v lists them",
		"lost: header.seq (7 messages on /imu)",
		"lost: 2 attachments",
		"lost: what the format has no place for: quality of service, except durability; publish times; " +
			"-v lists the topics",
		"left out: what the format has no place for: metadata of topics; metadata of the recording; " +
			"-v lists the topics",
	}, result.lossLines(false))
	require.Equal(t, []string{
		"lost: quality of service, except durability (/imu, /tf)", "lost: AHRS (5 messages on /log)",
		"lost: header.seq (7 messages on /imu)", "lost: EKF (6 messages on /log)",
		"lost: publish times (7 messages on /imu)", "lost: TERRAIN (1 message on /log)", "lost: 2 attachments",
		"left out: metadata of topics (/imu, /tf)", "left out: metadata of the recording",
	}, result.lossLines(true))
}
