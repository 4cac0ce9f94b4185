package hdf5

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// armDatasets are the names and roles of an arm's datasets. If an arm has several datasets of one role, only the first
// of them in this order is read.
var armDatasets = []struct {
	name string
	role episode.Role
}{
	{"pose", episode.Pose}, {"joint", episode.Joint}, {"gripper", episode.Gripper},
	{"end_effector", episode.Gripper}, {"velocity", episode.Velocity}, {"effort", episode.Effort},
}

// readArms adds the arms with their states and commands to the episode.
func (r *episodeReader) readArms() error {
	states := r.root + "/observations/state"
	var names []string
	if r.file.Type(states) == h5type.GroupObject {
		var err error
		names, err = r.file.List(states)
		if err != nil {
			return err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return r.file.Type(states+"/"+name) != h5type.GroupObject
	})
	if len(names) == 0 {
		return r.readJoinedArms()
	}
	var datasets []string
	for _, d := range armDatasets {
		datasets = append(datasets, d.name)
	}
	for _, name := range names {
		if err := r.countUnread(states+"/"+name, datasets...); err != nil {
			return err
		}
		a, err := r.readArm(name)
		if err != nil {
			return err
		}
		r.episode.Arms = append(r.episode.Arms, a)
	}
	return nil
}

// readArm reads the arm whose groups have the given name.
func (r *episodeReader) readArm(name string) (*episode.Arm, error) {
	state, actions := r.root+"/observations/state/"+name, r.root+"/actions/"+name
	a := &episode.Arm{Name: name, Device: r.devices[name]}
	if attribute := r.text(state, "name"); attribute != "" {
		a.Name = attribute
	}
	if device := jsonObject(r.text(state, "device")); device != nil {
		a.Device = device
	}
	for _, d := range armDatasets {
		if a.Streams[d.role] == nil {
			var err error
			a.Streams[d.role], err = r.readVector(a.Name, state+"/"+d.name, d.role)
			if err != nil {
				return nil, err
			}
		}
		if err := r.readCommand(a, actions+"/"+d.name, d.role); err != nil {
			return nil, err
		}
	}
	if text := r.text(state+"/gripper", "range"); text != "" {
		json.Unmarshal([]byte(text), &a.GripperRange) //nolint:errcheck // ignored unless it is JSON
	}
	return a, nil
}

// readCommand reads the dataset of actions at path as the command to the stream of a role, unless the arm has that
// command. Actions that were made of states are not read, because aligning makes them again.
func (r *episodeReader) readCommand(a *episode.Arm, path string, role episode.Role) error {
	command, ok := role.Command()
	if !ok || a.Streams[command] != nil {
		return nil
	}
	source := r.text(path, "action_source")
	if source != "" && source != align.ActionCommand {
		r.episode.Table.Action = source
		return nil
	}
	actions, err := r.readVector(a.Name, path, command)
	if err != nil || actions == nil {
		return err
	}
	state := a.Streams[role]
	// Actions without action_source that equal the states are copies of the states.
	if source == "" && state != nil && slices.Equal(actions.Values, state.Values) {
		r.episode.Table.Action = align.ActionCopy
		return nil
	}
	a.Streams[command] = actions
	return nil
}

// countUnread adds the datasets of a group to Lost, except those with names in read.
func (r *episodeReader) countUnread(group string, read ...string) error {
	if r.file.Type(groupPath(group)) != h5type.GroupObject {
		return nil
	}
	names, err := r.file.List(groupPath(group))
	for _, name := range names {
		path := group + "/" + name
		if !slices.Contains(read, name) && r.file.Type(path) == h5type.DatasetObject {
			r.Lost.Add(path, "datasets that are not read", 0)
		}
	}
	return err
}

