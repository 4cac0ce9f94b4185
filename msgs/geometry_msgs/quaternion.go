package geometry_msgs

// Times returns the rotation by r and then by q. Both are orientations: quaternions of length 1.
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

// Rotate turns a vector of the frame with the orientation q into the world.
func (q Quaternion) Rotate(v Vector3) Vector3 {
	r := q.Times(Quaternion{X: v.X, Y: v.Y, Z: v.Z}).Times(q.Conjugate())
	return Vector3{X: r.X, Y: r.Y, Z: r.Z}
}

// RotateBack turns a vector of the world into the frame with the orientation q.
func (q Quaternion) RotateBack(v Vector3) Vector3 { return q.Conjugate().Rotate(v) }
