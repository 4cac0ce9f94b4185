package apollo

import (
	"math"

	"tapedeck/msgs/geometry_msgs"
)

// toFLU converts a vector from the axes right, forward, up to the axes forward, left, up.
func toFLU(v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v.Y, Y: -v.X, Z: v.Z}
}

// orientationToFLU converts the orientation of a vehicle's frame with the axes right, forward, up to the orientation of
// the vehicle's frame with the axes forward, left, up.
func orientationToFLU(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return q.Times(rotationAbout(2, math.Pi/2))
}

// rotationAbout returns the rotation by an angle, in rad, about axis 0 (x), 1 (y) or 2 (z).
func rotationAbout(axis int, angle float64) geometry_msgs.Quaternion {
	var v [3]float64
	v[axis] = math.Sin(angle / 2)
	return geometry_msgs.Quaternion{X: v[0], Y: v[1], Z: v[2], W: math.Cos(angle / 2)}
}

// addCovariance adds variances to the 3 by 3 block at index place of a 6 by 6 covariance, which is in the frame with
// the orientation q. deviation holds the standard deviations along the axes of the world.
func addCovariance(covariance *[36]float64, place int, deviation geometry_msgs.Vector3, q geometry_msgs.Quaternion) {
	for axis, d := range []float64{deviation.X, deviation.Y, deviation.Z} {
		var unit [3]float64
		unit[axis] = d
		v := q.RotateBack(geometry_msgs.Vector3{X: unit[0], Y: unit[1], Z: unit[2]})
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

var identity = geometry_msgs.Quaternion{W: 1}

// toRFU is the inverse of toFLU.
func toRFU(v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: -v.Y, Y: v.X, Z: v.Z}
}

// orientationToRFU is the inverse of orientationToFLU.
func orientationToRFU(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return q.Times(rotationAbout(2, -math.Pi/2))
}

// yaw returns the angle in rad from the world's x axis to the x axis of the frame with the orientation q.
func yaw(q geometry_msgs.Quaternion) float64 {
	return math.Atan2(2*(q.W*q.Z+q.X*q.Y), q.W*q.W+q.X*q.X-q.Y*q.Y-q.Z*q.Z)
}

// euler returns the Euler angles of Apollo, in rad, for the orientation of a frame with the axes right, forward, up:
// roll about the forward axis as X, pitch about the right axis as Y, and the yaw, which is applied last, as Z.
func euler(q geometry_msgs.Quaternion) geometry_msgs.Vector3 {
	right := q.Rotate(geometry_msgs.Vector3{X: 1})
	forward := q.Rotate(geometry_msgs.Vector3{Y: 1})
	up := q.Rotate(geometry_msgs.Vector3{Z: 1})
	pitch := math.Asin(max(-1, min(1, forward.Z)))
	if math.Abs(forward.Z) > 1-1e-12 { // straight up or down: roll and yaw have one axis
		return geometry_msgs.Vector3{Y: pitch, Z: math.Atan2(right.Y, right.X)}
	}
	return geometry_msgs.Vector3{X: math.Atan2(-right.Z, up.Z), Y: pitch, Z: math.Atan2(-forward.X, forward.Y)}
}

// deviations is the inverse of addCovariance. correlated reports whether the block also has covariances between axes of
// the world.
func deviations(covariance *[36]float64, place int, q geometry_msgs.Quaternion) (
	deviation geometry_msgs.Vector3, correlated bool,
) {
	var block, world [3][3]float64
	largest := 0.0
	for i := range block {
		for j := range block {
			block[i][j] = covariance[place+6*i+j]
			largest = max(largest, math.Abs(block[i][j]))
		}
	}
	if largest == 0 {
		return deviation, false
	}
	var axes [3]geometry_msgs.Vector3 // axes of the world, in the frame of q
	for i, unit := range []geometry_msgs.Vector3{{X: 1}, {Y: 1}, {Z: 1}} {
		axes[i] = q.RotateBack(unit)
	}
	for i := range world {
		a := [3]float64{axes[i].X, axes[i].Y, axes[i].Z}
		for j := range world {
			b := [3]float64{axes[j].X, axes[j].Y, axes[j].Z}
			for k := range a {
				for l := range b {
					world[i][j] += a[k] * block[k][l] * b[l]
				}
			}
			correlated = correlated || i != j && math.Abs(world[i][j]) > 1e-9*largest
		}
	}
	root := func(v float64) float64 { return math.Sqrt(max(0, v)) }
	return geometry_msgs.Vector3{X: root(world[0][0]), Y: root(world[1][1]), Z: root(world[2][2])}, correlated
}

// hasCrossCovariance reports whether a covariance is not zero between its two blocks.
func hasCrossCovariance(covariance *[36]float64) bool {
	for i, v := range covariance {
		if (i/6 < 3) != (i%6 < 3) && v != 0 {
			return true
		}
	}
	return false
}

// hasRollOrPitch reports whether an orientation has a roll or pitch.
func hasRollOrPitch(q geometry_msgs.Quaternion) bool {
	return math.Abs(q.X) > 1e-6 || math.Abs(q.Y) > 1e-6
}
