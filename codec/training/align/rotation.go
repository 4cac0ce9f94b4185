package align

import "math"

// quaternion is x, y, z and w.
type quaternion [4]float64

func (q quaternion) dot(p quaternion) float64 {
	return q[0]*p[0] + q[1]*p[1] + q[2]*p[2] + q[3]*p[3]
}

func (q quaternion) scale(f float64) quaternion {
	return quaternion{q[0] * f, q[1] * f, q[2] * f, q[3] * f}
}

func (q quaternion) add(p quaternion) quaternion {
	return quaternion{q[0] + p[0], q[1] + p[1], q[2] + p[2], q[3] + p[3]}
}

func (q quaternion) unit() quaternion { return q.scale(1 / math.Sqrt(q.dot(q))) }

// slerp interpolates from p (u = 0) to q (u = 1) along the shortest rotation. Both may have any length but 0.
func slerp(p, q quaternion, u float64) quaternion {
	p, q = p.unit(), q.unit()
	if p.dot(q) < 0 {
		q = q.scale(-1)
	}
	difference, sum := q.add(p.scale(-1)), q.add(p)
	angle := 2 * math.Atan2(math.Sqrt(difference.dot(difference)), math.Sqrt(sum.dot(sum)))
	if sine := math.Sin(angle); sine > 1e-9 {
		return p.scale(math.Sin((1-u)*angle) / sine).add(q.scale(math.Sin(u*angle) / sine))
	}
	return p.scale(1 - u).add(q.scale(u)).unit()
}

// euler is roll, pitch and yaw in rad about fixed axes: Rz·Ry·Rx.
type euler [3]float64

// quaternion returns the rotation of e as a quaternion of length 1.
func (e euler) quaternion() quaternion {
	sr, cr := math.Sincos(e[0] / 2)
	sp, cp := math.Sincos(e[1] / 2)
	sy, cy := math.Sincos(e[2] / 2)
	return quaternion{
		sr*cp*cy - cr*sp*sy,
		cr*sp*cy + sr*cp*sy,
		cr*cp*sy - sr*sp*cy,
		cr*cp*cy + sr*sp*sy,
	}
}

// euler returns the rotation of q, which has length 1, as angles. A rotation has two sets of angles, and many if the
// pitch is a right angle; euler returns the set nearest to near.
func (q quaternion) euler(near euler) euler {
	x, y, z, w := q[0], q[1], q[2], q[3]
	m00, m10, m20 := 1-2*(y*y+z*z), 2*(x*y+w*z), 2*(x*z-w*y)
	m01, m11 := 2*(x*y-w*z), 1-2*(x*x+z*z)
	m21, m22 := 2*(y*z+w*x), 1-2*(x*x+y*y)
	cosine := math.Hypot(m00, m10)
	pitch := math.Atan2(-m20, cosine)
	if cosine < 1e-7 { // only the sum or difference of roll and yaw is determined
		roll, yaw := near[0], math.Atan2(-m01, m11)
		if pitch > 0 {
			yaw += roll
		} else {
			yaw -= roll
		}
		return euler{wrap(roll, math.Pi), pitch, wrap(yaw, math.Pi)}
	}
	a := euler{math.Atan2(m21, m22), pitch, math.Atan2(m10, m00)}
	b := euler{a[0] + math.Pi, math.Pi - a[1], a[2] + math.Pi}
	if b.distance(near) < a.distance(near) {
		a = b
	}
	return euler{wrap(a[0], math.Pi), wrap(a[1], math.Pi), wrap(a[2], math.Pi)}
}

// distance returns the sum of the absolute differences of the angles.
func (e euler) distance(f euler) float64 {
	var sum float64
	for i := range e {
		sum += math.Abs(wrap(e[i]-f[i], math.Pi))
	}
	return sum
}

// turn interpolates from e (u = 0) to f (u = 1) along the shortest rotation.
func (e euler) turn(f euler, u float64) euler {
	near := e
	for i := range near {
		near[i] += u * wrap(f[i]-e[i], math.Pi)
	}
	return slerp(e.quaternion(), f.quaternion(), u).unit().euler(near)
}

// ToQuaternion returns the rotation by roll, pitch and yaw in rad about fixed axes (Rz·Ry·Rx).
func ToQuaternion(roll, pitch, yaw float64) (x, y, z, w float64) {
	q := euler{roll, pitch, yaw}.quaternion()
	return q[0], q[1], q[2], q[3]
}

// ToEuler is the reverse of ToQuaternion. Pitch is from -π/2 to π/2; roll and yaw are greater than -π and at most
// π. All three are NaN if the quaternion's length is 0 or not finite.
func ToEuler(x, y, z, w float64) (roll, pitch, yaw float64) {
	e := quaternion{x, y, z, w}.unit().euler(euler{})
	if math.Cos(e[1]) < 0 { // take the other set of angles
		e = euler{wrap(e[0]+math.Pi, math.Pi), wrap(math.Pi-e[1], math.Pi), wrap(e[2]+math.Pi, math.Pi)}
	}
	return e[0], e[1], e[2]
}

// wrap returns the angle a plus whole turns, so that it is greater than -half and at most half. half is half a turn.
func wrap(a, half float64) float64 {
	if a > -half && a <= half {
		return a
	}
	a = math.Remainder(a, 2*half)
	if a <= -half {
		return half
	}
	return a
}
