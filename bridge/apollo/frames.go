package apollo

import (
	"math"

	"tapedeck/msgs/geometry_msgs"
)

// forward turns a vector of the vehicle from right, forward, up to forward, left, up.
func forward(v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v.Y, Y: -v.X, Z: v.Z}
}

// facing turns the orientation of a vehicle's frame that looks right, forward, up into that of the one that looks forward,
// left, up.
func facing(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return multiply(q, about(2, math.Pi/2))
}

// about returns the rotation by an angle, in rad, about axis 0 (x), 1 (y) or 2 (z).
func about(axis int, angle float64) geometry_msgs.Quaternion {
	var v [3]float64
	v[axis] = math.Sin(angle / 2)
	return geometry_msgs.Quaternion{X: v[0], Y: v[1], Z: v[2], W: math.Cos(angle / 2)}
}

func multiply(a, b geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{
		X: a.W*b.X + a.X*b.W + a.Y*b.Z - a.Z*b.Y,
		Y: a.W*b.Y - a.X*b.Z + a.Y*b.W + a.Z*b.X,
		Z: a.W*b.Z + a.X*b.Y - a.Y*b.X + a.Z*b.W,
		W: a.W*b.W - a.X*b.X - a.Y*b.Y - a.Z*b.Z,
	}
}

// into turns a vector of the world into the frame whose orientation q is.
func into(q geometry_msgs.Quaternion, v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	inverse := geometry_msgs.Quaternion{X: -q.X, Y: -q.Y, Z: -q.Z, W: q.W}
	r := multiply(multiply(inverse, geometry_msgs.Quaternion{X: v.X, Y: v.Y, Z: v.Z}), q)
	return geometry_msgs.Vector3{X: r.X, Y: r.Y, Z: r.Z}
}

// spread puts the squares of standard deviations in the world into the 3 by 3 block at place of a 6 by 6 covariance, as seen
// in the frame whose orientation q is.
func spread(covariance *[36]float64, place int, deviation geometry_msgs.Vector3, q geometry_msgs.Quaternion) {
	for axis, d := range []float64{deviation.X, deviation.Y, deviation.Z} {
		var unit [3]float64
		unit[axis] = d
		v := into(q, geometry_msgs.Vector3{X: unit[0], Y: unit[1], Z: unit[2]})
		for i, a := range []float64{v.X, v.Y, v.Z} {
			for j, b := range []float64{v.X, v.Y, v.Z} {
				covariance[place+6*i+j] += a * b
			}
		}
	}
}

// The blocks of a covariance of position and orientation, or of linear and angular velocity.
const (
	linearBlock  = 0
	angularBlock = 21
)

var unturned = geometry_msgs.Quaternion{W: 1}
