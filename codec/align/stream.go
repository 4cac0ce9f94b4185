// Package align puts streams that were sampled each at its own times on one timeline: streams in, rows out. It knows neither files nor
// robots. Every choice is one of Options, and Report says what came of it.
package align

// Vector is a stream of numbers: joints, a pose, a gripper.
type Vector struct {
	Name    string // "arm_0/joint"
	Columns []Column
	Stamps  []int64   // ns since the Unix epoch, one for each sample, as they came: in any order, some may be equal
	Values  []float64 // of one sample after the other, as many as there are Columns each; NaN is missing
}

// Column is one of the numbers of a Vector.
type Column struct {
	Name   string // "joint_0", "rx", "status"
	Unit   string // "rad", "m"; "" is unknown or none
	Interp Interp
}

// Interp is how a column is known between two samples.
type Interp uint8

const (
	// Auto is Hold for a column of whole numbers with few different values, else Linear.
	Auto Interp = iota
	Linear
	// Hold is the value of the sample before.
	Hold
	// Euler is one of three columns in a row, roll, pitch and yaw in rad about fixed axes (Rz·Ry·Rx), that turn the shortest way
	// together.
	Euler
	// Quaternion is one of four columns in a row, x, y, z and w, that turn the shortest way together.
	Quaternion
)

// Track is a stream of things that are taken as they are: the frames of a camera.
type Track struct {
	Name   string  // "camera_0"
	Stamps []int64 // ns since the Unix epoch, as they came
}
