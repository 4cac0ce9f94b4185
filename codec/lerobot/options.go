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

// Options say how a dataset is written. The zero Options are the defaults.
type Options struct {
	// FPS is the rows a second of the whole dataset; 0 (default) is that of the fixed timeline on which the first take was
	// aligned.
	FPS int
	// Holes says what comes of a take in which rows are missing between others: "refuse" (default), or "split", which
	// makes an episode of each stretch of at least two rows.
	Holes string
	// State says what observation.state and action are: "joint" (default), the joints in rad and how far grippers are
	// open, or "pose", the poses of the tools and the same. Takes without any joints have poses.
	State string
	// Task is that of takes that do not say theirs; "" (default) is "unknown".
	Task string
	// RobotType is what info.json calls the robot; "" (default) is unknown.
	RobotType string
	// Cameras says what features are called, behind observation.images., that are not called as their cameras. A camera
	// that is to be "" is left out.
	Cameras map[string]string

	// Video has pictures be in videos, which ffmpeg encodes. Otherwise (default) they are in the tables: a JPEG or a PNG
	// as it is, pixels as PNG.
	Video bool
	// Codec is the encoder of ffmpeg's; "" (default) is libsvtav1, as of LeRobot itself, or libx264 if there is none.
	Codec string
	// FFmpeg is the program; "" (default) is the ffmpeg in PATH.
	FFmpeg string

	// DataFileSize and VideoFileSize are bytes of a file about which another one is begun; 0 (default) are LeRobot's 100
	// MB and 200 MB.
	DataFileSize, VideoFileSize int64
	// ChunkFiles is how many files there are in a folder; 0 (default) is 1000.
	ChunkFiles int

	// Overwrite replaces a dataset that is there.
	Overwrite bool
}

const mb = 1 << 20

// withDefaults returns o with every choice made.
func (o Options) withDefaults() Options {
	o.Holes, o.State = cmp.Or(o.Holes, HolesRefuse), cmp.Or(o.State, StateJoint)
	o.Task, o.FFmpeg = cmp.Or(o.Task, "unknown"), cmp.Or(o.FFmpeg, "ffmpeg")
	o.DataFileSize, o.VideoFileSize = cmp.Or(o.DataFileSize, 100*mb), cmp.Or(o.VideoFileSize, 200*mb)
	o.ChunkFiles = cmp.Or(o.ChunkFiles, 1000)
	return o
}

// Check says what is wrong with o.
func (o Options) Check() error {
	o = o.withDefaults()
	switch {
	case o.FPS < 0:
		return fmt.Errorf("fps %d: it is 1 or more", o.FPS)
	case !slices.Contains([]string{HolesRefuse, HolesSplit}, o.Holes):
		return fmt.Errorf("holes %q: it is one of %s, %s", o.Holes, HolesRefuse, HolesSplit)
	case !slices.Contains([]string{StateJoint, StatePose}, o.State):
		return fmt.Errorf("state %q: it is one of %s, %s", o.State, StateJoint, StatePose)
	case o.DataFileSize < 0 || o.VideoFileSize < 0 || o.ChunkFiles < 0:
		return errors.New("sizes of files, and how many there are in a folder, are not negative")
	}
	return nil
}
