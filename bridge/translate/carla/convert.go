package carla

import (
	"math"

	"tapedeck/codec/format/carla"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
)

const (
	metre  = 100           // cm
	radian = 180 / math.Pi // degrees
)

// This file negates numbers as 0 - x, because -x of 0 is written as -0.

// Point converts a location in cm, with y to the right, to m, with y to the left.
func Point(v carla.Vector) geometry_msgs.Point {
	return geometry_msgs.Point{X: v.X / metre, Y: 0 - v.Y/metre, Z: v.Z / metre}
}

// Location is the inverse of Point.
func Location(p geometry_msgs.Point) carla.Vector {
	return carla.Vector{X: p.X * metre, Y: 0 - p.Y*metre, Z: p.Z * metre}
}

// Quaternion converts roll, pitch and yaw in degrees to an orientation. Mirroring y changes the sign of pitch and yaw.
func Quaternion(v carla.Vector) geometry_msgs.Quaternion {
	return geometry_msgs.FromEuler(v.X/radian, -v.Y/radian, -v.Z/radian)
}

// Rotation is the inverse of Quaternion. Roll and yaw are from -180 to 180 degrees, pitch from -90 to 90. Roll is 0 if
// the orientation points straight up or down. The length of q does not matter.
func Rotation(q geometry_msgs.Quaternion) carla.Vector {
	n := q.X*q.X + q.Y*q.Y + q.Z*q.Z + q.W*q.W
	if n == 0 {
		return carla.Vector{}
	}
	sin := 2 * (q.W*q.Y - q.Z*q.X) / n
	if math.Abs(sin) > 1-1e-12 {
		yaw := 2 * math.Atan2(q.Z, q.W)
		return carla.Vector{Y: math.Copysign(90, -sin), Z: 0 - math.Remainder(yaw, 2*math.Pi)*radian}
	}
	roll := math.Atan2(2*(q.W*q.X+q.Y*q.Z), n-2*(q.X*q.X+q.Y*q.Y))
	yaw := math.Atan2(2*(q.W*q.Z+q.X*q.Y), n-2*(q.Y*q.Y+q.Z*q.Z))
	return carla.Vector{X: roll * radian, Y: 0 - math.Asin(sin)*radian, Z: 0 - yaw*radian}
}

// fullSize converts half a size in cm to a size in m.
func fullSize(v carla.Vector) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: 2 * v.X / metre, Y: 2 * v.Y / metre, Z: 2 * v.Z / metre}
}

// Velocity converts a velocity in m/s, or another vector of the world in m, by mirroring y.
func Velocity(v carla.Vector) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v.X, Y: 0 - v.Y, Z: v.Z}
}

// LinearVelocity is the inverse of Velocity.
func LinearVelocity(v geometry_msgs.Vector3) carla.Vector {
	return carla.Vector{X: v.X, Y: 0 - v.Y, Z: v.Z}
}

// Rate converts an angular velocity from degrees/s to rad/s. An angular velocity is a pseudovector: mirroring y negates
// x and z.
func Rate(v carla.Vector) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: 0 - v.X/radian, Y: v.Y / radian, Z: 0 - v.Z/radian}
}

// AngularVelocity is the inverse of Rate.
func AngularVelocity(v geometry_msgs.Vector3) carla.Vector {
	return carla.Vector{X: 0 - v.X*radian, Y: v.Y * radian, Z: 0 - v.Z*radian}
}

// Stamp converts seconds of simulation to a stamp. The stamp is 0 if the time is out of range.
func Stamp(seconds float64) builtin_interfaces.Time {
	if !(seconds >= 0 && seconds < math.MaxInt32) {
		return builtin_interfaces.Time{}
	}
	whole, rest := math.Modf(seconds)
	return builtin_interfaces.Time{Sec: int32(whole), Nanosec: uint32(rest * 1e9)}
}

// pose returns the pose for a location and a rotation of CARLA.
func pose(location, rotation carla.Vector) geometry_msgs.Pose {
	return geometry_msgs.Pose{Position: Point(location), Orientation: Quaternion(rotation)}
}

// transform returns a pose as a transform.
func transform(p geometry_msgs.Pose) geometry_msgs.Transform {
	return geometry_msgs.Transform{Translation: geometry_msgs.Vector3(p.Position), Rotation: p.Orientation}
}

// relativeTo returns a location of the world relative to a pose.
func relativeTo(p geometry_msgs.Pose, location carla.Vector) geometry_msgs.Vector3 {
	at := Point(location)
	return p.Orientation.RotateBack(geometry_msgs.Vector3{X: at.X - p.Position.X, Y: at.Y - p.Position.Y,
		Z: at.Z - p.Position.Z})
}

// rateOfChange returns (a - b) / dt.
func rateOfChange(a, b geometry_msgs.Vector3, dt float64) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: (a.X - b.X) / dt, Y: (a.Y - b.Y) / dt, Z: (a.Z - b.Z) / dt}
}

// angularVelocityBetween returns the angular velocity, in the world, of a rotation from one orientation to another in
// dt.
func angularVelocityBetween(from, to geometry_msgs.Quaternion, dt float64) geometry_msgs.Vector3 {
	q := to.Times(from.Conjugate())
	sin := math.Sqrt(q.X*q.X + q.Y*q.Y + q.Z*q.Z)
	if sin == 0 {
		return geometry_msgs.Vector3{}
	}
	rate := 2 * math.Atan2(math.Copysign(sin, q.W), math.Abs(q.W)) / sin / dt // along the shorter arc
	return geometry_msgs.Vector3{X: q.X * rate, Y: q.Y * rate, Z: q.Z * rate}
}

// normalize returns the pose with an orientation of length 1. A zero orientation becomes the identity. ok is false if a
// number is NaN or infinite.
func normalize(p geometry_msgs.Pose) (_ geometry_msgs.Pose, ok bool) {
	q := &p.Orientation
	n := math.Sqrt(q.X*q.X + q.Y*q.Y + q.Z*q.Z + q.W*q.W)
	if n == 0 {
		q.W, n = 1, 1
	}
	q.X, q.Y, q.Z, q.W = q.X/n, q.Y/n, q.Z/n, q.W/n
	sum := n + p.Position.X + p.Position.Y + p.Position.Z
	return p, !math.IsNaN(sum) && !math.IsInf(sum, 0)
}

func length(v geometry_msgs.Vector3) float64 { return math.Sqrt(v.X*v.X + v.Y*v.Y + v.Z*v.Z) }

// finiteOrZero returns v, or zero if a component is NaN or infinite.
func finiteOrZero(v carla.Vector) carla.Vector {
	if math.IsInf(v.X+v.Y+v.Z, 0) || math.IsNaN(v.X+v.Y+v.Z) {
		return carla.Vector{}
	}
	return v
}
