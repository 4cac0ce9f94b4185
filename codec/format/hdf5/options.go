package hdf5

import (
	"fmt"
	"slices"
)

// Values of Options.
const (
	ImagesVLen = "vlen" // JPEGs of variable length
	// JPEGs padded with zeros to the length of the longest one: a little larger, and faster to read in random order.
	ImagesPadded = "padded"
	ImagesRaw    = "raw"  // pixels, for the original ACT
	ImagesKeep   = "keep" // no losses: unchanged JPEGs of variable length, pixels for cameras with other images

	JointRad = "rad"
	JointDeg = "deg"
)

// Options are options for writing a file. The zero value means the defaults.
type Options struct {
	Images string // storage of images: "vlen" (default), "padded", "raw" or "keep"
	// JointUnit is the unit of state/arm_k/joint and actions/arm_k/joint: "rad" (default), or "deg" as in EasyTeleop.
	// qpos, qvel and action are always in rad.
	JointUnit string
	// SwapRB swaps red and blue, for training code that takes the BGR images of OpenCV for RGB.
	SwapRB bool
	// Quality is the quality of JPEGs that are encoded from other images, 1 to 100; 0 is 95. Recorded JPEGs are stored
	// unchanged.
	Quality int

	// Links are more names for the images of cameras. They map a name to the name of a camera, such as "cam_high" to
	// "camera_1". Links to missing cameras are omitted. nil stands for ALOHA's names: cam_high for camera_1, cam_low
	// for camera_2, cam_left_wrist and cam_right_wrist for camera_0.
	Links map[string]string

	Workers int // number of JPEGs that are encoded at a time; 0 is the number of processors
}

// defaultLinks are the Links of nil.
var defaultLinks = map[string]string{
	"cam_high": "camera_1", "cam_low": "camera_2", "cam_left_wrist": "camera_0", "cam_right_wrist": "camera_0",
}

// Check returns an error about the first invalid option.
func (o Options) Check() error {
	switch {
	case !slices.Contains([]string{"", ImagesVLen, ImagesPadded, ImagesRaw, ImagesKeep}, o.Images):
		return fmt.Errorf("invalid images %q: want one of %s, %s, %s, %s", o.Images, ImagesVLen, ImagesPadded,
			ImagesRaw, ImagesKeep)
	case !slices.Contains([]string{"", JointRad, JointDeg}, o.JointUnit):
		return fmt.Errorf("invalid joint_unit %q: want one of %s, %s", o.JointUnit, JointRad, JointDeg)
	case o.Quality < 0 || o.Quality > 100:
		return fmt.Errorf("invalid quality %d: want 1 to 100", o.Quality)
	}
	return nil
}
