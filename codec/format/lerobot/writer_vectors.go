package lerobot

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// tolerance is the greatest distance of a row from its time on the timeline, as in LeRobot.
const tolerance = 100 * time.Microsecond

// vector is a feature of numbers with the rows of an episode.
type vector struct {
	*align.Vector
	feature *feature
	origins []episode.Origin // by column
}

// at returns the number in column i of a row, in the precision of the dataset.
func (v *vector) at(row, i int) float32 { return float32(v.Row(row)[i]) }

// notes returns the notes on the columns.
func (v *vector) notes() []noteColumn {
	notes := make([]noteColumn, len(v.Columns))
	for i, c := range v.Columns {
		c.Name = strings.TrimPrefix(c.Name, v.origins[i].Arm+".")
		notes[i] = noteColumn{v.origins[i], c}
	}
	return notes
}

// vectors returns the features of numbers of an episode. state is Options.State.
func vectors(r *episode.Rows, state string) ([]*vector, error) {
	states := []episode.Role{episode.Joint, episode.Gripper}
	actions := []episode.Role{episode.CommandJoint, episode.CommandGripper}
	commanded := *r // only the arms with recorded commands of poses
	commanded.Arms = slices.DeleteFunc(slices.Clone(r.Arms), func(a episode.ArmRows) bool {
		return a.ActionSources[episode.CommandPose] != align.ActionCommand
	})
	var pose, actionPose []episode.Role
	if state == StatePose || !slices.ContainsFunc(r.Arms, func(a episode.ArmRows) bool {
		return a.Streams[episode.Joint] != nil
	}) {
		states[0], actions[0] = episode.Pose, episode.CommandPose
	} else {
		pose, actionPose = []episode.Role{episode.Pose}, []episode.Role{episode.CommandPose}
	}
	var all []*vector
	for _, f := range []struct {
		key, name string
		rows      *episode.Rows
		roles     []episode.Role
	}{
		{stateKey, "qpos", r, states}, {actionKey, "action", r, actions}, {poseKey, "pose", r, pose},
		{velocityKey, "velocity", r, []episode.Role{episode.Velocity}},
		{effortKey, "effort", r, []episode.Role{episode.Effort}},
		{actionPoseKey, "action", &commanded, actionPose},
	} {
		numbers, origins, err := f.rows.Join(f.name, f.roles...)
		if err != nil {
			return nil, err
		}
		names := make([]any, len(origins))
		for i, c := range numbers.Columns {
			names[i] = c.Name
		}
		if len(names) > 0 || f.key == actionKey {
			all = append(all, &vector{numbers, &feature{key: f.key, DType: "float32", Shape: []int{len(names)},
				Names: names}, origins})
		}
	}
	if len(all) == 0 || all[0].feature.key != stateKey {
		return nil, errors.New("no joints and no poses for " + stateKey)
	}
	return all, nil
}

// check returns an error if a number of n rows is NaN or infinite. from is the first row.
func (v *vector) check(from, n int) error {
	for row := from; row < from+n; row++ {
		for i := range v.Columns {
			if x := v.at(row, i); x-x != 0 {
				return fmt.Errorf("row %d: %s of %s is %v, which is useless for training: align so that such rows "+
					"are dropped", row, v.feature.Names.([]any)[i], v.feature.key, x)
			}
		}
	}
	return nil
}

// span is a stretch of n consecutive rows without gaps. from is its first row.
type span struct{ from, n int }

// spans divides the rows of an episode into stretches at fps rows per second. Rows must be on time within tolerance.
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
