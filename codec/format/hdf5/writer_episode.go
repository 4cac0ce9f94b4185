package hdf5

import (
	"errors"
	"fmt"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// episodeWriter writes an episode to its group.
type episodeWriter struct {
	file    *child.Writer
	options *Options
	rows    *episode.Rows
	n       int    // number of rows
	root    string // path of the group, such as "/episodes/episode_0"
	written *writtenEpisode
	lost    codec.LossCounts
	lengths map[string][]int // bytes of each padded JPEG, by the name of the dataset of images
	pixels  bool             // reports whether the images of some camera are stored as pixels
}

// write writes the whole episode.
func (w *episodeWriter) write() error {
	e := w.rows.Episode
	w.written.rows = w.n
	for _, group := range []string{"/observations/images", "/observations/state", "/actions", "/rewards"} {
		if err := w.file.MakeGroup(w.root + group); err != nil {
			return err
		}
	}
	attributes := map[string]any{
		"name": e.Name, "task": e.Task, "start_ns": e.Start, "end_ns": e.End, "action_source": w.rows.ActionSource,
		"alignment/report": marshal(w.rows.Report), "metadata": string(e.Metadata),
	}
	if e.Success != nil {
		attributes["success"] = *e.Success
	}
	if err := setAttributes(w.file, w.root, attributes); err != nil {
		return err
	}
	for _, write := range []func() error{w.writeTimes, w.writeArms, w.writeJoinedVectors, w.writeImages} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// writeTimes writes the times and the rewards of rows.
func (w *episodeWriter) writeTimes() error {
	stamps := make([]float64, w.n)
	for i, ns := range w.rows.Stamps {
		stamps[i] = seconds(ns)
	}
	rewards := w.root + "/rewards/values"
	return errors.Join(
		child.Put(w.file, w.root+"/actions/timestamps", stamps, w.n),
		child.Put(w.file, w.root+"/actions/timestamps_ns", w.rows.Stamps, w.n),
		child.Put(w.file, w.root+"/observations/timestamps", stamps, w.n),
		child.Put(w.file, w.root+"/observations/timestamps_ns", w.rows.Stamps, w.n),
		child.Put(w.file, rewards, float32s(w.rows.Rewards, 1), w.n),
		w.file.SetAttribute(rewards, "synthetic", w.rows.Synthetic))
}

// writeArms writes the states and actions of all arms.
func (w *episodeWriter) writeArms() error {
	names := map[string]bool{}
	for i := range w.rows.Arms {
		a := &w.rows.Arms[i]
		name := pathName(a.Arm.Name)
		if names[name] {
			return fmt.Errorf("two arms have the name %s", name)
		}
		names[name] = true
		if err := w.writeArm(name, a); err != nil {
			return err
		}
	}
	return nil
}

// writeArm writes the states and actions of an arm to the groups with the given name.
func (w *episodeWriter) writeArm(name string, a *episode.ArmRows) error {
	state, actions := w.root+"/observations/state/"+name, w.root+"/actions/"+name
	for _, group := range []string{state, actions} {
		attributes := map[string]any{"name": a.Arm.Name, "device": string(a.Arm.Device)}
		err := w.file.MakeGroup(group)
		if err == nil {
			err = setAttributes(w.file, group, attributes)
		}
		if err != nil {
			return err
		}
	}
	for i, v := range a.Streams {
		if v == nil {
			continue
		}
		role := episode.Role(i)
		path := state + "/" + role.String()
		if role != role.Base() {
			path = actions + "/" + role.Base().String()
		}
		if err := w.writeStream(path, role, v, a.ActionSources[role]); err != nil {
			return err
		}
	}
	if r := a.Arm.GripperRange; r != [2]float64{} && a.Streams[episode.Gripper] != nil {
		return w.file.SetAttribute(state+"/gripper", "range", marshal(r))
	}
	return nil
}

// writeStream writes a stream of an arm to a dataset at path. It converts joints to the unit of the options.
func (w *episodeWriter) writeStream(path string, role episode.Role, v *align.Vector, actionSource string) error {
	factor, unit := 1.0, units(v.Columns)
	if role.Base() == episode.Joint {
		factor = episode.UnitFactor(unit, w.options.JointUnit)
		if factor != 1 {
			unit = w.options.JointUnit
		}
	}
	if err := w.putVector(path, v, factor, unit); err != nil || actionSource == "" {
		return err
	}
	return w.file.SetAttribute(path, "action_source", actionSource)
}

// putVector writes a dataset with a vector's values times factor, and attributes that describe the columns.
func (w *episodeWriter) putVector(path string, rows *align.Vector, factor float64, units string) error {
	names, interp := make([]string, len(rows.Columns)), make([]string, len(rows.Columns))
	for i, c := range rows.Columns {
		names[i], interp[i] = c.Name, c.Interp.String()
	}
	attributes := map[string]any{"columns": marshal(names), "interp": marshal(interp), "units": units}
	if rows.Topic != "" {
		attributes["topic"] = rows.Topic
	}
	return errors.Join(
		child.Put(w.file, path, float32s(rows.Values, factor), w.n, len(rows.Columns)),
		setAttributes(w.file, path, attributes))
}

// writeJoinedVectors writes the vectors that join all arms: qpos, qvel, effort and action.
func (w *episodeWriter) writeJoinedVectors() error {
	for _, v := range []struct {
		path string
		join func() (*align.Vector, error)
	}{
		{"/observations/qpos", w.rows.QPos}, {"/observations/qvel", w.rows.QVel},
		{"/observations/effort", w.rows.Effort},
		{"/action", w.rows.Action},
	} {
		rows, err := v.join()
		if err != nil {
			return err
		}
		if rows == nil || len(rows.Columns) == 0 {
			continue
		}
		if err := w.putVector(w.root+v.path, rows, 1, units(rows.Columns)); err != nil {
			return err
		}
	}
	if w.file.Type(w.root+"/action") == h5type.NoObject {
		return nil
	}
	return w.file.SetAttribute(w.root+"/action", "action_source", w.rows.ActionSource)
}

// pathName returns a valid element of a path for a name.
func pathName(name string) string {
	name = strings.NewReplacer("/", "_", "\x00", "_").Replace(strings.Trim(name, "/"))
	if name == "" || name == "." || name == ".." {
		return "_" + name
	}
	return name
}

// imageName returns the name of the dataset of a camera's images: cam_wrist for camera_0, cam_N for camera_N, and the
// name of any other camera.
func imageName(camera string) string {
	number, ok := strings.CutPrefix(camera, "camera_")
	switch {
	case camera == "camera_0":
		return "cam_wrist"
	case ok && number != "" && strings.Trim(number, "0123456789") == "":
		return "cam_" + number
	}
	return pathName(camera)
}
