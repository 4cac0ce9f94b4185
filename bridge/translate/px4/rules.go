package px4

import (
	"math"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// Frames, named as in mavros.
const (
	mapFrame  = "map"
	odomFrame = "odom" // a frame with an arbitrary heading
	baseFrame = "base_link"
)

// rules are the rules by the names of types without package. The types are of px4_msgs, or, in older logs, the types of
// single topics.
var rules = newRules()

func newRules() map[string]*rule {
	imu, fix := &sensor_msgs.Imu{}, &sensor_msgs.NavSatFix{}
	odometry := &rule{fields: []string{"pose_frame", "position", "q", "velocity_frame", "velocity"},
		topics: []standardTopic{{"odom", &nav_msgs.Odometry{}}}, make: (*state).odometry}
	gps := &rule{fields: []string{"fix_type", "eph", "epv"}, topics: []standardTopic{{"fix", fix}}, make: (*state).gps}
	return map[string]*rule{
		"SensorCombined": {fields: []string{"gyro_rad", "accelerometer_m_s2"}, topics: []standardTopic{{"imu", imu}},
			updatesState: true, make: (*state).sensors},
		"VehicleAttitude": {fields: []string{"q"}, topics: []standardTopic{{"imu", imu}}, updatesState: true,
			make: (*state).imu},
		"VehicleAngularVelocity": {fields: []string{"xyz"}, updatesState: true, make: (*state).angularVelocity},
		"VehicleMagnetometer": {fields: []string{"magnetometer_ga"},
			topics: []standardTopic{{"mag", &sensor_msgs.MagneticField{}}}, make: (*state).magnetometer},
		"VehicleAirData": {fields: []string{"baro_pressure_pa"}, topics: []standardTopic{
			{"pressure", &sensor_msgs.FluidPressure{}}, {"temperature", &sensor_msgs.Temperature{}}},
			make: (*state).air},
		"SensorGps": gps, "VehicleGpsPosition": gps,
		"VehicleGlobalPosition": {
			fields: []string{"lat", "lon", "alt", "eph", "epv"}, topics: []standardTopic{{"fix", fix}},
			make: (*state).globalPosition},
		"VehicleLocalPosition": {fields: []string{"x", "y", "z", "vx", "vy", "vz"},
			topics: []standardTopic{{"odom", &nav_msgs.Odometry{}}}, make: (*state).localPosition},
		"VehicleOdometry": odometry, "EstimatorOdometry": odometry, "VehicleVisualOdometry": odometry,
		"VehicleMocapOdometry": odometry,
		"BatteryStatus": {fields: []string{"voltage_v", "current_a", "remaining"},
			topics: []standardTopic{{"battery", &sensor_msgs.BatteryState{}}}, make: (*state).battery},
		"DistanceSensor": {fields: []string{"min_distance", "max_distance", "current_distance"},
			topics: []standardTopic{{"range", &sensor_msgs.Range{}}}, make: (*state).distance},
	}
}

// values are the fields of a message.
type values struct{ *cdr.Struct }

// number returns a field as a number, or NaN if the field is missing.
func (v values) number(name string) float64 {
	switch n := v.Get(name).(type) {
	case float32:
		return float64(n)
	case float64:
		return n
	case uint8:
		return float64(n)
	case int32:
		return float64(n)
	case uint32:
		return float64(n)
	case uint16:
		return float64(n)
	case bool:
		if n {
			return 1
		}
		return 0
	}
	return math.NaN()
}

// list returns the first n numbers of an array field. Missing numbers are NaN.
func (v values) list(name string, n int) []float64 {
	out := make([]float64, n)
	given, _ := v.Get(name).([]float32)
	for i := range out {
		out[i] = math.NaN()
		if i < len(given) {
			out[i] = float64(given[i])
		}
	}
	return out
}

func (v values) vector(name string) geometry_msgs.Vector3 {
	n := v.list(name, 3)
	return geometry_msgs.Vector3{X: n[0], Y: n[1], Z: n[2]}
}

func (v values) quaternion(name string) geometry_msgs.Quaternion {
	n := v.list(name, 4)
	return geometry_msgs.Quaternion{W: n[0], X: n[1], Y: n[2], Z: n[3]}
}

// toENU converts a vector from the axes north, east, down to the axes east, north, up.
func toENU(v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v.Y, Y: v.X, Z: -v.Z}
}

