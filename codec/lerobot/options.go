package lerobot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Values of Options.
const (
	HolesRefuse = "refuse"
	HolesSplit  = "split"

	StateJoint = "joint"
	StatePose  = "pose"
)

// Options of writing a dataset. The zero value has the defaults.
type Options struct {
	// FPS is the rows per second of the whole dataset; 0 (default) is the rate of the fixed timeline of the first
	// episode.
	FPS int
	// Holes is how to handle an episode in which rows are missing between others: "refuse" it (default), or "split" it
	// into stretches of at least two rows.
	Holes string
	// State is the content of observation.state and action besides the opening of grippers: "joint" (default), the
	// joints in rad, or "pose", the poses of the tools. Episodes without any joints have poses.
	State string
	// Task is the task of episodes without one; "" (default) is "unknown".
	Task string
	// RobotType is the name of the robot in info.json; "" (default) is unknown.
	RobotType string
	// Cameras renames cameras: the feature of a camera is observation.images. and its name. A camera renamed to "" is
	// left out.
	Cameras map[string]string

	// Video stores images in videos, encoded by ffmpeg. Otherwise (default) they are in the tables: JPEGs and PNGs
	// unchanged, pixels as PNG.
	Video bool
	// Codec is an encoder of ffmpeg; "" (default) is libsvtav1, LeRobot's default, or libx264 if that is missing.
	Codec string
	// FFmpeg is the program; "" (default) is ffmpeg in PATH.
	FFmpeg string

	// DataFileSize and VideoFileSize are the approximate bytes of a file; 0 (default) are LeRobot's 100 MB and 200 MB.
	DataFileSize, VideoFileSize int64
	// ChunkFiles is the number of files in a folder; 0 (default) is 1000.
	ChunkFiles int

	// Overwrite replaces an existing dataset.
	Overwrite bool
}

const mb = 1 << 20

// withDefaults returns o with all defaults filled in.
func (o Options) withDefaults() Options {
	o.Holes, o.State = cmp.Or(o.Holes, HolesRefuse), cmp.Or(o.State, StateJoint)
	o.Task, o.FFmpeg = cmp.Or(o.Task, "unknown"), cmp.Or(o.FFmpeg, "ffmpeg")
	o.DataFileSize, o.VideoFileSize = cmp.Or(o.DataFileSize, 100*mb), cmp.Or(o.VideoFileSize, 200*mb)
	o.ChunkFiles = cmp.Or(o.ChunkFiles, 1000)
	return o
}

// Check returns an error for the first invalid option.
func (o Options) Check() error {
	o = o.withDefaults()
	switch {
	case o.FPS < 0:
		return fmt.Errorf("invalid fps %d: want at least 1", o.FPS)
	case !slices.Contains([]string{HolesRefuse, HolesSplit}, o.Holes):
		return fmt.Errorf("invalid holes %q: want %s or %s", o.Holes, HolesRefuse, HolesSplit)
	case !slices.Contains([]string{StateJoint, StatePose}, o.State):
		return fmt.Errorf("invalid state %q: want %s or %s", o.State, StateJoint, StatePose)
	case o.DataFileSize < 0 || o.VideoFileSize < 0 || o.ChunkFiles < 0:
		return errors.New("sizes of files and their number in a folder must not be negative")
	}
	return nil
}
