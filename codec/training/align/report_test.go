package align

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDroppedTimes lists the times of dropped rows: one time range for a stretch of rows, and at most maxStretches of
// them.
func TestDroppedTimes(t *testing.T) {
	drop := func(s *StreamReport, why string, rows ...int) {
		for _, row := range rows {
			s.Drop(why, row, int64(row)*1e9)
		}
	}
	camera, vector := &TrackReport{StreamReport: StreamReport{Name: "camera_0"}},
		&VectorReport{StreamReport: StreamReport{Name: "arm_0/joint"}}
	drop(&camera.StreamReport, WhyNoFrame, 0, 3, 4, 5, 9)
	drop(&camera.StreamReport, WhyDamaged, 2)
	var want []string
	for i := range maxStretches + 5 {
		drop(&vector.StreamReport, WhyGap, 10*i, 10*i+1)
		if i < maxStretches {
			want = append(want, fmt.Sprintf("%d.000 to %d.000 (2)", 10*i, 10*i+1))
		}
	}
	r := Report{Cameras: []*TrackReport{camera, {}}, Vectors: []*VectorReport{vector}}
	require.Equal(t, []string{
		"camera_0: 1 row dropped at 2.000: its image is damaged",
		"camera_0: 5 rows dropped at 0.000, 3.000 to 5.000 (3), 9.000: no frame near enough",
		"arm_0/joint: 50 rows dropped at " + strings.Join(want, ", ") + " … and 5 more: in a gap",
	}, r.DroppedTimes())
	require.Equal(t, map[string]int{WhyNoFrame: 5, WhyDamaged: 1}, camera.Dropped)
}

func TestBetween(t *testing.T) {
	require.Equal(t, 0, between([]int64{2, 4}, []int64{1, 2, 3, 4}))
	require.Equal(t, 3, between([]int64{1, 2, 5, 8}, []int64{2, 3, 6}))
	require.Equal(t, 2, between([]int64{1, 2}, nil))
}

// TestAlignReportsDroppedTimes looks at the times of rows that Align drops.
func TestAlignReportsDroppedTimes(t *testing.T) {
	table, err := Align(Streams{Cameras: []*Track{frameTrack(10, 12)},
		Vectors: []*Vector{numbers("a", 10, ramp(10)...)}}, Options{})
	require.NoError(t, err)
	require.Zero(t, table.Report.Vectors[0].Between)
	lines := table.Report.DroppedTimes()
	require.Len(t, lines, 1)
	require.Regexp(t, `^a: 2 rows dropped at \d+\.\d+ to \d+\.\d+ \(2\): after its last sample$`, lines[0])
}
