// Package episode is the common model of robot recordings and training sets: episodes with the streams of cameras and
// arms.
package episode

import (
	"encoding/json"
	"errors"
	"fmt"

	"tapedeck/codec"
	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/align"
)

// Episode is one recording of a task. Every stream keeps its own stamps.
type Episode struct {
	Name    string // "20261121_082214"
	Task    string // in words; "": unknown
	Start   int64  // ns since the Unix epoch; 0: unknown
	End     int64  // ns since the Unix epoch; 0: unknown
	Success *bool  // whether the task succeeded; nil: unknown
	// Discarded reports that the episode was discarded while it was recorded. Conversions leave it out.
	Discarded bool
	Cameras   []*Camera
	Arms      []*Arm

	// Metadata is further data as a JSON object; nil: none.
	Metadata json.RawMessage
	// Table has the rows from which the streams were read; nil: the episode was recorded as streams.
	Table *Table
}

// Devices returns the descriptions of cameras and arms, by name. Devices without a description
// are left out.
func (e *Episode) Devices() map[string]json.RawMessage {
	devices := map[string]json.RawMessage{}
	for _, c := range e.Cameras {
		if c.Device != nil {
			devices[c.Name] = c.Device
		}
	}
	for _, a := range e.Arms {
		if a.Device != nil {
			devices[a.Name] = a.Device
		}
	}
	return devices
}

// SetDevices sets the descriptions of cameras and arms from devices, by the names of cameras and arms.
func (e *Episode) SetDevices(devices map[string]json.RawMessage) {
	for _, c := range e.Cameras {
		if device, ok := devices[c.Name]; ok {
			c.Device = device
		}
	}
	for _, a := range e.Arms {
		if device, ok := devices[a.Name]; ok {
			a.Device = device
		}
	}
}

// Camera is the stream of one camera.
type Camera struct {
	align.Track
	Device json.RawMessage // description of the camera as a JSON object; nil: none
	// Raw reports whether frames are pixels rather than JPEG or PNG files. Only a Reader needs it.
	Raw bool
	// Decoded is the size in bytes of a decoded frame of a colour video; 0: the frames are not in a colour video.
	Decoded int
	// Open opens the frames. Several may be open at a time.
	Open func() (Frames, error)
}

// EachFrame reads the frames at the indices, and calls do for each with its position i in indices. The frame f is nil
// for index -1, and valid until do returns.
func (c *Camera) EachFrame(indices []int, do func(i int, f *Frame) error) error {
	return c.eachFrame(indices, do, func(_ int, err error) error { return err })
}

// eachFrame is EachFrame with a function that handles errors: failed returns an error to end with, or nil to go on.
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
				err = failed(index, err)
				if err != nil {
					return fmt.Errorf("frame %d: %w", index, err)
				}
				continue
			}
			frame = &f
		}
		if err := do(i, frame); err != nil {
			err = failed(index, err)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Frames reads the frames of a camera.
type Frames interface {
	// Frame returns the frame at the camera's Stamps[i]. The frame is valid until the next call. Reading in order is
	// fast, going back may be slow.
	Frame(i int) (Frame, error)
	Close() error
}

// Frame is an image of a camera.
type Frame = pixel.Image

// Arm is one robot arm with its gripper.
type Arm struct {
	Name    string          // "arm_0"
	Device  json.RawMessage // description of the arm as a JSON object; nil: none
	Streams Streams
	// GripperRange is the closed and the open position of the gripper, in the unit of the gripper; both 0: unknown.
	GripperRange [2]float64
}

// Streams are the streams of an arm by their roles; nil: not recorded.
type Streams [Roles]*align.Vector

// Source is a recording that holds episodes.
type Source interface {
	// Episodes reads the episodes, in order. The cameras of the episodes can be opened until Close. Episodes is called
	// once; only a Reader allows further calls.
	Episodes() ([]*Episode, error)
	// Found returns the other findings of Episodes. A Source embeds Findings to implement it.
	Found() *Findings
	Close() error
}

// Findings are the findings of a Source besides its episodes.
type Findings struct {
	Incomplete bool             // a writer was killed, or data is missing or damaged
	Events     []codec.Event    // events that the recorder kept
	Damage     []error          // why data was left out; each error names the place
	Lost       codec.LossCounts // data that no episode has; nil: none
}

// Found implements Source.
func (f *Findings) Found() *Findings { return f }
