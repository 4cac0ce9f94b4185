package episode

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
)

// QPos returns the positions of all arms in one vector: for each arm its joints, if it has any, then the opening of its
// gripper, if it has one, from 0 (closed) to 1. Columns are named "arm_0.joint_0" and "arm_0.gripper". Joints in
// degrees become rad. Joints in an unknown unit keep their numbers, and their unit stays unknown.
func (r *Rows) QPos() (*align.Vector, error) {
	v, _, err := r.Join("qpos", Joint, Gripper)
	return v, err
}

// Action returns the actions of all arms, with the columns of QPos.
func (r *Rows) Action() (*align.Vector, error) {
	v, _, err := r.Join("action", CommandJoint, CommandGripper)
	return v, err
}

// QVel returns the velocities of all arms, with the columns of QPos, in the units of QPos per second. Velocities of
// joints are the measured ones if the arm has any. All others are computed from the rows before and after, or after a
// causal alignment from the row before alone; they are then 0 in the first row.
func (r *Rows) QVel() (*align.Vector, error) {
	q, origins, err := r.Join("qpos", Joint, Gripper)
	if err != nil {
		return nil, err
	}
	v := &align.Vector{Name: "qvel", Columns: slices.Clone(q.Columns), Stamps: r.Stamps,
		Values: make([]float64, len(q.Values))}
	n := len(r.Stamps)
	for i := range n {
		from, to := max(i-1, 0), min(i+1, n-1)
		if r.Options.Causal {
			to = i
		}
		seconds := float64(r.Stamps[to]-r.Stamps[from]) / 1e9
		if seconds == 0 {
			continue
		}
		for c, row := 0, v.Row(i); c < len(row); c++ {
			row[c] = (q.Row(to)[c] - q.Row(from)[c]) / seconds
		}
	}
	for c := range v.Columns {
		if unit := &v.Columns[c].Unit; *unit != "" {
			*unit += "/s"
		}
	}
	for i := range r.Arms {
		if a := &r.Arms[i]; a.Streams[Joint] != nil && !absent(a.Arm.Streams[Velocity]) {
			if err := a.replaceJoints(v, origins, Velocity, "velocities"); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// Effort returns the measured efforts of all joints, with the columns of QPos. Grippers have NaN. Effort returns nil if
// an arm has joints without efforts.
func (r *Rows) Effort() (*align.Vector, error) {
	for _, a := range r.Arms {
		if a.Streams[Joint] != nil && a.Streams[Effort] == nil {
			return nil, nil
		}
	}
	v, origins, err := r.Join("effort", Joint, Gripper)
	if err != nil {
		return nil, err
	}
	for c, o := range origins {
		if o.Role != Gripper {
			continue
		}
		v.Columns[c].Unit = ""
		for i := range r.Stamps {
			v.Row(i)[c] = math.NaN()
		}
	}
	for i := range r.Arms {
		if a := &r.Arms[i]; a.Streams[Joint] != nil {
			if err := a.replaceJoints(v, origins, Effort, "efforts"); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// replaceJoints replaces the columns of the arm's joints in v by the columns of the stream of a role. match pairs the
// columns. what names the numbers in an error.
func (a *ArmRows) replaceJoints(v *align.Vector, origins []Origin, role Role, what string) error {
	stream := a.Streams[role]
	order, err := match(a.Streams[Joint].Columns, what, stream.Columns)
	if err != nil {
		return fmt.Errorf("%s of %s: %w", v.Name, a.Arm.Name, err)
	}
	first := slices.Index(origins, Origin{a.Arm.Name, Joint})
	for c, from := range order {
		unit, factor := stream.Columns[from].Unit, 1.0
		if role == Velocity {
			unit, factor = radiansOf(unit), radians(unit)
		}
		column := &v.Columns[first+c]
		column.Unit, column.Interp = unit, stream.Columns[from].Interp
		for i := range v.Stamps {
			v.Row(i)[first+c] = stream.Row(i)[from] * factor
		}
	}
	return nil
}

// Origin is the origin of a column of Rows.Join.
type Origin struct {
	Arm  string `json:"arm"`
	Role Role   `json:"stream"` // of states, also for actions
}

// joinedColumn is a column of Rows.Join: (x - offset) * factor / divisor for each x of a column of rows.
type joinedColumn struct {
	Origin
	align.Column
	rows                    *align.Vector
	from                    int // index of the column of rows
	offset, factor, divisor float64
}

// Join returns the streams of all arms in some roles as one vector, arm by arm, and the origins of its columns. Names
// of columns begin with the name of the arm: "arm_0.joint_0". Joints become rad and come in the order of the states; a
// gripper is one column, its opening from 0 (closed) to 1. Other streams stay as they are.
func (r *Rows) Join(name string, roles ...Role) (*align.Vector, []Origin, error) {
	var columns []joinedColumn
	for i := range r.Arms {
		for _, role := range roles {
			ofRole, err := r.Arms[i].joinedColumns(role)
			if err != nil {
				return nil, nil, fmt.Errorf("%s of %s: %w", name, r.Arms[i].Arm.Name, err)
			}
			columns = append(columns, ofRole...)
		}
	}
	v := &align.Vector{Name: name, Stamps: r.Stamps, Values: make([]float64, len(r.Stamps)*len(columns))}
	var origins []Origin
	for _, c := range columns {
		c.Name = c.Arm + "." + c.Name
		v.Columns, origins = append(v.Columns, c.Column), append(origins, c.Origin)
	}
	for k, c := range columns {
		for i := range r.Stamps {
			v.Row(i)[k] = (c.rows.Row(i)[c.from] - c.offset) * c.factor / c.divisor
		}
	}
	return v, origins, nil
}

// joinedColumns returns the columns of a role for Rows.Join.
func (a *ArmRows) joinedColumns(role Role) ([]joinedColumn, error) {
	rows, origin := a.Streams[role], Origin{a.Arm.Name, role.Base()}
	if rows == nil || (origin.Role == Joint || origin.Role == Gripper) && a.Streams[origin.Role] == nil {
		return nil, nil
	}
	var list []joinedColumn
	switch origin.Role {
	case Joint:
		joints := a.Streams[Joint].Columns
		order, err := match(joints, "actions", rows.Columns)
		if err != nil {
			return nil, err
		}
		for i, from := range order {
			c := rows.Columns[from]
			factor := radians(c.Unit)
			c.Name, c.Unit = joints[i].Name, radiansOf(c.Unit)
			list = append(list, joinedColumn{origin, c, rows, from, 0, factor, 1})
		}
	case Gripper:
		closed, open, err := a.Arm.gripperRange()
		if err != nil {
			return nil, err
		}
		from := gripperColumn(rows.Columns)
		c := align.Column{Name: "gripper", Unit: "1", Interp: rows.Columns[from].Interp}
		list = append(list, joinedColumn{origin, c, rows, from, closed, 1, open - closed})
	default:
		for from, c := range rows.Columns {
			c.Name = strings.TrimPrefix(c.Name, a.Arm.Name+".")
			list = append(list, joinedColumn{origin, c, rows, from, 0, 1, 1})
		}
	}
	return list, nil
}

// match returns for each joint the index of its column in others. It pairs columns by name, as align.Places does, or by
// position if a name is not found.
func match(joints []align.Column, what string, others []align.Column) ([]int, error) {
	if len(joints) != len(others) {
		return nil, fmt.Errorf("%s, but %s of %d", plural.Count(len(joints), "joint"), what, len(others))
	}
	places := align.Places(joints, others)
	if slices.Contains(places, -1) {
		for i := range places {
			places[i] = i
		}
	}
	return places, nil
}

// gripperColumn returns the index of the column with the position of a gripper: the column with a known name, else the
// first one.
func gripperColumn(columns []align.Column) int {
	for _, name := range []string{"position", "pos", "actpos", "width", "opening"} {
		for i, c := range columns {
			if strings.EqualFold(c.Name, name) {
				return i
			}
		}
	}
	return 0
}

// gripperRange returns the closed and the open position of the gripper. If GripperRange is unknown, they are 0 and 1 if
// all positions are within 0 and 1, or 0 and 1000, the range of RealMan's grippers, if all are whole numbers within 0
// and 1000.
func (a *Arm) gripperRange() (closed, open float64, err error) {
	if r := a.GripperRange; r != [2]float64{} {
		if r[0] == r[1] || r[0]-r[0] != 0 || r[1]-r[1] != 0 {
			return 0, 0, fmt.Errorf("invalid gripper range from %v to %v", r[0], r[1])
		}
		return r[0], r[1], nil
	}
	low, high, whole := math.Inf(1), math.Inf(-1), true
	for _, v := range []*align.Vector{a.Streams[Gripper], a.Streams[CommandGripper]} {
		if absent(v) || len(v.Columns) == 0 {
			continue
		}
		for i := gripperColumn(v.Columns); i < len(v.Values); i += len(v.Columns) {
			if x := v.Values[i]; x-x == 0 {
				low, high, whole = min(low, x), max(high, x), whole && x == math.Trunc(x)
			}
		}
	}
	switch {
	case low > high, low >= 0 && high <= 1:
		return 0, 1, nil
	case whole && low >= 0 && high <= 1000:
		return 0, 1000, nil
	}
	return 0, 0, fmt.Errorf("unknown closed and open positions of the gripper, whose positions are from %g to %g: set "+
		"the gripper's "+
		"range", low, high)
}
