package episode

import (
	"slices"
	"strconv"

	"tapedeck/codec/training/align"
)

// Role is what a stream is of an arm.
type Role uint8

// The roles, in the order in which streams of arms are listed.
const (
	Pose     Role = iota // of the tool: x, y, z in m and rx, ry, rz in rad, or a quaternion
	Joint                // in the unit of its columns
	Gripper              // its columns are the device's own
	Velocity             // of the joints, in the order of Joint
	Effort               // of the joints, in the order of Joint
	// The commands to the arm. In rows they are its actions.
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

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. A name that is not known becomes Roles.
func (r *Role) UnmarshalText(name []byte) error {
	*r = Roles
	if i := slices.Index(RoleNames[:], string(name)); i >= 0 {
		*r = Role(i)
	}
	return nil
}

// Command returns the role of the commands for r, and false if there is none.
func (r Role) Command() (Role, bool) { return r + CommandPose, r < Velocity }

// Unit returns the unit of the numbers of that role if angles have the given unit; "" if they are not angles.
func (r Role) Unit(angle string) string {
	switch {
	case angle == "":
	case r.Base() == Joint:
		return angle
	case r == Velocity:
		return angle + "/s"
	}
	return ""
}

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
