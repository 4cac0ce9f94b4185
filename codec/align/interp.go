package align

import (
	"fmt"
	"slices"
)

// Interp is how a column is interpolated between two samples.
type Interp uint8

const (
	// Auto is Hold for a column of whole numbers with at most 16 different values, or named status, mode, err or error,
	// and Linear for others. Columns rx, ry and rz one after the other are Euler, qx, qy, qz and qw are Quaternion.
	Auto Interp = iota
	// Linear is on the line between the two samples.
	Linear
	// Hold is the value of the sample before.
	Hold
	// Euler is one of three columns in a row, roll, pitch and yaw in rad, or deg if Unit says so, about fixed axes
	// (Rz·Ry·Rx), that turn the shortest way together.
	Euler
	// Quaternion is one of four columns in a row, x, y, z and w, that turn the shortest way together.
	Quaternion
	// Unwrap is Linear for an angle in rad, or deg if Unit says so, that goes on turning while its sensor tells it within
	// a turn: of two samples in a row, none is more than half a turn from the other.
	Unwrap
)

var interpNames = []string{"auto", "linear", "hold", "slerp_rpy", "slerp_quaternion", "unwrap"}

// String returns the name of i, such as "linear".
func (i Interp) String() string {
	if int(i) < len(interpNames) {
		return interpNames[i]
	}
	return fmt.Sprintf("Interp(%d)", uint8(i))
}

// MarshalText implements encoding.TextMarshaler.
func (i Interp) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (i *Interp) UnmarshalText(text []byte) error {
	n := slices.Index(interpNames, string(text))
	if n < 0 {
		return fmt.Errorf("interpolation %q is none of %q", text, interpNames)
	}
	*i = Interp(n)
	return nil
}
