package episode

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
)

// QPos returns the positions of all arms in one vector: for each arm its joints, then the opening of its gripper, 0
// (closed) to 1, as far as it has them. Columns are named "arm_0.joint_0" and "arm_0.gripper". Joints in degrees become
// rad; those in an unknown unit stay as they are, and so does their unit.
func (r *Rows) QPos() (*align.Vector, error) {
	v, _, err := r.Join("qpos", Joint, Gripper)
	return v, err
}

// Action returns the actions of all arms, with the columns of QPos.
func (r *Rows) Action() (*align.Vector, error) {
	v, _, err := r.Join("action", CommandJoint, CommandGripper)
	return v, err
}

// QVel returns the velocities of all arms, with the columns of QPos, in the units of QPos for each second. The
// driver measured them, or they are computed from the rows before and after. If alignment was causal they are computed
// from the row before alone, and 0 in the first row.
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

// Effort returns the efforts of all joints as reported by the driver, with the columns of QPos, NaN for grippers. It is
// nil if an arm has joints without efforts.
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

// replaceJoints puts the columns of another stream in place of the joints of the arm in v, as match pairs them.
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

// Origin is where a column of Rows.Join comes from.
type Origin struct {
	Arm  string `json:"arm"`
	Role Role   `json:"stream"` // the action of a role has that of the state
}

// source is a column of Rows.Join: (x - offset) * factor / divisor of a column of rows.
type source struct {
	Origin
	align.Column
	rows                    *align.Vector
	from                    int
	offset, factor, divisor float64
}

// Join returns the streams of all arms in some roles as one vector, arm by arm, and the origins of its columns. Their
// names begin with that of the arm: "arm_0.joint_0". Joints become rad and come in the order of the states; a gripper
// is one column, its opening from 0 (closed) to 1. Other streams stay as they are.
func (r *Rows) Join(name string, roles ...Role) (*align.Vector, []Origin, error) {
	var sources []source
	for i := range r.Arms {
		for _, role := range roles {
			of, err := r.Arms[i].sources(role)
			if err != nil {
				return nil, nil, fmt.Errorf("%s of %s: %w", name, r.Arms[i].Arm.Name, err)
			}
			sources = append(sources, of...)
		}
	}
	v := &align.Vector{Name: name, Stamps: r.Stamps, Values: make([]float64, len(r.Stamps)*len(sources))}
	var origins []Origin
	for _, s := range sources {
		s.Name = s.Arm + "." + s.Name
		v.Columns, origins = append(v.Columns, s.Column), append(origins, s.Origin)
	}
	for c, s := range sources {
		for i := range r.Stamps {
			v.Row(i)[c] = (s.rows.Row(i)[s.from] - s.offset) * s.factor / s.divisor
		}
	}
	return v, origins, nil
}

// sources returns the columns of a role for Rows.Join.
func (a *ArmRows) sources(role Role) ([]source, error) {
	rows, origin := a.Streams[role], Origin{a.Arm.Name, role.Base()}
	if rows == nil || (origin.Role == Joint || origin.Role == Gripper) && a.Streams[origin.Role] == nil {
		return nil, nil
	}
	var list []source
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
			list = append(list, source{origin, c, rows, from, 0, factor, 1})
		}
	case Gripper:
		closed, open, err := a.Arm.gripperRange()
		if err != nil {
			return nil, err
		}
		from := gripperColumn(rows.Columns)
		c := align.Column{Name: "gripper", Unit: "1", Interp: rows.Columns[from].Interp}
		list = append(list, source{origin, c, rows, from, closed, 1, open - closed})
	default:
		for from, c := range rows.Columns {
			c.Name = strings.TrimPrefix(c.Name, a.Arm.Name+".")
			list = append(list, source{origin, c, rows, from, 0, 1, 1})
		}
	}
	return list, nil
}

// match returns for each joint the index of its column among others: by name, as align.Places, if all names match, else
// by position.
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

// gripperColumn returns the index of the position of a gripper: a column of a known name, else the first one.
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

// gripperRange returns the closed and open position of the gripper: GripperRange, or else 0 and 1 if all positions are
// within, or 0 and 1000, as for RealMan's, if all are whole numbers within.
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
