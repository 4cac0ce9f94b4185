package episode

import (
	"slices"
	"strconv"

	"tapedeck/codec/training/align"
)

// Role is the meaning of a stream of an arm.
type Role uint8

// The roles, in the order in which streams of arms are listed.
const (
	Pose     Role = iota // pose of the tool: x, y, z in m and rx, ry, rz in rad, or a quaternion
	Joint                // joint positions, in the unit of the columns
	Gripper              // gripper state, in the device's own columns
	Velocity             // joint velocities, in the order of Joint
	Effort               // joint efforts, in the order of Joint
	// Commands to the arm. In rows they are actions.
	CommandPose
	CommandJoint
	CommandGripper
	Roles // number of roles
)

// RoleNames are the names of the roles. The name of a vector is the arm's name, a slash and the name of its role.
var RoleNames = [Roles]string{
	"pose", "joint", "gripper", "velocity", "effort", "command/pose", "command/joint", "command/gripper",
}

// String returns the name of the role.
func (r Role) String() string { return RoleNames[r] }

// Base returns the role of the states that r commands. It is r if r is no command.
func (r Role) Base() Role {
	if r >= CommandPose {
		return r - CommandPose
	}
	return r
}

// MarshalText implements encoding.TextMarshaler.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. An unknown name becomes Roles.
func (r *Role) UnmarshalText(name []byte) error {
	*r = Roles
	if i := slices.Index(RoleNames[:], string(name)); i >= 0 {
		*r = Role(i)
	}
	return nil
}

// Command returns the role of the commands for r, and false if there is none.
func (r Role) Command() (Role, bool) { return r + CommandPose, r < Velocity }

// Unit returns the unit of a stream of role r if angles are in the given unit; "" if the stream has no angles.
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

// Column returns a column of a stream of role r. Poses are in m and rad, whatever unit is.
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

// ColumnName returns a name for the i-th of n nameless columns of a stream of role r.
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
