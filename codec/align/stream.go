// Package align resamples streams with different stamps onto one timeline: streams in, rows out. It knows
// neither files nor robots. Every choice is one of Options, and Report says what came of it.
package align

import "math"

// Vector is a stream of numbers: joints, a pose, a gripper.
type Vector struct {
	Name    string // "arm_0/joint"
	Topic   string // where it was recorded, "/arm_0/joint_states"; "" is nowhere
	Columns []Column
	Stamps  []int64   // ns since the Unix epoch, one for each sample, as they came: in any order, some may be equal
	Values  []float64 // of one sample after the other, as many as there are Columns each; Missing is what was not told
	// of the samples, how many have the time at which they were received, as they had none of their own
	Unstamped int
}

// Column is one of the numbers of a Vector.
type Column struct {
	Name   string // "joint_0", "rx", "status"
	Unit   string // "rad", "deg", "m"; "" is unknown or none
	Interp Interp
}

// Track is a stream whose items are not interpolated: the frames of a camera.
type Track struct {
	Name      string  // "camera_0"
	Topic     string  // where it was recorded; "" is nowhere
	Stamps    []int64 // ns since the Unix epoch, as they came
	Unstamped int     // as that of a Vector
}

// missing holds the bits of Missing.
const missing = 0x7ff8_0000_0000_07a2

// Missing returns the number that stands for one that a sample does not have. It is a NaN, yet any other NaN is a
// number that is there and is wrong: of such a sample nothing is used, while a missing number is the one that the
// sample before has.
func Missing() float64 { return math.Float64frombits(missing) }

// IsMissing reports whether v is the NaN that Missing returns.
func IsMissing(v float64) bool { return math.Float64bits(v) == missing }
