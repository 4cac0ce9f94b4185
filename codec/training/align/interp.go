package align

import (
	"fmt"
	"slices"
)

// Interp is how a column is interpolated between two samples.
type Interp uint8

const (
	// Auto is Hold for a column that has at most 16 different values, all whole numbers, or that is named status, mode,
	// err or error. It is Euler for consecutive columns rx, ry and rz, Quaternion for consecutive columns qx, qy, qz
	// and qw, and Linear for other columns.
	Auto Interp = iota
	// Linear interpolates linearly between the samples before and after.
	Linear
	// Hold takes the value of the latest sample.
	Hold
	// Euler is one of three consecutive columns, roll, pitch and yaw in rad, or deg if Unit says so, about fixed axes
	// (Rz·Ry·Rx), interpolated together along the shortest rotation.
	Euler
	// Quaternion is one of four consecutive columns, x, y, z and w, interpolated together along the shortest rotation.
	Quaternion
	// Unwrap is Linear for the angle of a joint that turns on while its sensor wraps, in rad, or in deg if Unit says
	// so. Two consecutive samples are at most half a turn apart.
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
		return fmt.Errorf("unknown interpolation %q: want one of %q", text, interpNames)
	}
	*i = Interp(n)
	return nil
}
