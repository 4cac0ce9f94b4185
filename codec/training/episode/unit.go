package episode

import (
	"math"
	"strings"
)

// UnitUnknown is the unit in a Summary of joints whose unit is unknown.
const UnitUnknown = "unknown"

// UnitFactor returns the factor from one unit of angles or angular velocities to another, "deg/s" to "rad/s". It is 1
// for all other units.
func UnitFactor(from, to string) float64 {
	switch {
	case strings.HasPrefix(from, "deg") && strings.HasPrefix(to, "rad"):
		return math.Pi / 180
	case strings.HasPrefix(from, "rad") && strings.HasPrefix(to, "deg"):
		return 180 / math.Pi
	}
	return 1
}

// radians returns the factor from a unit of angles to rad, or of angular velocities to rad/s. It is 1 for other units.
func radians(unit string) float64 { return UnitFactor(unit, "rad") }

// radiansOf returns a unit with radians for degrees: "rad/s" for "deg/s".
func radiansOf(unit string) string {
	if rest, ok := strings.CutPrefix(unit, "deg"); ok {
		return "rad" + rest
	}
	return unit
}