// toFLU converts a vector from the axes forward, right, down to the axes forward, left, up.
func toFLU(v geometry_msgs.Vector3) geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v.X, Y: -v.Y, Z: -v.Z}
}

// isKnown reports whether no component of a vector is NaN.
func isKnown(v geometry_msgs.Vector3) bool { return !math.IsNaN(v.X + v.Y + v.Z) }

var unknownAttitude = geometry_msgs.Quaternion{W: math.NaN(), X: math.NaN(), Y: math.NaN(), Z: math.NaN()}

// attitudeInENU converts PX4's attitude, which turns forward-right-down into north-east-down. The result turns
// forward-left-up into east-north-up.
func attitudeInENU(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	const half = math.Sqrt2 / 2
	return geometry_msgs.Quaternion{W: half * (q.W + q.Z), X: half * (q.X + q.Y), Y: half * (q.X - q.Y),
		Z: half * (q.W - q.Z)}
}

// attitudeInFLU converts an attitude in a world of forward, right, down. The result turns forward-left-up into a world
// of forward, left, up.
func attitudeInFLU(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{W: q.W, X: q.X, Y: -q.Y, Z: -q.Z}
}

// state is the state of a vehicle, from its messages so far.
type state struct {
	stamp       builtin_interfaces.Time  // time of the current message
	ownEstimate bool                     // translation.ownEstimate of the current message
	attitude    geometry_msgs.Quaternion // forward-left-up in east-north-up

	rates, acceleration       geometry_msgs.Vector3 // forward, left, up
	hasRates, hasAcceleration bool
}

// begin prepares s for the next message.
func (s *state) begin(m *codec.Message, ownEstimate bool) {
	t := m.PublishTime
	if t == 0 {
		t = m.LogTime
	}
	s.stamp, s.ownEstimate = builtin_interfaces.TimeAt(t), ownEstimate
}

func (s *state) header(frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: s.stamp, FrameId: frame}
}

// unknown9 marks a covariance of three numbers as unknown.
var unknown9 = [9]float64{-1}

func (s *state) sensors(v values) []msgs.Message {
	const invalid = math.MaxInt32
	acceleration := toFLU(v.vector("accelerometer_m_s2"))
	s.rates, s.hasRates = toFLU(v.vector("gyro_rad")), true
	m := &sensor_msgs.Imu{Header: s.header(baseFrame), Orientation: geometry_msgs.Quaternion{W: 1},
		OrientationCovariance: unknown9, AngularVelocity: s.rates, LinearAcceleration: acceleration}
	if v.number("accelerometer_timestamp_relative") == invalid {
		m.LinearAccelerationCovariance = unknown9
	} else {
		s.acceleration, s.hasAcceleration = acceleration, true
	}
	return []msgs.Message{m}
}

func (s *state) angularVelocity(v values) []msgs.Message {
	if s.ownEstimate {
		s.rates, s.hasRates = toFLU(v.vector("xyz")), true
	}
	return nil
}

func (s *state) imu(v values) []msgs.Message {
	q := attitudeInENU(v.quaternion("q"))
	if s.ownEstimate {
		s.attitude = q
	}
	m := &sensor_msgs.Imu{Header: s.header(baseFrame), Orientation: q, AngularVelocityCovariance: unknown9,
		LinearAccelerationCovariance: unknown9}
	if s.hasRates {
		m.AngularVelocity, m.AngularVelocityCovariance = s.rates, [9]float64{}
	}
	if s.hasAcceleration {
		m.LinearAcceleration, m.LinearAccelerationCovariance = s.acceleration, [9]float64{}
	}
	return []msgs.Message{m}
}

func (s *state) magnetometer(v values) []msgs.Message {
	const gauss = 1e-4 // T
	field := toFLU(v.vector("magnetometer_ga"))
	field = geometry_msgs.Vector3{X: field.X * gauss, Y: field.Y * gauss, Z: field.Z * gauss}
	return []msgs.Message{&sensor_msgs.MagneticField{Header: s.header(baseFrame), MagneticField: field}}
}

