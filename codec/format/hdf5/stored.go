package hdf5

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// period is the time between rows in ns, as in ALOHA, if a file has no times.
const period = 20_000_000

// episode reads an episode without its images. The datasets of an episode should have equal lengths. If the writer of
// the file was killed, lengths may differ; then episode reads only the rows that all datasets have.
func (s *source) episode(root string) (*stored, error) {
	at := rootOf(root)
	e := &stored{root: at, Episode: &episode.Episode{
		Name: s.name(root), Task: s.text(at, "task"), Metadata: object(s.text(at, "metadata")),
		Table: &episode.Table{},
	}}
	e.Start, _ = s.file.Attribute(at, "start_ns").(int64)
	e.End, _ = s.file.Attribute(at, "end_ns").(int64)
	if success, ok := s.file.Attribute(at, "success").(int64); ok {
		done := success != 0
		e.Success = &done
	}
	devices := map[string]json.RawMessage{}
	if text := s.text("/metadata", "devices"); text != "" {
		json.Unmarshal([]byte(text), &devices) //nolint:errcheck // ignored unless it is JSON
	}

	s.at = at
	stamps, err := s.stamps(root)
	if err != nil {
		return nil, err
	}
	if len(stamps) == 0 {
		stamps = nil
	}
	lengths := map[string]int{}
	if stamps != nil {
		lengths["timestamps"] = len(stamps)
	}
	if err := s.arms(e, root, devices, lengths); err != nil {
		return nil, err
	}
	pictures, err := s.pictures(root, lengths)
	if err == nil && len(pictures) == 0 && len(e.Arms) == 0 {
		err = s.leftOut[at]
	}
	if err != nil {
		return nil, err
	}
	if len(lengths) > 0 {
		e.rows = slices.Min(slices.Collect(maps.Values(lengths)))
	}
	for path, n := range lengths {
		if n > e.rows {
			s.Damage = append(s.Damage, fmt.Errorf("read %s: %s of %s has %s, others only %d, which are read", s.path,
				path, at, plural.Count(n, "row"), e.rows))
		}
	}
	slices.SortFunc(s.Damage, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })

	if len(stamps) > 0 {
		e.start = stamps[0]
	}
	if stamps == nil {
		stamps = make([]int64, e.rows)
		for i := range stamps {
			stamps[i] = s.base + int64(i)*period
		}
		s.base += int64(e.rows) * period
	}
	stamps = stamps[:e.rows]
	e.Table.Stamps = stamps
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v != nil {
				v.Stamps, v.Values = stamps, v.Values[:e.rows*len(v.Columns)]
			}
		}
	}
	for _, p := range pictures {
		c, frames, err := p.camera(stamps, devices)
		if err != nil {
			return nil, err
		}
		c.Name = p.unlike(e.Cameras)
		e.Cameras, e.Table.Frames = append(e.Cameras, c), append(e.Table.Frames, frames)
	}
	return e, nil
}

// leave adds a dataset that is left out because of err to Damage and Lost.
func (s *source) leave(path, what string, err error) {
	s.Damage = append(s.Damage, fmt.Errorf("read %s: %s is left out: %w", s.path, path, err))
	s.Lost.Add(path, what+" that cannot be read", 0)
	s.leftOut[s.at] = cmp.Or(s.leftOut[s.at], err)
}

// stream reads the numbers of a stream, and adds their number of rows to lengths. columns is 0 if the stream is left
// out.
func (s *source) stream(path string, lengths map[string]int) (values []float64, columns int, err error) {
	values, rows, columns, err := s.numbers(path)
	if failed := s.file.Err(); failed != nil {
		return nil, 0, failed
	}
	if err == nil && rows == 0 {
		err = errors.New("it has no rows")
	}
	if err != nil {
		s.leave(path, "datasets", err)
		return nil, 0, nil
	}
	lengths[path] = rows
	return values, columns, nil
}

// unlike returns a name for the camera that no other camera of the episode has. The datasets of colours and depths of
// one camera often have one name.
func (p *pictures) unlike(others []*episode.Camera) string {
	names := []string{p.label, p.name}
	if strings.Contains(p.path, depthGroup) {
		names = append(names, p.name+"_depth")
	}
	for i := 0; ; i++ {
		if i >= len(names) {
			names = append(names, fmt.Sprintf("%s_%d", p.name, i))
		}
		if !slices.ContainsFunc(others, func(c *episode.Camera) bool { return c.Name == names[i] }) {
			return names[i]
		}
	}
}

