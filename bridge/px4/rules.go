package px4

import (
	"math"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// Frames, as in mavros.
const (
	mapFrame  = "map"
	odomFrame = "odom" // of an arbitrary heading
	baseFrame = "base_link"
)

// rules are by the names of types: those of px4_msgs, and of topics that have types of their own in older logs.
var rules map[string]*rule

func init() {
	imu, fix := &sensor_msgs.Imu{}, &sensor_msgs.NavSatFix{}
	odometry := &rule{fields: []string{"pose_frame", "position", "q", "velocity_frame", "velocity"},
		topics: []output{{"odom", &nav_msgs.Odometry{}}}, make: (*state).odometry}
	gps := &rule{fields: []string{"fix_type", "eph", "epv"}, topics: []output{{"fix", fix}}, make: (*state).gps}
	rules = map[string]*rule{
		"SensorCombined": {fields: []string{"gyro_rad", "accelerometer_m_s2"}, topics: []output{{"imu", imu}},
			learns: true, make: (*state).sensors},
		"VehicleAttitude": {fields: []string{"q"}, topics: []output{{"imu", imu}}, learns: true,
			make: (*state).imu},
		"VehicleAngularVelocity": {fields: []string{"xyz"}, learns: true, make: (*state).angularVelocity},
		"VehicleMagnetometer": {fields: []string{"magnetometer_ga"},
			topics: []output{{"mag", &sensor_msgs.MagneticField{}}}, make: (*state).magnetometer},
		"VehicleAirData": {fields: []string{"baro_pressure_pa"}, topics: []output{
			{"pressure", &sensor_msgs.FluidPressure{}}, {"temperature", &sensor_msgs.Temperature{}}},
			make: (*state).air},
		"SensorGps": gps, "VehicleGpsPosition": gps,
		"VehicleGlobalPosition": {fields: []string{"lat", "lon", "alt", "eph", "epv"}, topics: []output{{"fix", fix}},
			make: (*state).globalPosition},
		"VehicleLocalPosition": {fields: []string{"x", "y", "z", "vx", "vy", "vz"},
			topics: []output{{"odom", &nav_msgs.Odometry{}}}, make: (*state).localPosition},
		"VehicleOdometry": odometry, "EstimatorOdometry": odometry, "VehicleVisualOdometry": odometry,
		"VehicleMocapOdometry": odometry,
		"BatteryStatus": {fields: []string{"voltage_v", "current_a", "remaining"},
			topics: []output{{"battery", &sensor_msgs.BatteryState{}}}, make: (*state).battery},
		"DistanceSensor": {fields: []string{"min_distance", "max_distance", "current_distance"},
			topics: []output{{"range", &sensor_msgs.Range{}}}, make: (*state).distance},
	}
}

// values are the fields of a message.
type values struct{ *cdr.Struct }

// number returns a field as a number, NaN if there is none.
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

// list returns a field of several numbers, n of them: NaN where there are none.
func (v values) list(name string, n int) []float64 {
	out := make([]float64, n)
	given, _ := v.Get(name).([]float32)
	for i := range out {
		if out[i] = math.NaN(); i < len(given) {
			out[i] = float64(given[i])
		}
	}
	return out
}

func (v values) vector(name string) vector { return vector(v.list(name, 3)) }

// vector is x, y, z.
type vector [3]float64

// enu returns a vector in north, east, down as east, north, up.
func (v vector) enu() vector { return vector{v[1], v[0], -v[2]} }

// flu returns a vector in forward, right, down as forward, left, up.
func (v vector) flu() vector { return vector{v[0], -v[1], -v[2]} }

func (v vector) vector3() geometry_msgs.Vector3 {
	return geometry_msgs.Vector3{X: v[0], Y: v[1], Z: v[2]}
}

func (v vector) known() bool { return !math.IsNaN(v[0] + v[1] + v[2]) }

// quaternion is w, x, y, z.
type quaternion [4]float64

var unknownQuaternion = quaternion{math.NaN(), math.NaN(), math.NaN(), math.NaN()}

func (v values) quaternion(name string) quaternion { return quaternion(v.list(name, 4)) }

// enu returns PX4's attitude, of forward-right-down in north-east-down, as that of forward-left-up in east-north-up.
func (q quaternion) enu() quaternion {
	const half = math.Sqrt2 / 2
	return quaternion{half * (q[0] + q[3]), half * (q[1] + q[2]), half * (q[1] - q[2]), half * (q[0] - q[3])}
}

// flu returns an attitude in a world of forward, right, down as that of forward-left-up in forward-left-up.
func (q quaternion) flu() quaternion { return quaternion{q[0], q[1], -q[2], -q[3]} }

func (q quaternion) known() bool { return !math.IsNaN(q[0] + q[1] + q[2] + q[3]) }

func (q quaternion) message() geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{W: q[0], X: q[1], Y: q[2], Z: q[3]}
}

// state is what was learned from earlier messages.
type state struct {
	stamp    builtin_interfaces.Time // of the message
	own      bool                    // it is of the vehicle's own estimate
	attitude quaternion              // forward-left-up in east-north-up

	rates, acceleration       vector // forward, left, up
	hasRates, hasAcceleration bool
}

// begin begins with a message.
func (s *state) begin(m *codec.Message, own bool) {
	t := m.PublishTime
	if t == 0 {
		t = m.LogTime
	}
	s.stamp, s.own = builtin_interfaces.TimeAt(t), own
}

func (s *state) header(frame string) std_msgs.Header {
	return std_msgs.Header{Stamp: s.stamp, FrameId: frame}
}

var unknown9 = [9]float64{-1}