func (s *state) air(v values) []msgs.Message {
	celsius := v.number("ambient_temperature")
	if math.IsNaN(celsius) {
		celsius = v.number("baro_temp_celcius") //nolint:misspell // name of the field in older versions
	}
	return []msgs.Message{
		&sensor_msgs.FluidPressure{Header: s.header(baseFrame), FluidPressure: v.number("baro_pressure_pa")},
		&sensor_msgs.Temperature{Header: s.header(baseFrame), Temperature: celsius},
	}
}

func (s *state) gps(v values) []msgs.Message {
	m := s.fix(v.number("latitude_deg"), v.number("longitude_deg"), v.number("altitude_ellipsoid_m"), v)
	if math.IsNaN(m.Latitude) { // before PX4 1.14
		m.Latitude, m.Longitude, m.Altitude = v.number("lat")*1e-7, v.number("lon")*1e-7, v.number("alt_ellipsoid")*1e-3
	}
	if v.number("fix_type") <= 2 {
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	}
	return []msgs.Message{m}
}

func (s *state) globalPosition(v values) []msgs.Message {
	altitude := v.number("alt_ellipsoid")
	if math.IsNaN(altitude) {
		altitude = v.number("alt") // above mean sea level: older logs lack alt_ellipsoid
	}
	m := s.fix(v.number("lat"), v.number("lon"), altitude, v)
	if v.number("lat_lon_valid") == 0 {
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	}
	return []msgs.Message{m}
}

func (s *state) fix(latitude, longitude, altitude float64, v values) *sensor_msgs.NavSatFix {
	m := &sensor_msgs.NavSatFix{Header: s.header(baseFrame), Latitude: latitude, Longitude: longitude,
		Altitude: altitude, PositionCovariance: unknown9}
	m.Status.Service = sensor_msgs.NavSatStatus_SERVICE_GPS
	if h, up := v.number("eph"), v.number("epv"); h > 0 && up > 0 {
		m.PositionCovariance = [9]float64{0: h * h, 4: h * h, 8: up * up}
		m.PositionCovarianceType = sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN
	}
	return m
}

// diagonal sets three elements of the diagonal of a covariance, beginning with element first. An unknown variance marks
// the covariance as unknown.
func diagonal(c *[36]float64, first int, variances geometry_msgs.Vector3) {
	for i, v := range []float64{variances.X, variances.Y, variances.Z} {
		if math.IsNaN(v) {
			c[0] = -1
			return
		}
		c[7*(first+i)] = v
	}
}

func square(v float64) float64 { return v * v }

func (s *state) localPosition(v values) []msgs.Message {
	m := &nav_msgs.Odometry{Header: s.header(mapFrame), ChildFrameId: baseFrame}
	position := geometry_msgs.Vector3{X: v.number("x"), Y: v.number("y"), Z: v.number("z")}
	m.Pose.Pose.Position = geometry_msgs.Point(toENU(position))
	velocity := toENU(geometry_msgs.Vector3{X: v.number("vx"), Y: v.number("vy"), Z: v.number("vz")})
	h, up := square(v.number("eph")), square(v.number("epv"))
	diagonal(&m.Pose.Covariance, 0, geometry_msgs.Vector3{X: h, Y: h, Z: up})
	h, up = square(v.number("evh")), square(v.number("evv"))
	diagonal(&m.Twist.Covariance, 0, geometry_msgs.Vector3{X: h, Y: h, Z: up})
	s.setAttitude(m, s.attitude, velocity)
	if v.number("xy_valid") == 0 || v.number("z_valid") == 0 {
		m.Pose.Covariance[0] = -1
	}
	if v.number("v_xy_valid") == 0 || v.number("v_z_valid") == 0 {
		m.Twist.Covariance[0] = -1
	}
	return []msgs.Message{m}
}

// setAttitude sets attitude and velocity of m. velocity has the axes of the world. If q is unknown, setAttitude marks
// both as unknown.
func (s *state) setAttitude(m *nav_msgs.Odometry, q geometry_msgs.Quaternion, velocity geometry_msgs.Vector3) {
	if math.IsNaN(q.W + q.X + q.Y + q.Z) {
		m.Pose.Pose.Orientation, m.Pose.Covariance[0], m.Twist.Covariance[0] = geometry_msgs.Quaternion{W: 1}, -1, -1
		return
	}
	m.Pose.Pose.Orientation = q
	m.Twist.Twist.Linear = q.RotateBack(velocity)
	if s.hasRates {
		m.Twist.Twist.Angular = s.rates
	}
}

