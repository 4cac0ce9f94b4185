package lerobot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/align"
	"tapedeck/codec/episode"
	"tapedeck/msgs/plural"
)

// tolerance is how far a row may be from its place on the timeline, as in LeRobot.
const tolerance = 100 * time.Microsecond

// vector is a feature of numbers.
type vector struct {
	feature *feature
	columns []noteColumn
	parts   []part
}

// part is the source of a column of a vector.
type part struct {
	rows   *align.Rows
	column int
}

func (v *vector) at(row, i int) float32 {
	p := v.parts[i]
	return float32(p.rows.Values[row*len(p.rows.Columns)+p.column])
}

// add adds n columns of an arm from a column on. In the vectors of all arms, their names begin with that of the arm.
func (v *vector) add(arm *episode.Arm, stream string, rows *align.Rows, from, n int) {
	for i := from; i < from+n; i++ {
		c := rows.Columns[i]
		name := strings.TrimPrefix(c.Name, arm.Name+".")
		v.columns = append(v.columns, noteColumn{Arm: arm.Name, Stream: stream, Name: name, Unit: c.Unit,
			Interp: c.Interp})
		v.parts = append(v.parts, part{rows, i})
	}
}

// addAll adds all columns of a stream, if there is one.
func (v *vector) addAll(arm *episode.Arm, stream string, rows *align.Rows) {
	if rows != nil {
		v.add(arm, stream, rows, 0, len(rows.Columns))
	}
}

// complete sets the feature.
func (v *vector) complete(key string) *vector {
	names := make([]any, len(v.columns))
	for i, c := range v.columns {
		name := c.Arm + "." + c.Name
		if c.Stream == "gripper" {
			name = c.Arm + ".gripper"
		}
		names[i] = name
	}
	v.feature = &feature{key: key, DType: "float32", Shape: []int{len(names)}, Names: names}
	return v
}

// vectors returns the features of numbers of an episode.
func vectors(r *episode.Rows, state string) ([]*vector, error) {
	joints, err := r.QPos()
	if err != nil {
		return nil, err
	}
	actions, err := r.Action()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(r.Arms, func(a episode.ArmRows) bool { return a.Joint != nil }) {
		state = StatePose
	}
	var observed, action, pose, velocity, effort, actionPose vector
	at := 0 // column of joints
	for i := range r.Arms {
		a := &r.Arms[i]
		if a.Joint != nil {
			n := len(a.Joint.Columns)
			if state == StateJoint {
				observed.add(a.Arm, "joint", joints, at, n)
				action.add(a.Arm, "joint", actions, at, n)
			}
			at += n
		}
		if state == StatePose {
			observed.addAll(a.Arm, "pose", a.Pose)
			action.addAll(a.Arm, "pose", a.ActionPose)
		} else {
			pose.addAll(a.Arm, "pose", a.Pose)
			if a.PoseSource == align.ActionCommand {
				actionPose.addAll(a.Arm, "pose", a.ActionPose)
			}
		}
		if a.Gripper != nil {
			observed.add(a.Arm, "gripper", joints, at, 1)
			action.add(a.Arm, "gripper", actions, at, 1)
			at++
		}
		velocity.addAll(a.Arm, "velocity", a.Velocity)
		effort.addAll(a.Arm, "effort", a.Effort)
	}
	if len(observed.parts) == 0 {
		return nil, errors.New("no joints and no poses for " + stateKey + "")
	}
	all := []*vector{observed.complete(stateKey), action.complete(actionKey)}
	for _, v := range []*vector{
		pose.complete("observation.pose"), velocity.complete("observation.velocity"),
		effort.complete("observation.effort"),
		actionPose.complete("action.pose"),
	} {
		if len(v.parts) > 0 {
			all = append(all, v)
		}
	}
	return all, nil
}

// check returns an error for numbers that are NaN or infinite.
func (v *vector) check(from, n int) error {
	for row := from; row < from+n; row++ {
		for i := range v.parts {
			if x := v.at(row, i); x-x != 0 {
				return fmt.Errorf("row %d: %s of %s is %v, which is useless for training: align so that such rows "+
					"are dropped",
					row, v.feature.Names.([]any)[i], v.feature.key, x)
			}
		}
	}
	return nil
}

// span is a stretch of rows without gaps.
type span struct{ from, n int }

// spans returns the stretches of an episode at some rows per second.
func spans(stamps []int64, fps int) ([]span, error) {
	period := 1e9 / float64(fps)
	all := []span{{0, 1}}
	for i := 1; i < len(stamps); i++ {
		last := &all[len(all)-1]
		steps := math.Round(float64(stamps[i]-stamps[i-1]) / period)
		if steps > 1 {
			all = append(all, span{i, 1})
			continue
		}
		late := time.Duration(stamps[i] - stamps[last.from] - int64(math.Round(float64(last.n)*period)))
		if late.Abs() > tolerance {
			return nil, fmt.Errorf("row %d is %v from its time at %s per second, but LeRobot needs a fixed rate: "+
				"align on the timeline fixed:%d", i, late, plural.Count(fps, "row"), fps)
		}
		last.n++
	}
	return all, nil
}
