package episode_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/format/session"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
	"tapedeck/test/samples"
)

// reference returns an episode that EasyTeleop recorded and also converted itself.
func reference(t *testing.T) *episode.Episode {
	source, err := session.Open(nil, samples.Path(t, "session/easyteleop_reference/temp/20261121_082214"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	episodes, err := source.Episodes()
	require.NoError(t, err)
	require.Len(t, episodes, 1)
	return episodes[0]
}

// easyTeleop has rows of EasyTeleop's own HDF5 file of the reference session. EasyTeleop interpolates all columns
// linearly, even status, and clamps at the ends.
var easyTeleop = []struct {
	row                  int
	joint, pose, gripper []float64 // of arm_0
	other                float64   // gripper of arm_1
}{
	{
		0, []float64{0, 8.4147098480789655, 9.0929742682568175, 1.4112000805986722, -7.5680249530792825,
			-9.5892427466313848},
		[]float64{0.35, 0, 0.4, math.Pi, 0, 2.9415926535897929}, []float64{10.5, 0.75, 1}, 400,
	},
	{
		1, []float64{0.81466751225797562, 8.8117473790417211, 8.7073473429895802, 0.59745231578245861,
			-8.0617376152625351,
			-9.3090031614429911},
		[]float64{0.34974372732271963, 0.0040733375612898781, 0.4, math.Pi, 0, 2.9467926631265451},
		[]float64{10.830000238418807, 0.75, 1}, 403.30000238418808,
	},
	{
		16, []float64{-0.87732964677013392, -8.8422864870793134, -8.6776859094611574, -0.534860925883344,
			8.0997127263140793,
			9.2874478516773742},
		[]float64{0.25027598451399152, -0.0043866482338506688, 0.4, math.Pi, 0, -3.1359926726632978},
		[]float64{15.839999523162387, 0.52900030994444847, 1.3399995231623871}, 453.39999523162385,
	},
	{
		29, []float64{-3.2632256213009203, 6.1749620545953654, 9.9359180947932035, 4.5618368604721171,
			-5.006376145378483,
			-9.9717500112546045},
		[]float64{0.34716793879805891, -0.016316128106504603, 0.4, math.Pi, 0, -2.9627926631265455},
		[]float64{20.169999761581195, 0.10000000000000001, 2}, 496.69999761581192,
	},
}

// TestReferenceAsEasyTeleop aligns with the rules of EasyTeleop.
func TestReferenceAsEasyTeleop(t *testing.T) {
	rows, err := episode.Align(reference(t), align.Options{
		Ends: align.EndsClamp, MaxExtrapolation: align.Unlimited, MaxGap: align.Unlimited,
		MaxImageSkew: align.Unlimited,
		Action:       align.ActionCopy, LinearColumns: []string{"status", "arm_1/gripper/0"},
	})
	require.NoError(t, err)
	require.Len(t, rows.Stamps, 30)
	require.Equal(t, "copy", rows.ActionSource)
	for _, want := range easyTeleop {
		// EasyTeleop's times are floating point: they are off by up to 1e-7 s.
		require.InDeltaSlice(t, want.joint, rows.Arms[0].Streams[episode.Joint].Row(want.row), 1e-4, "row %d", want.row)
		require.InDeltaSlice(t, want.pose, rows.Arms[0].Streams[episode.Pose].Row(want.row), 1e-6, "row %d", want.row)
		require.InDeltaSlice(t, want.gripper, rows.Arms[0].Streams[episode.Gripper].Row(want.row), 1e-4, "row %d",
			want.row)
		require.InDelta(t, want.other, rows.Arms[1].Streams[episode.Gripper].Row(want.row)[0], 1e-4, "row %d", want.row)
		require.Equal(t, rows.Arms[0].Streams[episode.Joint].Row(want.row),
			rows.Arms[0].Streams[episode.CommandJoint].Row(want.row))
	}
	for i := range rows.Stamps {
		require.Equal(t, i, rows.Frames[0][i])
	}
}

// TestReference aligns with the default rules.
func TestReference(t *testing.T) {
	e := reference(t)
	rows, err := episode.Align(e, align.Options{})
	require.NoError(t, err)
	t.Log("\n" + rows.Report.String())
	require.Equal(t, 30, rows.Report.Points)
	require.Equal(t, e.Cameras[0].Stamps[1], rows.Stamps[0],
		"joints begin 20 ms after the first frame, which is dropped")
	require.Equal(t, 1, rows.Report.Vectors[0].Dropped[align.WhyBefore])
	require.Equal(t, 2, rows.Report.Cameras[1].Dropped[align.WhyNoFrame], "two frames are missing of camera_1")
	require.Equal(t, "next-state", rows.ActionSource)
	for i, stamp := range rows.Stamps {
		for _, want := range easyTeleop {
			if stamp != e.Cameras[0].Stamps[want.row] {
				continue
			}
			require.InDeltaSlice(t, want.joint, rows.Arms[0].Streams[episode.Joint].Row(i), 1e-4)
			require.InDeltaSlice(t, want.pose, rows.Arms[0].Streams[episode.Pose].Row(i), 1e-6)
			gripper := rows.Arms[0].Streams[episode.Gripper].Row(i)
			require.InDeltaSlice(t, want.gripper[:2], gripper[:2], 1e-4)
			require.Equal(t, math.Floor(want.gripper[2]), gripper[2], "status is held, not interpolated")
		}
		if i > 0 {
			require.Equal(t, rows.Arms[0].Streams[episode.Joint].Row(i),
				rows.Arms[0].Streams[episode.CommandJoint].Row(i-1))
		}
	}
	q, err := rows.QPos()
	require.NoError(t, err)
	require.Len(t, q.Columns, 14)
	for i := range rows.Stamps {
		require.InDelta(t, rows.Arms[0].Streams[episode.Joint].Row(i)[2]*math.Pi/180, q.Row(i)[2], 1e-12)
		require.Equal(t, rows.Arms[0].Streams[episode.Gripper].Row(i)[1], q.Row(i)[6])
		require.Equal(t, rows.Arms[1].Streams[episode.Gripper].Row(i)[0]/1000, q.Row(i)[13])
	}
}
