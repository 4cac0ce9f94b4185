package episode

import (
	"strconv"

	"tapedeck/codec/align"
)

// Role is what a stream is of an arm.
type Role uint8

// The roles, in the order in which streams of arms are listed.
const (
	Pose Role = iota
	Joint
	Gripper
	Velocity
	Effort
	CommandPose
	CommandJoint
	CommandGripper
	Roles // how many there are
)

// RoleNames are the names of the roles, as they follow that of the arm in the names of vectors.
var RoleNames = [Roles]string{
	"pose", "joint", "gripper", "velocity", "effort", "command/pose", "command/joint", "command/gripper",
}

// String returns the name of the role.
func (r Role) String() string { return RoleNames[r] }

// Base returns the role of which r is the command, or else r.
func (r Role) Base() Role {
	if r >= CommandPose {
		return r - CommandPose
	}
	return r
}

// Of returns where a has its stream of that role.
func (r Role) Of(a *Arm) **align.Vector { return a.streams()[r] }

// Column returns the column of a name in a stream of that role. Poses are in m and rad.
func (r Role) Column(name, unit string) align.Column {
	c := align.Column{Name: name, Unit: unit}
	switch r.Base() {
	case Pose:
		switch name {
		case "x", "y", "z":
			c.Unit, c.Interp = "m", align.Linear
		case "rx", "ry", "rz":
			c.Unit, c.Interp = "rad", align.Euler
		case "qx", "qy", "qz", "qw":
			c.Interp = align.Quaternion
		}
	case Joint, Velocity, Effort:
		c.Interp = align.Linear
	}
	return c
}

// ColumnName returns the name of the i-th of n numbers that have none, in a stream of that role.
func (r Role) ColumnName(i, n int) string {
	switch base := r.Base(); {
	case base == Gripper:
		return strconv.Itoa(i)
	case base != Pose:
		return "joint_" + strconv.Itoa(i)
	case n == 6:
		return []string{"x", "y", "z", "rx", "ry", "rz"}[i]
	case n == 7:
		return []string{"x", "y", "z", "qx", "qy", "qz", "qw"}[i]
	}
	return "pose_" + strconv.Itoa(i)
}
