package episode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
)

// TestKeepRows keeps rows that alignment would change or drop: rows that share a frame, have none or lack a number.
func TestKeepRows(t *testing.T) {
	nan, done := align.Missing(), true
	stamps := []int64{10, 20, 30, 40, 50, 60}
	joint := &align.Vector{Name: "arm_0/joint", Columns: []align.Column{{Name: "joint_0"}, {Name: "joint_1"}},
		Stamps: stamps, Values: []float64{1, nan, 2, nan, 3, nan, nan, nan, 5, nan, 6, nan}}
	c := &Camera{Track: align.Track{Name: "camera_0", Stamps: []int64{11, 35, 58}}}
	e := &Episode{Name: "take", Success: &done, Cameras: []*Camera{c}, Arms: []*Arm{{Name: "arm_0",
		Streams: Streams{Joint: joint}}},
		Table: &Table{Stamps: stamps, Frames: [][]int{{0, 0, -1, 1, 2, 2}}}}
	keep := align.Options{KeepRows: true, Gaps: align.GapsNaN}

	rows, err := Align(e, keep)
	require.NoError(t, err)
	require.Equal(t, stamps, rows.Stamps)
	require.Equal(t, [][]int{{0, 0, -1, 1, 2, 2}}, rows.Frames)
	require.Equal(t, []float64{0, 0, 0, 0, 0, 1}, rows.Rewards)
	require.Equal(t, "next-state", rows.ActionSource)
	first := func(r *align.Vector) (list []float64) {
		for i := range len(r.Values) / 2 {
			x := r.Row(i)[0]
			if math.IsNaN(x) {
				x = -1
			}
			list = append(list, x)
			require.True(t, math.IsNaN(r.Row(i)[1]))
		}
		return list
	}
	require.Equal(t, []float64{1, 2, 3, -1, 5, 6}, first(rows.Arms[0].Streams[Joint]))
	require.Equal(t, []float64{2, 3, -1, 5, 6, 6}, first(rows.Arms[0].Streams[CommandJoint]))
	require.Equal(t, 6, rows.Report.Vectors[0].NaN)
	require.Equal(t, 3, rows.Report.Cameras[0].Used)
	require.Equal(t, 1, rows.Report.Cameras[0].Missing)

	// Actions are taken before rows are dropped.
	damaged := DamagedFrames{{Camera: c, Index: 0}}.Without(e)
	require.Equal(t, [][]int{{0, 0, -1, 1, 2, 2}}, e.Table.Frames)
	rows, err = Align(damaged, align.Options{KeepRows: true})
	require.NoError(t, err)
	require.Equal(t, []int64{30, 50, 60}, rows.Stamps)
	require.Equal(t, [][]int{{-1, 1, 1}}, rows.Frames)
	require.Equal(t, []float64{3, 5, 6}, first(rows.Arms[0].Streams[Joint]))
	require.Equal(t, []float64{-1, 6, 6}, first(rows.Arms[0].Streams[CommandJoint]))
	require.Equal(t, "3 rows of 6, 3 dropped, 1 hole\n  camera_0: 2 frames, 1 used, 2 rows dropped: its image is "+
		"damaged, 1 damaged: frame 0: <nil>, 1 row without a frame\n  arm_0/joint: 6 samples, 1 row dropped: a number "+
		"is missing, 3 rows with NaN\n", rows.Report.String())

	e.Table.Action = align.ActionCopy
	rows, err = Align(e, keep)
	require.NoError(t, err)
	require.Equal(t, "copy", rows.ActionSource)
	require.Equal(t, []float64{1, 2, 3, -1, 5, 6}, first(rows.Arms[0].Streams[CommandJoint]))

	e.Table.Frames = [][]int{{-2, -2, -2, -2, -2, -2}}
	_, err = Align(e, keep)
	require.EqualError(t, err, "align take: none of 6 rows is left: camera_0: 6 rows dropped: its image is damaged")
}