// Frames in VehicleOdometry.
const (
	frameUnknown = 0
	frameNED     = 1
	frameFRD     = 2
	frameBodyFRD = 3
)

func (s *state) odometry(v values) []msgs.Message {
	m := &nav_msgs.Odometry{Header: s.header(mapFrame), ChildFrameId: baseFrame}
	position, q, variance := v.vector("position"), v.quaternion("q"), v.vector("position_variance")
	velocity := v.vector("velocity")
	frame, velocityFrame := v.number("pose_frame"), v.number("velocity_frame")
	if frame == frameFRD {
		m.Header.FrameId = odomFrame
		position, q = toFLU(position), attitudeInFLU(q)
	} else {
		position, q = toENU(position), attitudeInENU(q)
		variance.X, variance.Y = variance.Y, variance.X
	}
	m.Pose.Pose.Position = geometry_msgs.Point(position)
	diagonal(&m.Pose.Covariance, 0, variance)
	diagonal(&m.Pose.Covariance, 3, v.vector("orientation_variance"))
	diagonal(&m.Twist.Covariance, 0, v.vector("velocity_variance"))
	switch {
	case velocityFrame == frameNED && frame == frameNED:
		s.setAttitude(m, q, toENU(velocity))
	case velocityFrame == frameFRD && frame == frameFRD:
		s.setAttitude(m, q, toFLU(velocity))
	case velocityFrame == frameBodyFRD: // the velocity needs no attitude
		variance := m.Twist.Covariance[0]
		s.setAttitude(m, q, geometry_msgs.Vector3{})
		m.Twist.Twist.Linear, m.Twist.Covariance[0] = toFLU(velocity), variance
	default: // the frame is unknown, or is another world frame than the frame of the attitude
		s.setAttitude(m, q, geometry_msgs.Vector3{})
		m.Twist.Covariance[0] = -1
	}
	if rates := toFLU(v.vector("angular_velocity")); isKnown(rates) {
		m.Twist.Twist.Angular = rates
	}
	if !isKnown(position) || frame == frameUnknown {
		m.Pose.Covariance[0] = -1
	}
	return []msgs.Message{m}
}

func (s *state) battery(v values) []msgs.Message {
	nan := float32(math.NaN())
	m := &sensor_msgs.BatteryState{Header: s.header(""), Voltage: float32(v.number("voltage_v")),
		Current: -float32(v.number("current_a")), Percentage: float32(v.number("remaining")),
		Temperature: float32(v.number("temperature")), Charge: nan, Capacity: nan, DesignCapacity: nan,
		Present: v.number("connected") != 0}
	if m.Voltage == 0 {
		m.Voltage = nan
	}
	if m.Current == 1 { // -1 is unknown
		m.Current = nan
	}
	if m.Percentage < 0 {
		m.Percentage = nan
	}
	if mAh := v.number("capacity"); mAh > 0 {
		m.DesignCapacity = float32(mAh / 1e3)
	}
	given, _ := v.Get("voltage_cell_v").([]float32)
	cells := 0
	if n := v.number("cell_count"); n > 0 {
		cells = int(min(n, float64(len(given)))) // n may be too large for an int
	}
	for _, volts := range given[:cells] {
		if volts > 0 {
			m.CellVoltage = append(m.CellVoltage, volts)
		}
	}
	return []msgs.Message{m}
}

// directions are the suffixes of frame names by the orientation of distance sensors. A forward sensor uses baseFrame.
var directions = map[float64]string{2: "_right", 4: "_back", 6: "_left", 24: "_up", 25: "_down", 100: "_custom"}

func (s *state) distance(v values) []msgs.Message {
	m := &sensor_msgs.Range{Header: s.header(baseFrame), RadiationType: sensor_msgs.Range_INFRARED,
		FieldOfView: float32(v.number("h_fov")), MinRange: float32(v.number("min_distance")),
		MaxRange: float32(v.number("max_distance")), Range: float32(v.number("current_distance"))}
	if name, ok := directions[v.number("orientation")]; ok {
		m.Header.FrameId = "distance_sensor" + name
	}
	const ultrasound = 1
	if v.number("type") == ultrasound {
		m.RadiationType = sensor_msgs.Range_ULTRASOUND
	}
	if variance := v.number("variance"); variance > 0 {
		m.Variance = float32(variance)
	}
	return []msgs.Message{m}
}