// object returns text if it is a JSON object, else nil.
func object(text string) json.RawMessage {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// stamps returns the times of rows; nil if unknown.
func (s *source) stamps(root string) ([]int64, error) {
	for _, path := range []string{"/actions/timestamps", "/observations/timestamps", "/timestamps"} {
		stamps, err := s.times(root + path)
		if stamps != nil || err != nil {
			return stamps, err
		}
	}
	return nil, nil
}

// times reads times in ns from a dataset next to path, or else in seconds from path. It returns nil if there are none.
func (s *source) times(path string) ([]int64, error) {
	if s.file.Type(path+"_ns") == h5.Set {
		return integers(s.file, path+"_ns")
	}
	if s.file.Type(path) != h5.Set {
		return nil, nil
	}
	values, rows, _, err := s.numbers(path)
	if err != nil || len(values) != rows {
		return nil, err
	}
	stamps := make([]int64, len(values))
	for i, v := range values {
		if !(math.Abs(v) < math.MaxInt64/1e9) {
			return nil, fmt.Errorf("%s: row %d has the time %v", path, i, v)
		}
		stamps[i] = int64(math.Round(v*1e6)) * 1000 // a float64 has today's seconds to about 1 µs
	}
	return stamps, nil
}

func integers(f *child.File, path string) ([]int64, error) {
	set, err := f.Dataset(path)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if len(set.Dims) != 1 {
		return nil, fmt.Errorf("%s: unexpected shape %v", path, set.Dims)
	}
	values, err := set.Integers()
	if values == nil && err == nil {
		values = []int64{}
	}
	return values, err
}

// numbers reads a dataset of one or two dimensions.
func (s *source) numbers(path string) (values []float64, rows, columns int, err error) {
	set, err := s.file.Dataset(path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer set.Close()
	switch len(set.Dims) {
	case 1:
		rows, columns = set.Dims[0], 1
	case 2:
		rows, columns = set.Dims[0], set.Dims[1]
	default:
		return nil, 0, 0, fmt.Errorf("%s: unexpected shape %v", path, set.Dims)
	}
	values, err = set.Doubles()
	return values, rows, columns, err
}

// armSets are the datasets of an arm. The first one that exists for a role counts.
var armSets = []struct {
	name string
	role episode.Role
}{
	{"pose", episode.Pose}, {"joint", episode.Joint}, {"gripper", episode.Gripper},
	{"end_effector", episode.Gripper}, {"velocity", episode.Velocity}, {"effort", episode.Effort},
}

// arms reads states and commands of the arms.
func (s *source) arms(e *stored, root string, devices map[string]json.RawMessage, lengths map[string]int) error {
	state := root + "/observations/state"
	var names []string
	var err error
	if s.file.Type(state) == h5.Group {
		names, err = s.file.List(state)
		if err != nil {
			return err
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return s.file.Type(state+"/"+name) != h5.Group })
	if len(names) == 0 {
		return s.aloha(e, root, lengths)
	}
	var known []string
	for _, set := range armSets {
		known = append(known, set.name)
	}
	for _, name := range names {
		if err := s.unread(state+"/"+name, known...); err != nil {
			return err
		}
		a := &episode.Arm{Name: name, Device: devices[name]}
		if own := s.text(state+"/"+name, "name"); own != "" {
			a.Name = own
		}
		if device := object(s.text(state+"/"+name, "device")); device != nil {
			a.Device = device
		}
		for _, set := range armSets {
			path := "/" + name + "/" + set.name
			to := &a.Streams[set.role]
			if *to == nil {
				*to, err = s.vector(a.Name, state+path, set.role, lengths)
				if err != nil {
					return err
				}
			}
			command, ok := set.role.Command()
			if !ok || a.Streams[command] != nil {
				continue
			}
			actions := root + "/actions" + path
			source := s.text(actions, "action_source")
			if source != "" && source != align.ActionCommand {
				e.Table.Action = source
				continue
			}
			told, err := s.vector(a.Name, actions, command, lengths)
			if err != nil {
				return err
			}
			// Actions that equal the states are copies of them, unless action_source says otherwise.
			if told != nil && (source != "" || *to == nil || !slices.Equal(told.Values, (*to).Values)) {
				a.Streams[command] = told
			} else if told != nil {
				e.Table.Action = align.ActionCopy
			}
		}
		if text := s.text(state+"/"+name+"/gripper", "range"); text != "" {
			json.Unmarshal([]byte(text), &a.GripperRange) //nolint:errcheck // ignored unless it is JSON
		}
		e.Arms = append(e.Arms, a)
	}
	return nil
}

// unread counts the datasets of a group that are not read as losses.
func (s *source) unread(group string, read ...string) error {
	if s.file.Type(rootOf(group)) != h5.Group {
		return nil
	}
	names, err := s.file.List(rootOf(group))
	for _, name := range names {
		if path := group + "/" + name; !slices.Contains(read, name) && s.file.Type(path) == h5.Set {
			s.Lost.Add(path, "datasets that are not read", 0)
		}
	}
	return err
}

// vector reads a stream; nil if it is missing.
func (s *source) vector(arm, path string, role episode.Role, lengths map[string]int) (*align.Vector, error) {
	if s.file.Type(path) != h5.Set {
		return nil, nil
	}
	values, columns, err := s.stream(path, lengths)
	if err != nil || columns == 0 {
		return nil, err
	}
	v := &align.Vector{Name: arm + "/" + role.String(), Topic: s.text(path, "topic"),
		Columns: standard(role, columns, "deg"), Values: values}
	var names []string
	if json.Unmarshal([]byte(s.text(path, "columns")), &names) == nil && len(names) == columns {
		for i, name := range names {
			v.Columns[i].Name = name
		}
	}
	var interp []align.Interp
	if json.Unmarshal([]byte(s.text(path, "interp")), &interp) == nil && len(interp) == columns {
		for i, k := range interp {
			v.Columns[i].Interp = k
		}
	}
	if units, ok := s.file.Attribute(path, "units").(string); ok {
		var each []string
		different := json.Unmarshal([]byte(units), &each) == nil && len(each) == columns
		for i := range v.Columns {
			v.Columns[i].Unit = units
			if different {
				v.Columns[i].Unit = each[i]
			}
		}
	}
	missing(v.Values)
	return v, nil
}

// missing replaces NaN by align.Missing.
func missing(values []float64) {
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = align.Missing()
		}
	}
}

