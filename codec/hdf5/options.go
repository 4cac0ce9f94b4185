package hdf5

import (
	"fmt"
	"slices"
	"strings"
)

// Values of Options.
const (
	ImagesVLen = "vlen" // JPEGs as long as they are
	// JPEGs with zeros behind them to the length of the longest: a little more, and quicker in random access.
	ImagesPadded = "padded"
	ImagesRaw    = "raw" // pixels, as the first ACT reads them

	JointRad = "rad"
	JointDeg = "deg"
)

// Options say how a file is written. The zero Options are the defaults.
type Options struct {
	Images string // how images are kept: "vlen" (default), "padded" or "raw"
	// JointUnit is that of state/arm_k/joint and actions/arm_k/joint: "rad" (default), or "deg" as EasyTeleop has it. It
	// is always rad in qpos, qvel and action.
	JointUnit string
	// SwapRB exchanges red and blue, for training code that does not expect the order of colours that OpenCV decodes to.
	SwapRB  bool
	Quality int // of JPEGs that have to be made, 1 to 100; 0 is 95. What is a JPEG already stays as it is.

	// Links are other names of cameras among the images, each with the name of the camera, as in "cam_high": "camera_1". A
	// camera that there is not has no other names. nil is what ALOHA calls the seed's: cam_high for camera_1, cam_low for
	// camera_2, cam_left_wrist and cam_right_wrist for camera_0.
	Links map[string]string

	Overwrite bool // replace a file that is there
	Workers   int  // how many JPEGs are made at a time; 0 is as many as there are processors
}

var defaultLinks = map[string]string{
	"cam_high": "camera_1", "cam_low": "camera_2", "cam_left_wrist": "camera_0", "cam_right_wrist": "camera_0",
}

// Check says what is wrong with o.
func (o Options) Check() error {
	for _, f := range []struct {
		name, value string
		choices     []string
	}{
		{"images", o.Images, []string{ImagesVLen, ImagesPadded, ImagesRaw}},
		{"joint_unit", o.JointUnit, []string{JointRad, JointDeg}},
	} {
		if f.value != "" && !slices.Contains(f.choices, f.value) {
			return fmt.Errorf("%s %q: it is one of %s", f.name, f.value, strings.Join(f.choices, ", "))
		}
	}
	if o.Quality < 0 || o.Quality > 100 {
		return fmt.Errorf("quality %d: it is from 1 to 100", o.Quality)
	}
	return nil
}
