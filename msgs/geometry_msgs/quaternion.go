package geometry_msgs

import "math"

// FromEuler returns the rotation by roll, pitch and yaw, in rad, about the fixed axes x, y and z in this order.
func FromEuler(roll, pitch, yaw float64) Quaternion {
	sr, cr := math.Sincos(roll / 2)
	sp, cp := math.Sincos(pitch / 2)
	sy, cy := math.Sincos(yaw / 2)
	return Quaternion{
		X: sr*cp*cy - cr*sp*sy,
		Y: cr*sp*cy + sr*cp*sy,
		Z: cr*cp*sy - sr*sp*cy,
		W: cr*cp*cy + sr*sp*sy,
	}
}

// Times returns the rotation by r and then by q. r and q must have length 1.
func (q Quaternion) Times(r Quaternion) Quaternion {
	return Quaternion{
		X: q.W*r.X + q.X*r.W + q.Y*r.Z - q.Z*r.Y,
		Y: q.W*r.Y - q.X*r.Z + q.Y*r.W + q.Z*r.X,
		Z: q.W*r.Z + q.X*r.Y - q.Y*r.X + q.Z*r.W,
		W: q.W*r.W - q.X*r.X - q.Y*r.Y - q.Z*r.Z,
	}
}

// Conjugate returns the inverse rotation.
func (q Quaternion) Conjugate() Quaternion { return Quaternion{X: -q.X, Y: -q.Y, Z: -q.Z, W: q.W} }

// Rotate converts a vector from the frame with the orientation q to the world.
func (q Quaternion) Rotate(v Vector3) Vector3 {
	r := q.Times(Quaternion{X: v.X, Y: v.Y, Z: v.Z}).Times(q.Conjugate())
	return Vector3{X: r.X, Y: r.Y, Z: r.Z}
}

// RotateBack converts a vector from the world to the frame with the orientation q.
func (q Quaternion) RotateBack(v Vector3) Vector3 { return q.Conjugate().Rotate(v) }