// standard returns EasyTeleop's columns of a stream, for files that do not describe the columns. The columns of
// grippers are in alphabetical order. angle is the unit of angles.
func standard(role episode.Role, n int, angle string) []align.Column {
	columns := make([]align.Column, n)
	names := map[int][]string{1: {"position"}, 3: {"force", "position", "status"}}[n]
	for i := range columns {
		name := role.ColumnName(i, n)
		if role.Base() == episode.Gripper && names != nil {
			name = names[i]
		}
		columns[i] = role.Column(name, role.Unit(angle))
	}
	return columns
}

// aloha reads vectors that join all arms. Each arm has joints and a gripper. There are two arms of six joints, or one
// arm of any number of joints.
func (s *source) aloha(e *stored, root string, lengths map[string]int) error {
	read := func(path string) ([]float64, int, error) {
		if s.file.Type(path) != h5.Set {
			return nil, 0, nil
		}
		values, columns, err := s.stream(path, lengths)
		missing(values)
		return values, columns, err
	}
	err := errors.Join(s.unread(root, "action", "compress_len", "timestamps", "timestamps_ns"),
		s.unread(root+"/observations", "qpos", "qvel", "effort", "timestamps", "timestamps_ns"))
	if err != nil {
		return err
	}
	qpos, width, err := read(root + "/observations/qpos")
	if err != nil || width == 0 {
		return err
	}
	arms, joints, gripper := 1, width, false
	switch width {
	case 14:
		arms, joints, gripper = 2, 6, true
	case 7, 8:
		joints, gripper = width-1, true
	}
	others := map[string][]float64{}
	for _, path := range []string{"/observations/qvel", "/observations/effort", "/action"} {
		values, columns, err := read(root + path)
		if err != nil {
			return err
		}
		if columns == width {
			others[path] = values
		} else if columns > 0 {
			s.Lost.Add(root+path, "datasets of another width than qpos, which are not read", 0)
		}
	}
	for k := range arms {
		a := &episode.Arm{Name: fmt.Sprintf("arm_%d", k)}
		for role, values := range map[episode.Role][]float64{episode.Joint: qpos, episode.Gripper: qpos,
			episode.Velocity: others["/observations/qvel"], episode.Effort: others["/observations/effort"],
			episode.CommandJoint: others["/action"], episode.CommandGripper: others["/action"]} {
			from, n, ofGripper := k*(width/arms), joints, role.Base() == episode.Gripper
			if values == nil || ofGripper && !gripper {
				continue
			}
			if ofGripper {
				from, n = from+joints, 1
			}
			v := &align.Vector{Name: a.Name + "/" + role.String(), Columns: standard(role, n, "rad")}
			for row := from; row < len(values); row += width {
				v.Values = append(v.Values, values[row:row+n]...)
			}
			a.Streams[role] = v
		}
		e.Arms = append(e.Arms, a)
	}
	return nil
}
