package episode

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/training/align"
)

// newVector returns a stream of n samples. The first stamp is 1 s; samples are 10 ms apart. All columns of sample i are
// f(i).
func newVector(name string, n int, f func(i int) float64, columns ...string) *align.Vector {
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

// newCamera returns a camera with n stamps. The first stamp is 1 s; frames are 30 ms apart.
func newCamera(name string, n int) *Camera {
	c := &Camera{Track: align.Track{Name: name}}
	for i := range n {
		c.Stamps = append(c.Stamps, 1e9+int64(i)*3e7)
	}
	return c
}

func TestAlign(t *testing.T) {
	joint := newVector("arm_0/joint", 100, func(i int) float64 { return float64(i) + 0.5 }, "joint_0", "joint_1")
	joint.Columns[0].Unit, joint.Columns[1].Unit = "deg", "rad"
	gripper := newVector("arm_0/gripper", 100, func(i int) float64 { return float64(i * 10) }, "force", "position")
	e := &Episode{Name: "take", Cameras: []*Camera{newCamera("camera_0", 30)},
		Arms: []*Arm{{Name: "arm_0", Streams: Streams{Joint: joint, Gripper: gripper}}}}
	rows, err := Align(e, align.Options{})
	require.NoError(t, err)
	require.Len(t, rows.Stamps, 30)
	require.Equal(t, align.ActionNextState, rows.ActionSource)
	require.True(t, rows.Synthetic)

	q, err := rows.QPos()
	require.NoError(t, err)
	require.Equal(t, []align.Column{
		{Name: "arm_0.joint_0", Unit: "rad", Interp: align.Linear},
		{Name: "arm_0.joint_1", Unit: "rad", Interp: align.Linear},
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

func TestActions(t *testing.T) {
	half := func(i int) float64 { return float64(i)/1000 + 0.0005 }
	make := func() *Episode {
		return &Episode{Name: "take", Cameras: []*Camera{newCamera("camera_0", 30)}, Arms: []*Arm{{
			Name: "arm_0", Streams: Streams{Joint: newVector("arm_0/joint", 100, half, "joint_0", "joint_1"),
				Gripper: newVector("arm_0/gripper", 100, half, "position"),
				CommandJoint: newVector("arm_0/command/joint", 100, func(i int) float64 { return 5 + float64(i) },
					"joint_1",
					"joint_0")},
		}}}
	}
	tests := []struct {
		action string
		change func(*Arm)
		source string
		want   []float64 // in the row at 30 ms
		err    string
	}{
		{align.ActionAuto, nil, "command, next-state for arm_0/gripper", []float64{8, 8, 0.0065}, ""},
		{align.ActionCommand, nil, "command, next-state for arm_0/gripper", []float64{8, 8, 0.0065}, ""},
		{align.ActionNextState, nil, "next-state", []float64{0.0065, 0.0065, 0.0065}, ""},
		{align.ActionCopy, nil, "copy", []float64{0.0035, 0.0035, 0.0035}, ""},
		{align.ActionAuto, func(a *Arm) { a.Streams[CommandJoint].Stamps[3] += 1 },
			"command, next-state for arm_0/gripper",
			[]float64{7, 7, 0.0065}, ""},
		{align.ActionAuto, func(a *Arm) { a.Streams[CommandJoint].Values[6] = 1 },
			"command, next-state for arm_0/gripper",
			[]float64{8, 1, 0.0065}, ""},
		{align.ActionAuto, func(a *Arm) { a.Streams[CommandJoint] = newVector("c", 0, half, "a") }, "next-state",
			[]float64{0.0065, 0.0065, 0.0065}, ""},
		{align.ActionCommand, func(a *Arm) { a.Streams[CommandJoint] = nil }, "", nil,
			"align take: there are no commands for actions; choose next-state or copy"},
		{
			align.ActionAuto, func(a *Arm) { a.Streams[CommandJoint] = newVector("c", 100, half, "joint_1") },
			"command, next-state for arm_0/gripper", nil,
			"action of arm_0: 2 joints, but actions of 1",
		},
	}
	for _, test := range tests {
		e := make()
		if test.change != nil {
			test.change(e.Arms[0])
		}
		rows, err := Align(e, align.Options{Action: test.action})
		if test.source == "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, test.source, rows.ActionSource)
		actions, err := rows.Action()
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.InDeltaSlice(t, test.want, actions.Row(1), 1e-12, "%+v", test)
		q, err := rows.QPos()
		require.NoError(t, err)
		require.Equal(t, names(q.Columns), names(actions.Columns))
	}
}

func TestNothingToAlign(t *testing.T) {
	half := func(i int) float64 { return float64(i) + 0.5 }
	arm := &Arm{Name: "arm_0", Streams: Streams{Joint: newVector("arm_0/joint", 100, half, "joint_0")}}
	_, err := Align(&Episode{Name: "take", Cameras: []*Camera{newCamera("camera_0", 30)}}, align.Options{})
	require.EqualError(t, err, "align take: there are no arms; if that is right, use --partial")
	_, err = Align(&Episode{Name: "take", Arms: []*Arm{arm}}, align.Options{})
	require.EqualError(t, err, "align take: there are no cameras; if that is right, use --partial")
	_, err = Align(&Episode{Name: "take", Arms: []*Arm{arm}}, align.Options{Gaps: "x"})
	require.EqualError(t, err, `align take: gaps "x": want one of drop, nan`)

	rows, err := Align(&Episode{Cameras: []*Camera{newCamera("camera_0", 30)}}, align.Options{Partial: true})
	require.NoError(t, err)
	require.Len(t, rows.Frames[0], 30)
	require.Empty(t, rows.ActionSource)
	q, err := rows.QVel()
	require.NoError(t, err)
	require.Empty(t, q.Columns)
}

func TestRewards(t *testing.T) {
	yes, no := true, false
	for _, success := range []*bool{nil, &yes, &no} {
		rows, err := Align(&Episode{Cameras: []*Camera{newCamera("camera_0", 3)}, Success: success},
			align.Options{Partial: true})
		require.NoError(t, err)
		want := []float64{0, 0, 0}
		if success == &yes {
			want[2] = 1
		}
		require.Equal(t, want, rows.Rewards)
		require.Equal(t, success == nil, rows.Synthetic)
	}
}

func TestVelocityAndEffort(t *testing.T) {
	joint := newVector("arm_0/joint", 100, func(i int) float64 { return float64(i * i) }, "a", "b")
	e := &Episode{Name: "take", Cameras: []*Camera{newCamera("camera_0", 30)}, Arms: []*Arm{
		{Name: "arm_0", Streams: Streams{Joint: joint, Gripper: newVector("arm_0/gripper", 100,
			func(int) float64 { return 0.5 },
			"position")}},
		{Name: "arm_1"},
	}}
	e.Arms[0].Streams[Velocity] = newVector("arm_0/velocity", 100, func(i int) float64 { return float64(i) + 0.5 }, "b",
		"a")
	for i := range e.Arms[0].Streams[Velocity].Columns {
		e.Arms[0].Streams[Velocity].Columns[i].Unit = "deg/s"
		e.Arms[0].Streams[Velocity].Values[i] = 180 * float64(i)
	}
	rows, err := Align(e, align.Options{})
	require.NoError(t, err)
	v, err := rows.QVel()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{math.Pi, 0, 0}, v.Row(0), 1e-12)
	effort, err := rows.Effort()
	require.NoError(t, err)
	require.Nil(t, effort)

	e.Arms[0].Streams[Effort] = e.Arms[0].Streams[Velocity]
	e.Arms[0].Streams[Velocity] = nil
	for _, causal := range []bool{false, true} {
		rows, err = Align(e, align.Options{Causal: causal})
		require.NoError(t, err)
		v, err = rows.QVel()
		require.NoError(t, err)
		// The rows are at 0, 30 and 60 ms.
		if causal {
			require.InDeltaSlice(t, []float64{0, 0, 0}, v.Row(0), 1e-9)
			require.InDeltaSlice(t, []float64{9 / 0.03, 9 / 0.03, 0}, v.Row(1), 1e-9)
		} else {
			require.InDeltaSlice(t, []float64{9 / 0.03, 9 / 0.03, 0}, v.Row(0), 1e-9)
			require.InDeltaSlice(t, []float64{36 / 0.06, 36 / 0.06, 0}, v.Row(1), 1e-9)
		}
	}
	effort, err = rows.Effort()
	require.NoError(t, err)
	require.Equal(t, []float64{180, 0}, effort.Row(0)[:2])
	require.True(t, math.IsNaN(effort.Row(0)[2]))
}

func TestGripperRange(t *testing.T) {
	tests := []struct {
		positions    []float64
		set          [2]float64
		closed, open float64
		err          string
	}{
		{[]float64{0, 0.5, 1}, [2]float64{}, 0, 1, ""},
		{[]float64{0, 50, 1000}, [2]float64{}, 0, 1000, ""},
		{[]float64{0, 50.5}, [2]float64{}, 0, 0, "unknown closed and open positions of the gripper, whose " +
			"positions are from 0 to 50.5: set the gripper's range"},
		{[]float64{-1, 0}, [2]float64{}, 0, 0, "unknown closed and open positions of the gripper, whose " +
			"positions are from -1 to 0: set the gripper's range"},
		{[]float64{0, 50.5}, [2]float64{80, -2}, 80, -2, ""},
		{[]float64{0, 50.5}, [2]float64{3, 3}, 0, 0, "invalid gripper range from 3 to 3"},
		{[]float64{0, 50.5}, [2]float64{0, math.NaN()}, 0, 0, "invalid gripper range from 0 to NaN"},
		{[]float64{math.NaN(), align.Missing()}, [2]float64{}, 0, 1, ""},
	}
	for _, test := range tests {
		v := newVector("g", len(test.positions), func(i int) float64 { return test.positions[i] }, "status", "Position")
		for i := range test.positions {
			v.Values[2*i] = 77.7
		}
		closed, open, err := (&Arm{Streams: Streams{Gripper: v}, GripperRange: test.set}).gripperRange()
		if test.err != "" {
			require.EqualError(t, err, test.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []float64{test.closed, test.open}, []float64{closed, open})
	}
}

func TestContinuousJoints(t *testing.T) {
	joint := newVector("arm_0/joint", 100, func(i int) float64 { return math.Remainder(float64(i)*30, 360) }, "joint_0")
	joint.Columns[0].Unit = "deg"
	e := &Episode{Name: "take", Cameras: []*Camera{newCamera("camera_0", 30)}, Arms: []*Arm{{Name: "arm_0",
		Streams: Streams{Joint: joint}}}}
	rows, err := Align(e, align.Options{ContinuousJoints: true})
	require.NoError(t, err)
	require.InDelta(t, 90*29, rows.Arms[0].Streams[Joint].Values[29], 1e-9)
	require.Equal(t, align.Auto, joint.Columns[0].Interp)

	command := newVector("arm_0/command/joint", 100, func(i int) float64 {
		return math.Remainder(float64(i)*30+10,
			360) * math.Pi / 180
	}, "joint_0")
	e.Arms[0].Streams[CommandJoint] = command
	rows, err = Align(e, align.Options{ContinuousJoints: true})
	require.NoError(t, err)
	require.InDelta(t, (90*29+10)*math.Pi/180, rows.Arms[0].Streams[CommandJoint].Values[29], 1e-9)
	e.Arms[0].Streams[CommandJoint] = nil
	rows, err = Align(e, align.Options{})
	require.NoError(t, err)
	require.LessOrEqual(t, slices.Max(rows.Arms[0].Streams[Joint].Values), 180.0)
}
