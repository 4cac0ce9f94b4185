package episode

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/align"
	"tapedeck/msgs/plural"
)

// QPos returns the positions of all arms in one vector: for each arm its joints, then the opening of its gripper, 0
// (closed) to 1, as far as it has them. Columns are named "arm_0.joint_0" and "arm_0.gripper". Joints in degrees become
// rad; those in an unknown unit stay as they are, and so does their unit.
func (r *Rows) QPos() (*align.Rows, error) {
	return r.compose("qpos", func(a *ArmRows) ([]part, error) { return a.positions(a.Joint, a.Gripper) })
}

// Action returns the actions of all arms, with the columns of QPos.
func (r *Rows) Action() (*align.Rows, error) {
	return r.compose("action", func(a *ArmRows) ([]part, error) { return a.positions(a.ActionJoint, a.ActionGripper) })
}

// QVel returns the velocities of all arms, with the columns of QPos, in the units of QPos for each second. The
// driver measured them, or they are computed from the rows before and after. If alignment was causal they are computed
// from the row before alone, and 0 in the first row.
func (r *Rows) QVel() (*align.Rows, error) {
	q, err := r.QPos()
	if err != nil {
		return nil, err
	}
	v := &align.Rows{Name: "qvel", Columns: slices.Clone(q.Columns), Values: make([]float64, len(q.Values))}
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
	at := 0
	for _, a := range r.Arms {
		if a.Joint != nil && !absent(a.Arm.Velocity) {
			order, err := match(a.Joint.Columns, "velocities", a.Velocity.Columns)
			if err != nil {
				return nil, fmt.Errorf("qvel of %s: %w", a.Arm.Name, err)
			}
			for c, from := range order {
				unit := a.Velocity.Columns[from].Unit
				v.Columns[at+c].Unit = radiansOf(unit)
				for i := range n {
					v.Row(i)[at+c] = a.Velocity.Row(i)[from] * radians(unit)
				}
			}
		}
		at += a.width()
	}
	return v, nil
}

// Effort returns the efforts of all joints as reported by the driver, with the columns of QPos, NaN for grippers. It is
// nil if an arm has joints without efforts.
func (r *Rows) Effort() (*align.Rows, error) {
	for _, a := range r.Arms {
		if a.Joint != nil && a.Effort == nil {
			return nil, nil
		}
	}
	return r.compose("effort", func(a *ArmRows) ([]part, error) {
		parts, err := a.positions(a.Joint, a.Gripper)
		if err != nil {
			return nil, err
		}
		var order []int
		if a.Joint != nil {
			if order, err = match(a.Joint.Columns, "efforts", a.Effort.Columns); err != nil {
				return nil, err
			}
		}
		for i := range parts {
			if p := &parts[i]; p.gripper {
				p.factor, p.unit = math.NaN(), ""
			} else {
				p.rows, p.column, p.factor, p.unit = a.Effort, order[i], 1, a.Effort.Columns[order[i]].Unit
			}
		}
		return parts, nil
	})
}

// part is a column of a vector of all arms: (x - offset) * factor / divisor of a column of an arm.
type part struct {
	name                    string
	unit                    string
	rows                    *align.Rows
	column                  int
	offset, factor, divisor float64
	gripper                 bool
}

// compose returns a vector of the parts of all arms.
func (r *Rows) compose(name string, of func(*ArmRows) ([]part, error)) (*align.Rows, error) {
	var parts []part
	for i := range r.Arms {
		p, err := of(&r.Arms[i])
		if err != nil {
			return nil, fmt.Errorf("%s of %s: %w", name, r.Arms[i].Arm.Name, err)
		}
		parts = append(parts, p...)
	}
	v := &align.Rows{Name: name, Values: make([]float64, len(r.Stamps)*len(parts))}
	for _, p := range parts {
		v.Columns = append(v.Columns, align.Column{Name: p.name, Unit: p.unit, Interp: p.rows.Columns[p.column].Interp})
	}
	for c, p := range parts {
		for i := range r.Stamps {
			v.Row(i)[c] = (p.rows.Row(i)[p.column] - p.offset) * p.factor / p.divisor
		}
	}
	return v, nil
}

// width returns the number of columns of an arm in QPos.
func (a *ArmRows) width() int {
	n := 0
	if a.Joint != nil {
		n = len(a.Joint.Columns)
	}
	if a.Gripper != nil {
		n++
	}
	return n
}

// positions returns the parts for joints and a gripper, of states or of actions.
func (a *ArmRows) positions(joint, gripper *align.Rows) ([]part, error) {
	var parts []part
	if a.Joint != nil {
		order, err := match(a.Joint.Columns, "actions", joint.Columns)
		if err != nil {
			return nil, err
		}
		for i, c := range a.Joint.Columns {
			from := order[i]
			unit := joint.Columns[from].Unit
			parts = append(parts, part{
				name: a.Arm.Name + "." + c.Name, unit: radiansOf(unit), rows: joint, column: from,
				factor: radians(unit), divisor: 1,
			})
		}
	}
	if a.Gripper != nil {
		closed, open, err := a.Arm.gripperRange()
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{
			name: a.Arm.Name + ".gripper", unit: "1", rows: gripper, column: gripperColumn(gripper.Columns),
			offset: closed, factor: 1, divisor: open - closed, gripper: true,
		})
	}
	return parts, nil
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

// radians returns the factor from a unit of angles to rad.
func radians(unit string) float64 {
	if strings.HasPrefix(unit, "deg") {
		return math.Pi / 180
	}
	return 1
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
	for _, v := range []*align.Vector{a.Gripper, a.CommandGripper} {
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
