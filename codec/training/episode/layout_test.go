package episode

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
)

func names(columns []align.Column) (list []string) {
	for _, c := range columns {
		list = append(list, c.Name)
	}
	return list
}

// Columns with equal names are distinguished by position.
func TestColumnsOfOneName(t *testing.T) {
	joint := newVector("arm_0/joint", 30, func(int) float64 { return 0 }, "x", "finger", "finger")
	command := newVector("arm_0/command/joint", 30, func(int) float64 { return 0 }, "finger", "x", "finger")
	for i := range joint.Values {
		joint.Values[i], command.Values[i] = float64(i%3), float64(i%3)
	}
	e := &Episode{Name: "one", Cameras: []*Camera{newCamera("camera_0", 10)},
		Arms: []*Arm{{Name: "arm_0", Streams: Streams{Joint: joint, CommandJoint: command}}}}
	more := &Episode{Name: "more", Arms: []*Arm{{Name: "arm_0",
		Streams: Streams{Joint: newVector("arm_0/joint", 30, func(int) float64 { return 0 }, "x", "finger", "finger",
			"finger", "y")}}}}
	var l Layout
	require.NoError(t, l.Add(e))
	require.NoError(t, l.Add(more))
	rows, err := Align(l.Apply(e), align.Options{Gaps: align.GapsNaN})
	require.NoError(t, err)
	require.Equal(t, []string{"x", "finger", "finger", "finger", "y"}, names(rows.Arms[0].Streams[Joint].Columns))
	require.Equal(t, []float64{0, 1, 2}, rows.Arms[0].Streams[Joint].Row(1)[:3])
	rows, err = Align(e, align.Options{})
	require.NoError(t, err)
	q, err := rows.QPos()
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1, 2}, q.Row(1))
	action, err := rows.Action()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 0, 2}, action.Row(1))
	require.Equal(t, []int{1, -1, 0, 2, -1}, align.Places(
		[]align.Column{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "a"}, {Name: "a"}},
		[]align.Column{{Name: "c"}, {Name: "a"}, {Name: "a"}}))
}

func TestLayout(t *testing.T) {
	half := func(i int) float64 { return float64(i) + 0.5 }
	one := &Episode{Name: "one", Cameras: []*Camera{newCamera("camera_0", 30)}, Arms: []*Arm{
		{Name: "arm_1", Streams: Streams{Joint: newVector("arm_1/joint", 100, half, "joint_0")}},
		{
			Name: "arm_0", Streams: Streams{Joint: newVector("arm_0/joint", 100, half, "joint_0", "joint_2"),
				Gripper:      newVector("arm_0/gripper", 100, half, "0", "2", "force"),
				CommandJoint: newVector("arm_0/command/joint", 100, half, "joint_0", "joint_2")},
		},
	}}
	two := &Episode{Name: "two", Cameras: []*Camera{newCamera("camera_0", 30)}, Arms: []*Arm{
		{Name: "arm_0", Streams: Streams{Joint: newVector("arm_0/joint", 100, half, "joint_0", "joint_2", "joint_10"),
			Gripper: newVector("arm_0/gripper", 100, half, "10", "angle")}},
	}}
	var l Layout
	require.NoError(t, l.Add(one))
	require.NoError(t, l.Add(two))
	a, b := l.Apply(one), l.Apply(two)
	require.Equal(t, []string{"0", "2", "10", "angle", "force"}, names(a.Arms[0].Streams[Gripper].Columns))
	for _, e := range []*Episode{a, b} {
		require.Equal(t, []string{"0", "2", "10", "angle", "force"}, names(e.Arms[0].Streams[Gripper].Columns))
		require.Equal(t, []string{"joint_0", "joint_2", "joint_10"}, names(e.Arms[0].Streams[Joint].Columns))
		require.Equal(t, "arm_1", e.Arms[1].Name)
		for _, v := range e.Arms[0].Streams {
			if v != nil {
				require.Len(t, v.Values, len(v.Stamps)*len(v.Columns))
			}
		}
		e.Arms[0].GripperRange = [2]float64{0, 100}
	}
	require.Nil(t, b.Arms[0].Streams[CommandJoint])
	require.Len(t, two.Arms, 1, "Apply does not change its argument")
	require.Len(t, two.Arms[0].Streams[Gripper].Columns, 2)

	rows, err := Align(b, align.Options{})
	require.NoError(t, err)
	require.Equal(t, 30, len(rows.Stamps), "streams that the episode lacks drop no rows")
	q, err := rows.QPos()
	require.NoError(t, err)
	require.Equal(t, []string{"arm_0.joint_0", "arm_0.joint_2", "arm_0.joint_10", "arm_0.gripper", "arm_1.joint_0"},
		names(q.Columns))
	require.True(t, math.IsNaN(q.Row(3)[4]))
	require.Equal(t, align.ActionNextState, rows.ActionSource)

	one.Arms[0].Streams[Joint].Columns = []align.Column{{Name: "joint_0", Unit: "deg"}}
	require.EqualError(t, l.Add(one), `one: arm_1/joint: joint_0 is in "deg", elsewhere in an unknown unit`)
}

func TestLayoutUnits(t *testing.T) {
	set := func(name, unit string, value float64) *Episode {
		joint := newVector("arm_0/joint", 100, func(int) float64 { return value }, "joint_0")
		joint.Columns[0].Unit = unit
		joint.Values[3] = align.Missing()
		return &Episode{Name: name, Arms: []*Arm{{Name: "arm_0", Streams: Streams{Joint: joint}}}}
	}
	deg, rad := set("deg", "deg", 90), set("rad", "rad", math.Pi/2)
	for _, e := range [][2]*Episode{{deg, rad}, {rad, deg}} {
		var l Layout
		require.NoError(t, l.Add(e[0]))
		require.NoError(t, l.Add(e[1]))
		want, got := l.Apply(e[0]).Arms[0].Streams[Joint], l.Apply(e[1]).Arms[0].Streams[Joint]
		require.Equal(t, e[0].Arms[0].Streams[Joint], want)
		require.Equal(t, want.Columns, got.Columns)
		require.InDelta(t, want.Values[0], got.Values[0], 1e-12)
		require.True(t, align.IsMissing(got.Values[3]))
	}
	require.Equal(t, "deg", deg.Arms[0].Streams[Joint].Columns[0].Unit, "Apply does not change its argument")
	require.Equal(t, 90.0, deg.Arms[0].Streams[Joint].Values[0])

	var l Layout
	require.NoError(t, l.Add(deg))
	require.EqualError(t, l.Add(set("mm", "mm", 1)), `mm: arm_0/joint: joint_0 is in "mm", elsewhere in "deg"`)
}

func TestCompare(t *testing.T) {
	columns := []string{"0", "2", "10", "a", "finger_10", "finger_2", "force"}
	shuffled := []string{"force", "10", "a", "finger_2", "0", "finger_10", "2"}
	slices.SortFunc(shuffled, compareColumns)
	require.Equal(t, columns, shuffled)

	arms := []string{"arm", "arm_0", "arm_2", "arm_10", "left"}
	shuffled = []string{"left", "arm_10", "arm_2", "arm", "arm_0"}
	slices.SortFunc(shuffled, CompareNames)
	require.Equal(t, arms, shuffled)
}
