// Package episode is what recordings of robots and sets to train on have in common: takes, in which cameras looked on
// while arms moved.
package episode

import (
	"encoding/json"

	"tapedeck/codec/align"
	"tapedeck/codec/pixel"
)

// Episode is one take. Every stream keeps its own stamps.
type Episode struct {
	Name    string // "20261121_082214"
	Task    string // what was done, in words; "" is unknown
	Start   int64  // ns since the Unix epoch; 0 is unknown
	End     int64  // likewise
	Success *bool  // whether the task was done; nil is unknown
	Cameras []*Camera
	Arms    []*Arm

	// Metadata is what else is known of the take, as a JSON object; nil is nothing.
	Metadata json.RawMessage
}

// Camera is the stream of one camera.
type Camera struct {
	align.Track
	Device json.RawMessage // what is known of the camera, as a JSON object; nil is nothing
	// Open begins to read frames. Several may be open at a time.
	Open func() (Frames, error)
}

// Frames reads the frames of a camera.
type Frames interface {
	// Frame returns the frame that was taken at Stamps[i]. It is valid until the next call. To go through frames in their
	// order is quick, to go back may not be.
	Frame(i int) (Frame, error)
	Close() error
}

// Frame is an image of a camera.
type Frame = pixel.Image

// Arm is one robot arm with its gripper. Streams that were not recorded are nil.
type Arm struct {
	Name    string          // "arm_0"
	Device  json.RawMessage // what is known of the arm, as a JSON object; nil is nothing
	Pose    *align.Vector   // of the tool: x, y, z in m and rx, ry, rz in rad, or a quaternion
	Joint   *align.Vector   // in the unit that the columns tell
	Gripper *align.Vector   // its columns are the device's own
	// What the driver reported besides, in the order of Joint.
	Velocity *align.Vector
	Effort   *align.Vector
	// GripperRange is where the gripper is closed and where it is open, in the unit of its position; both 0 are unknown.
	GripperRange [2]float64

	// The commands to the arm.
	CommandPose    *align.Vector
	CommandJoint   *align.Vector
	CommandGripper *align.Vector
}

// Source is a recording that holds episodes.
type Source interface {
	// Episodes returns the episodes, in order. What they read is open until Close.
	Episodes() ([]*Episode, error)
	Close() error
}
