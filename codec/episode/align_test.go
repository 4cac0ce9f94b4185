package episode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/align"
)

// vector returns a stream of samples 10 ms apart from 1 s on, all columns of which are f of the number of the sample.
func vector(name string, n int, f func(i int) float64, columns ...string) *align.Vector {
	v := &align.Vector{Name: name}
	for _, c := range columns {
		v.Columns = append(v.Columns, align.Column{Name: c})
	}
	for i := range n {
		v.Stamps = append(v.Stamps, 1e9+int64(i)*1e7)
		for range columns {
			v.Values = append(v.Values, f(i))
		}
	}
	return v
}

func camera(name string, n int) *Camera {
	c := &Camera{Track: align.Track{Name: name}}
	for i := range n {
		c.Stamps = append(c.Stamps, 1e9+int64(i)*3e7)
	}
	return c
}

func TestAlign(t *testing.T) {
	joint := vector("arm_0/joint", 100, func(i int) float64 { return float64(i) + 0.5 }, "joint_0", "joint_1")
	joint.Columns[0].Unit, joint.Columns[1].Unit = "deg", "rad"
	gripper := vector("arm_0/gripper", 100, func(i int) float64 { return float64(i * 10) }, "force", "position")
	e := &Episode{Name: "take", Cameras: []*Camera{camera("camera_0", 30)}, Arms: []*Arm{{Name: "arm_0", Joint: joint, Gripper: gripper}}}
	rows, err := Align(e, align.Options{})
	require.NoError(t, err)
	require.Len(t, rows.Stamps, 30)
	require.Equal(t, align.ActionNextState, rows.ActionSource)
	require.True(t, rows.Synthetic)

	q, err := rows.QPos()
	require.NoError(t, err)
	require.Equal(t, []align.Column{
		{Name: "arm_0.joint_0", Unit: "rad", Interp: align.Linear}, {Name: "arm_0.joint_1", Unit: "rad", Interp: align.Linear},
		{Name: "arm_0.gripper", Unit: "1", Interp: align.Linear},
	}, q.Columns)
	require.InDeltaSlice(t, []float64{3.5 * math.Pi / 180, 3.5, 0.03}, q.Row(1), 1e-12)
	a, err := rows.Action()
	require.NoError(t, err)
	require.Equal(t, q.Row(2), a.Row(1))
	require.Equal(t, q.Row(29), a.Row(29))
	v, err := rows.QVel()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{100 * math.Pi / 180, 100, 1}, v.Row(0), 1e-9)
	require.Equal(t, "rad/s", v.Columns[0].Unit)
	require.Equal(t, "1/s", v.Columns[2].Unit)
}
