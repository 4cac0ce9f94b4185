package lerobot

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	// Holes is how to handle an episode in which rows are missing between others: "refuse" it (default), or "split" it
	// into stretches of at least two rows.
	Holes string
	// State is the content of observation.state and action besides the opening of grippers: "joint" (default), the
	// joints in rad, or "pose", the poses of the tools. Episodes without any joints have poses.
	State string
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

	// DataFileSize and VideoFileSize are the approximate bytes of a file; 0 (default) are LeRobot's 100 MB and 200 MB.
	DataFileSize, VideoFileSize int64
}

const mb = 1 << 20

// videoCodecs are the encoders, the preferred one first.
var videoCodecs = []string{"libsvtav1", "libx264"}

// withDefaults returns o with all defaults filled in.
func (o Options) withDefaults() Options {
	o.Holes, o.State = cmp.Or(o.Holes, HolesRefuse), cmp.Or(o.State, StateJoint)
	o.DataFileSize, o.VideoFileSize = cmp.Or(o.DataFileSize, 100*mb), cmp.Or(o.VideoFileSize, 200*mb)
	return o
}

// Check returns an error for the first invalid option.
func (o Options) Check() error {
	o = o.withDefaults()
	switch {
	case !slices.Contains([]string{HolesRefuse, HolesSplit}, o.Holes):
		return fmt.Errorf("invalid holes %q: want %s or %s", o.Holes, HolesRefuse, HolesSplit)
	case !slices.Contains([]string{StateJoint, StatePose}, o.State):
		return fmt.Errorf("invalid state %q: want %s or %s", o.State, StateJoint, StatePose)
	case o.Codec != "" && !slices.Contains(videoCodecs, o.Codec):
		return fmt.Errorf("codec %q: want %s", o.Codec, strings.Join(videoCodecs, " or "))
	case o.DataFileSize < 0 || o.VideoFileSize < 0:
		return errors.New("sizes of files must not be negative")
	}
	return nil
}
