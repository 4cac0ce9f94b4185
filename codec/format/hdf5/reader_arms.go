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

// armDatasets lists the names and roles of an arm's datasets. If an arm has several datasets with the same role,
// only the first one in this list is read.
var armDatasets = []struct {
	name string
	role episode.Role
}{
	{"pose", episode.Pose}, {"joint", episode.Joint}, {"gripper", episode.Gripper},
	{"end_effector", episode.Gripper}, {"velocity", episode.Velocity}, {"effort", episode.Effort},
}

// readArms reads the states and commands of all arms, and adds the arms to the episode.
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
		json.Unmarshal([]byte(text), &a.GripperRange) //nolint:errcheck // a range that is not JSON is ignored
	}
	return a, nil
}

// readCommand reads the dataset of actions at path as the arm's commands for a role, unless the arm already has such
// commands. It does not read actions that were derived from states, because align derives them again.
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
	// Without the attribute action_source, actions that equal the states count as copies of the states.
	if source == "" && state != nil && slices.Equal(actions.Values, state.Values) {
		r.episode.Table.Action = align.ActionCopy
		return nil
	}
	a.Streams[command] = actions
	return nil
}

// countUnread adds the datasets of a group to Lost, except the datasets named in read.
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

// readVector reads the dataset at path as the stream of an arm for a role. It returns nil if the dataset is missing or
// unreadable.
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

// replaceNaN replaces every NaN by align.Missing, the NaN that marks a missing value.
func replaceNaN(values []float64) {
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = align.Missing()
		}
	}
}

// defaultColumns returns the n columns of a stream in files that do not describe their columns. The columns have
// EasyTeleop's order, in which the columns of grippers are sorted by name. angleUnit is the unit of angles.
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

// readJoinedArms adds the arms of a file in ALOHA's layout to the episode. In this layout, a row of a dataset is the
// concatenation of all arms; an arm is its joints followed by its gripper. The width of a row tells the number of arms:
// a row of 14 is two arms of six joints with grippers, a row of 7 or 8 is one arm with a gripper, and any other row is
// one arm without a gripper.
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
	var vectors [3][]float64 // nil: the dataset is missing, unreadable, or not as wide as qpos
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
	for arm := range arms {
		a := &episode.Arm{Name: fmt.Sprintf("arm_%d", arm)}
		for role, values := range map[episode.Role][]float64{episode.Joint: qpos, episode.Gripper: qpos,
			episode.Velocity: qvel, episode.Effort: effort,
			episode.CommandJoint: action, episode.CommandGripper: action} {
			isGripper := role.Base() == episode.Gripper
			if values == nil || isGripper && !hasGripper {
				continue
			}
			first, n := arm*(width/arms), joints // the role's values in a row: the first, and their number
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

// readJoinedVector reads a dataset of ALOHA's layout. path is relative to the root of the episode. columns is 0 if the
// dataset is missing or unreadable.
func (r *episodeReader) readJoinedVector(path string) (values []float64, columns int, err error) {
	if r.file.Type(r.root+path) != h5type.DatasetObject {
		return nil, 0, nil
	}
	values, columns, err = r.readNumbers(r.root + path)
	replaceNaN(values)
	return values, columns, err
}
