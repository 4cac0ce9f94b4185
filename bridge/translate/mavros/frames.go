package mavros

import (
	"math"

	"tapedeck/msgs/geometry_msgs"
)

// vector is a vector in three dimensions.
type vector [3]float64

// matrix is a rotation, row by row.
type matrix [3]vector

// axes is a rotation from MAVLink's axes to ROS's axes.
type axes struct {
	q geometry_msgs.Quaternion
	m matrix // the rotation q as a matrix
}

// MAVLink's world axes are north, east, down (NED), and its body axes are forward, right, down (FRD). The axes of ROS
// (REP 103) are east, north, up (ENU) and forward, left, up (FLU).
var (
	identity = axes{geometry_msgs.Quaternion{W: 1}, matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}
	toENU    = axes{geometry_msgs.Quaternion{X: math.Sqrt2 / 2, Y: math.Sqrt2 / 2},
		matrix{{0, 1, 0}, {1, 0, 0}, {0, 0, -1}}}
	toFLU = axes{geometry_msgs.Quaternion{X: 1}, matrix{{1, 0, 0}, {0, -1, 0}, {0, 0, -1}}}
)

func newVector[T int16 | float32](x, y, z T) vector {
	return vector{float64(x), float64(y), float64(z)}
}

func (v vector) scale(f float64) vector { return vector{f * v[0], f * v[1], f * v[2]} }

func (v vector) dot(w vector) float64 { return v[0]*w[0] + v[1]*w[1] + v[2]*w[2] }

func (v vector) vector3() geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v[0], Y: v[1], Z: v[2]}
}

func (v vector) point() geometry_msgs.Point { return geometry_msgs.Point{X: v[0], Y: v[1], Z: v[2]} }

func (m matrix) rotate(v vector) vector { return vector{m[0].dot(v), m[1].dot(v), m[2].dot(v)} }

func (m matrix) transposed() (t matrix) {
	for i := range 3 {
		for j := range 3 {
			t[i][j] = m[j][i]
		}
	}
	return t
}

func (m matrix) times(n matrix) (p matrix) {
	t := n.transposed()
	for i := range 3 {
		p[i] = t.rotate(m[i])
	}
	return p
}

func newQuaternion(w, x, y, z float32) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{X: float64(x), Y: float64(y), Z: float64(z), W: float64(w)}
}

// convertAttitude converts the attitude q of a body in the world to other axes of body and world.
func convertAttitude(q geometry_msgs.Quaternion, world, body axes) geometry_msgs.Quaternion {
	return world.q.Times(q).Times(body.q.Conjugate())
}

// rotation returns the matrix of a quaternion of length 1.
func rotation(q geometry_msgs.Quaternion) matrix {
	w, x, y, z := q.W, q.X, q.Y, q.Z
	return matrix{
		{1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y)},
		{2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x)},
		{2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y)},
	}
}

// covariance is a 6×6 matrix, row by row: of position and rotation, or of velocity and angular rates.
type covariance [36]float64

// unknownCovariance returns the covariance that marks an unknown accuracy, as in sensor_msgs/Imu.
func unknownCovariance() covariance { return covariance{-1} }

// fromTriangle returns the covariance with an upper right triangle, which MAVLink sends row by row. The covariance is
// unknown if the triangle begins with NaN.
func fromTriangle(upper *[21]float32) (c covariance) {
	if math.IsNaN(float64(upper[0])) {
		return unknownCovariance()
	}
	next := 0
	for i := range 6 {
		for j := i; j < 6; j++ {
			c[6*i+j], c[6*j+i] = float64(upper[next]), float64(upper[next])
			next++
		}
	}
	return c
}

// rotated converts a covariance to other axes. linear applies to the first three rows and columns, angular to the last
// three.
func (c covariance) rotated(linear, angular matrix) (r covariance) {
	if c[0] < 0 {
		return c
	}
	rotations := [2]matrix{linear, angular}
	for block := range 4 {
		i, j := block/2, block%2
		first := 18*i + 3*j
		var m matrix
		for row := range m {
			m[row] = vector(c[first+6*row : first+6*row+3])
		}
		m = rotations[i].times(m).times(rotations[j].transposed())
		for row := range m {
			copy(r[first+6*row:], m[row][:])
		}
	}
	return r
}

// WGS 84 ellipsoid.
const (
	wgs84A  = 6378137.0             // m
	wgs84F  = 1 / 298.257223563     // flattening
	wgs84E2 = wgs84F * (2 - wgs84F) // square of the eccentricity
)

// earthFixed returns a position in the Earth-fixed frame (ECEF), in m. Latitude and longitude are in degrees, the
// altitude is in m above the ellipsoid.
func earthFixed(latitude, longitude, altitude float64) vector {
	sinLat, cosLat := math.Sincos(latitude * math.Pi / 180)
	sinLon, cosLon := math.Sincos(longitude * math.Pi / 180)
	n := wgs84A / math.Sqrt(1-wgs84E2*sinLat*sinLat)
	return vector{(n + altitude) * cosLat * cosLon, (n + altitude) * cosLat * sinLon,
		(n*(1-wgs84E2) + altitude) * sinLat}
}

// tangentPlane converts positions to east, north, up from an origin.
type tangentPlane struct {
	origin vector // in the Earth-fixed frame, in m
	toENU  matrix
}

func newTangentPlane(latitude, longitude, altitude float64) *tangentPlane {
	sinLat, cosLat := math.Sincos(latitude * math.Pi / 180)
	sinLon, cosLon := math.Sincos(longitude * math.Pi / 180)
	return &tangentPlane{origin: earthFixed(latitude, longitude, altitude), toENU: matrix{
		{-sinLon, cosLon, 0},
		{-sinLat * cosLon, -sinLat * sinLon, cosLat},
		{cosLat * cosLon, cosLat * sinLon, sinLat},
	}}
}

// place returns a position relative to the origin, in m.
func (p *tangentPlane) place(latitude, longitude, altitude float64) vector {
	v := earthFixed(latitude, longitude, altitude)
	return p.toENU.rotate(vector{v[0] - p.origin[0], v[1] - p.origin[1], v[2] - p.origin[2]})
}
