package session

import (
	"fmt"
	"strconv"

	"tapedeck/codec/align"
	"tapedeck/codec/episode"
)

// Stream is one of the tables of an arm.
type Stream uint8

// The streams of an arm.
const (
	Pose Stream = iota
	Joint
	Gripper
	Velocity
	Effort
	CommandPose
	CommandJoint
	CommandGripper
	streams
)

// endEffector is what EasyTeleop calls the table that it documents as grippers.csv.
const endEffector = "end_effector.csv"

var (
	streamNames = [streams]string{"pose", "joint", "gripper", "velocity", "effort", "command/pose", "command/joint",
		"command/gripper"}
	fileNames = [streams]string{"poses.csv", "joints.csv", "grippers.csv", "velocities.csv", "efforts.csv",
		"command_poses.csv", "command_joints.csv", "command_grippers.csv"}
)

// String returns the name, as behind that of the arm in the names of vectors.
func (s Stream) String() string { return streamNames[s] }

// of returns where an arm has the stream.
func (s Stream) of(a *episode.Arm) **align.Vector {
	return [streams]**align.Vector{&a.Pose, &a.Joint, &a.Gripper, &a.Velocity, &a.Effort, &a.CommandPose, &a.CommandJoint,
		&a.CommandGripper}[s]
}

// column returns what the i-th of n columns of a stream is, whose index in the table is given.
func (s Stream) column(i, n int, index string, jointUnit string) align.Column {
	if _, numbered := wholeIndex(index); !numbered {
		return align.Column{Name: index}
	}
	switch s {
	case Pose, CommandPose:
		switch {
		case i < 3 && (n == 6 || n == 7):
			return align.Column{Name: []string{"x", "y", "z"}[i], Unit: "m", Interp: align.Linear}
		case n == 6:
			return align.Column{Name: []string{"rx", "ry", "rz"}[i-3], Unit: "rad", Interp: align.Euler}
		case n == 7:
			return align.Column{Name: []string{"qx", "qy", "qz", "qw"}[i-3], Interp: align.Quaternion}
		}
		return align.Column{Name: fmt.Sprintf("pose_%d", i)}
	case Joint, CommandJoint:
		return align.Column{Name: fmt.Sprintf("joint_%d", i), Unit: jointUnit, Interp: align.Linear}
	case Velocity:
		return align.Column{Name: fmt.Sprintf("joint_%d", i), Unit: jointUnit + "/s", Interp: align.Linear}
	case Effort:
		return align.Column{Name: fmt.Sprintf("joint_%d", i), Interp: align.Linear}
	}
	return align.Column{Name: index}
}

// key returns the index in the table of the i-th column.
func (s Stream) key(i int, c *align.Column) string {
	if s.ofGripper() {
		return c.Name
	}
	return strconv.Itoa(i)
}

// ofGripper reports whether the columns are a gripper's own.
func (s Stream) ofGripper() bool { return s == Gripper || s == CommandGripper }

// ofPose reports whether the columns are a pose.
func (s Stream) ofPose() bool { return s == Pose || s == CommandPose }