// readVector reads a stream of an arm. It returns nil if the dataset is missing or unreadable.
func (r *episodeReader) readVector(arm, path string, role episode.Role) (*align.Vector, error) {
	if r.file.Type(path) != h5type.DatasetObject {
		return nil, nil
	}
	values, columns, err := r.readNumbers(path)
	if err != nil || columns == 0 {
		return nil, err
	}
	v := &align.Vector{Name: arm + "/" + role.String(), Topic: r.text(path, "topic"),
		Columns: defaultColumns(role, columns, "deg"), Values: values}
	var names []string
	if json.Unmarshal([]byte(r.text(path, "columns")), &names) == nil && len(names) == columns {
		for i, name := range names {
			v.Columns[i].Name = name
		}
	}
	var interp []align.Interp
	if json.Unmarshal([]byte(r.text(path, "interp")), &interp) == nil && len(interp) == columns {
		for i, k := range interp {
			v.Columns[i].Interp = k
		}
	}
	// The attribute is one unit for all columns, or a JSON array with a unit for each column.
	if text, ok := r.file.Attribute(path, "units").(string); ok {
		var units []string
		perColumn := json.Unmarshal([]byte(text), &units) == nil && len(units) == columns
		for i := range v.Columns {
			v.Columns[i].Unit = text
			if perColumn {
				v.Columns[i].Unit = units[i]
			}
		}
	}
	replaceNaN(v.Values)
	return v, nil
}

// replaceNaN replaces NaN by align.Missing.
func replaceNaN(values []float64) {
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = align.Missing()
		}
	}
}

// defaultColumns returns EasyTeleop's n columns of a stream, for files that do not describe the columns. EasyTeleop
// sorts the columns of grippers by name. angleUnit is the unit of angles.
func defaultColumns(role episode.Role, n int, angleUnit string) []align.Column {
	columns := make([]align.Column, n)
	gripperNames := map[int][]string{1: {"position"}, 3: {"force", "position", "status"}}[n]
	for i := range columns {
		name := role.ColumnName(i, n)
		if role.Base() == episode.Gripper && gripperNames != nil {
			name = gripperNames[i]
		}
		columns[i] = role.Column(name, role.Unit(angleUnit))
	}
	return columns
}

// readJoinedArms adds the arms of a file in ALOHA's layout to the episode. Its vectors join the values of all arms: for
// each arm, the joints and the gripper. There are two arms of six joints, or one arm of any number of joints.
func (r *episodeReader) readJoinedArms() error {
	err := errors.Join(r.countUnread(r.root, "action", "compress_len", "timestamps", "timestamps_ns"),
		r.countUnread(r.root+"/observations", "qpos", "qvel", "effort", "timestamps", "timestamps_ns"))
	if err != nil {
		return err
	}
	qpos, width, err := r.readJoinedVector("/observations/qpos")
	if err != nil || width == 0 {
		return err
	}
	var vectors [3][]float64
	for i, path := range []string{"/observations/qvel", "/observations/effort", "/action"} {
		values, columns, err := r.readJoinedVector(path)
		if err != nil {
			return err
		}
		if columns == width {
			vectors[i] = values
		} else if columns > 0 {
			r.Lost.Add(r.root+path, "datasets of another width than qpos, which are not read", 0)
		}
	}
	qvel, effort, action := vectors[0], vectors[1], vectors[2]
	arms, joints, hasGripper := 1, width, false
	switch width {
	case 14:
		arms, joints, hasGripper = 2, 6, true
	case 7, 8:
		joints, hasGripper = width-1, true
	}
	for k := range arms {
		a := &episode.Arm{Name: fmt.Sprintf("arm_%d", k)}
		for role, values := range map[episode.Role][]float64{episode.Joint: qpos, episode.Gripper: qpos,
			episode.Velocity: qvel, episode.Effort: effort,
			episode.CommandJoint: action, episode.CommandGripper: action} {
			first, n, isGripper := k*(width/arms), joints, role.Base() == episode.Gripper
			if values == nil || isGripper && !hasGripper {
				continue
			}
			if isGripper {
				first, n = first+joints, 1
			}
			v := &align.Vector{Name: a.Name + "/" + role.String(), Columns: defaultColumns(role, n, "rad")}
			for at := first; at < len(values); at += width {
				v.Values = append(v.Values, values[at:at+n]...)
			}
			a.Streams[role] = v
		}
		r.episode.Arms = append(r.episode.Arms, a)
	}
	return nil
}

// readJoinedVector reads a vector of an episode that joins all arms. columns is 0 if the dataset is missing or
// unreadable.
func (r *episodeReader) readJoinedVector(path string) (values []float64, columns int, err error) {
	if r.file.Type(r.root+path) != h5type.DatasetObject {
		return nil, 0, nil
	}
	values, columns, err = r.readNumbers(r.root + path)
	replaceNaN(values)
	return values, columns, err
}
