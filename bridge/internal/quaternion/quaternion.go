// Package quaternion computes with orientations, quaternions of length 1.
package quaternion

import "tapedeck/msgs/geometry_msgs"

// Multiply returns the rotation by b and then by a.
func Multiply(a, b geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{
		X: a.W*b.X + a.X*b.W + a.Y*b.Z - a.Z*b.Y,
		Y: a.W*b.Y - a.X*b.Z + a.Y*b.W + a.Z*b.X,
		Z: a.W*b.Z + a.X*b.Y - a.Y*b.X + a.Z*b.W,
		W: a.W*b.W - a.X*b.X - a.Y*b.Y - a.Z*b.Z,
	}
}

// Conjugate returns the inverse rotation.
func Conjugate(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{X: -q.X, Y: -q.Y, Z: -q.Z, W: q.W}
}

// Rotate turns a vector of the frame with the orientation q into the world.
func Rotate(q geometry_msgs.Quaternion, v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	r := Multiply(Multiply(q, geometry_msgs.Quaternion{X: v.X, Y: v.Y, Z: v.Z}), Conjugate(q))
	return geometry_msgs.Vector3{X: r.X, Y: r.Y, Z: r.Z}
}

// Into turns a vector of the world into the frame with the orientation q. It is the inverse of Rotate.
func Into(q geometry_msgs.Quaternion, v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	return Rotate(Conjugate(q), v)
}
