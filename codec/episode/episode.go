// Package episode has the common model of robot recordings and training sets: episodes with the streams of cameras and
// arms.
package episode

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/align"
	"tapedeck/codec/pixel"
)

// Episode is one recording of a task. Every stream keeps its own stamps.
type Episode struct {
	Name    string // "20261121_082214"
	Task    string // in words; "": unknown
	Start   int64  // ns since the Unix epoch; 0: unknown
	End     int64  // likewise
	Success *bool  // whether the task succeeded; nil: unknown
	// Discarded reports that whoever recorded the episode does not want it. Conversions leave it out.
	Discarded bool
	Cameras   []*Camera
	Arms      []*Arm

	// Metadata is further data as a JSON object; nil: none.
	Metadata json.RawMessage
	// Table is the rows from which the streams were read; nil: they were recorded as streams.
	Table *Table
}

// Camera is the stream of one camera.
type Camera struct {
	align.Track
	Device json.RawMessage // description of the camera as a JSON object; nil: none
	// Raw reports whether frames are pixels rather than JPEG or PNG files. Only a Reader needs it.
	Raw bool
	// Decoded is the size in bytes of a frame that is decoded from a video of colours; 0: it is not in a video.
	Decoded int
	// Open opens the frames. Several may be open at a time.
	Open func() (Frames, error)
}

// EachFrame reads the frames at the indices and calls do for each with its position i in indices. The frame is nil for
// index -1. It is valid until do returns.
func (c *Camera) EachFrame(indices []int, do func(i int, f *Frame) error) error {
	return c.eachFrame(indices, do, func(_ int, err error) error { return err })
}

// eachFrame is EachFrame. failed returns the error of a frame, or nil to go on.
func (c *Camera) eachFrame(indices []int, do func(i int, f *Frame) error,
	failed func(index int, err error) error) (err error) {
	frames, err := c.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frames.Close()) }()
	for i, index := range indices {
		var frame *Frame
		if index >= 0 {
			f, err := frames.Frame(index)
			if err != nil {
				if err = failed(index, err); err != nil {
					return fmt.Errorf("frame %d: %w", index, err)
				}
				continue
			}
			frame = &f
		}
		if err := do(i, frame); err != nil {
			if err = failed(index, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// Frames reads the frames of a camera.
type Frames interface {
	// Frame returns the frame of Stamps[i]. It is valid until the next call. Reading in order is fast, going back may
	// be slow.
	Frame(i int) (Frame, error)
	Close() error
}

// Frame is an image of a camera.
type Frame = pixel.Image

// Arm is one robot arm with its gripper. Streams that were not recorded are nil.
type Arm struct {
	Name    string          // "arm_0"
	Device  json.RawMessage // description of the arm as a JSON object; nil: none
	Pose    *align.Vector   // of the tool: x, y, z in m and rx, ry, rz in rad, or a quaternion
	Joint   *align.Vector   // in the unit of its columns
	Gripper *align.Vector   // its columns are the device's own
	// Further values of the driver, in the order of Joint.
	Velocity *align.Vector
	Effort   *align.Vector
	// GripperRange is the closed and the open position of the gripper, in its unit; both 0: unknown.
	GripperRange [2]float64

	// The commands to the arm.
	CommandPose    *align.Vector
	CommandJoint   *align.Vector
	CommandGripper *align.Vector
}

// Source is a recording that holds episodes.
type Source interface {
	// Episodes returns the episodes, in order. Their cameras can be opened until Close.
	Episodes() ([]*Episode, error)

	// These describe what Episodes has found.

	Complete() bool        // false: a writer was killed, or something is damaged
	Events() []codec.Event // that a recorder kept
	Damage() []error       // what was left out, each naming its place

	Close() error
}

// Intact is embedded by a Source that is always complete and has no events: what is damaged is an error.
type Intact struct{}

// Complete returns true.
func (Intact) Complete() bool { return true }

// Events returns nil.
func (Intact) Events() []codec.Event { return nil }

// Damage returns nil.
func (Intact) Damage() []error { return nil }

// Stream returns the field of the stream of a kind, "pose", "joint", "gripper", "velocity" or "effort", or of the
// commands of that kind; nil if there is no such field.
func (a *Arm) Stream(kind string, command bool) **align.Vector {
	i := slices.Index(RoleNames[:CommandPose], kind)
	if i < 0 {
		return nil
	}
	if command && i < int(Velocity) {
		i += int(CommandPose)
	}
	return a.streams()[i]
}

// streams returns the fields of all streams, by their roles.
func (a *Arm) streams() [Roles]**align.Vector {
	return [...]**align.Vector{&a.Pose, &a.Joint, &a.Gripper, &a.Velocity, &a.Effort, &a.CommandPose, &a.CommandJoint,
		&a.CommandGripper}
}

// Vectors returns all streams, by their roles; those that were not recorded are nil.
func (a *Arm) Vectors() (list [Roles]*align.Vector) {
	for i, v := range a.streams() {
		list[i] = *v
	}
	return list
}