func (s *state) sensors(v values) []msgs.Message {
	const invalid = math.MaxInt32
	acceleration := v.vector("accelerometer_m_s2").flu()
	s.rates, s.hasRates = v.vector("gyro_rad").flu(), true
	m := &sensor_msgs.Imu{Header: s.header(baseFrame), Orientation: geometry_msgs.Quaternion{W: 1},
		OrientationCovariance: unknown9, AngularVelocity: s.rates.vector3(), LinearAcceleration: acceleration.vector3()}
	if v.number("accelerometer_timestamp_relative") == invalid {
		m.LinearAccelerationCovariance = unknown9
	} else {
		s.acceleration, s.hasAcceleration = acceleration, true
	}
	return []msgs.Message{m}
}

func (s *state) angularVelocity(v values) []msgs.Message {
	if s.own {
		s.rates, s.hasRates = v.vector("xyz").flu(), true
	}
	return nil
}

func (s *state) imu(v values) []msgs.Message {
	q := v.quaternion("q").enu()
	if s.own {
		s.attitude = q
	}
	m := &sensor_msgs.Imu{Header: s.header(baseFrame), Orientation: q.message(), AngularVelocityCovariance: unknown9,
		LinearAccelerationCovariance: unknown9}
	if s.hasRates {
		m.AngularVelocity, m.AngularVelocityCovariance = s.rates.vector3(), [9]float64{}
	}
	if s.hasAcceleration {
		m.LinearAcceleration, m.LinearAccelerationCovariance = s.acceleration.vector3(), [9]float64{}
	}
	return []msgs.Message{m}
}

func (s *state) magnetometer(v values) []msgs.Message {
	const gauss = 1e-4 // T
	field := v.vector("magnetometer_ga").flu()
	for i := range field {
		field[i] *= gauss
	}
	return []msgs.Message{&sensor_msgs.MagneticField{Header: s.header(baseFrame), MagneticField: field.vector3()}}
}

func (s *state) air(v values) []msgs.Message {
	celsius := v.number("ambient_temperature")
	if math.IsNaN(celsius) {
		celsius = v.number("baro_temp_celcius") //nolint:misspell // its name in older versions
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
		altitude = v.number("alt") // above mean sea level: older logs have nothing else
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

// diagonal sets three of the diagonal of a covariance, from the first on; an unknown variance makes it unknown.
func diagonal(c *[36]float64, first int, variances vector) {
	for i, v := range variances {
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
	position := vector{v.number("x"), v.number("y"), v.number("z")}.enu()
	m.Pose.Pose.Position = geometry_msgs.Point(position.vector3())
	velocity := vector{v.number("vx"), v.number("vy"), v.number("vz")}.enu()
	h, up := square(v.number("eph")), square(v.number("epv"))
	diagonal(&m.Pose.Covariance, 0, vector{h, h, up})
	h, up = square(v.number("evh")), square(v.number("evv"))
	diagonal(&m.Twist.Covariance, 0, vector{h, h, up})
	s.turn(m, s.attitude, velocity)
	if v.number("xy_valid") == 0 || v.number("z_valid") == 0 {
		m.Pose.Covariance[0] = -1
	}
	if v.number("v_xy_valid") == 0 || v.number("v_z_valid") == 0 {
		m.Twist.Covariance[0] = -1
	}
	return []msgs.Message{m}
}

// turn sets attitude and velocity, which is given in the axes of the world. Without an attitude both are unknown.
func (s *state) turn(m *nav_msgs.Odometry, q quaternion, velocity vector) {
	if !q.known() {
		m.Pose.Pose.Orientation, m.Pose.Covariance[0], m.Twist.Covariance[0] = geometry_msgs.Quaternion{W: 1}, -1, -1
		return
	}
	m.Pose.Pose.Orientation = q.message()
	m.Twist.Twist.Linear = q.message().RotateBack(velocity.vector3())
	if s.hasRates {
		m.Twist.Twist.Angular = s.rates.vector3()
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
		position, q = position.flu(), q.flu()
	} else {
		position, q = position.enu(), q.enu()
		variance = vector{variance[1], variance[0], variance[2]}
	}
	m.Pose.Pose.Position = geometry_msgs.Point(position.vector3())
	diagonal(&m.Pose.Covariance, 0, variance)
	diagonal(&m.Pose.Covariance, 3, v.vector("orientation_variance"))
	diagonal(&m.Twist.Covariance, 0, v.vector("velocity_variance"))
	switch {
	case velocityFrame == frameNED && frame == frameNED:
		s.turn(m, q, velocity.enu())
	case velocityFrame == frameFRD && frame == frameFRD:
		s.turn(m, q, velocity.flu())
	case velocityFrame == frameBodyFRD: // needs no attitude
		variance := m.Twist.Covariance[0]
		s.turn(m, q, vector{})
		m.Twist.Twist.Linear, m.Twist.Covariance[0] = velocity.flu().vector3(), variance
	default: // unknown, or of another world than the attitude
		s.turn(m, q, vector{})
		m.Twist.Covariance[0] = -1
	}
	if rates := v.vector("angular_velocity").flu(); rates.known() {
		m.Twist.Twist.Angular = rates.vector3()
	}
	if !position.known() || frame == frameUnknown {
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
	n, cells := v.number("cell_count"), 0
	if n > 0 {
		cells = int(n)
	}
	given, _ := v.Get("voltage_cell_v").([]float32)
	for _, volts := range given[:min(cells, len(given))] {
		if volts > 0 {
			m.CellVoltage = append(m.CellVoltage, volts)
		}
	}
	return []msgs.Message{m}
}

// directions are the ends of the names of frames by the orientation of distance sensors; forward is that of baseFrame.
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
