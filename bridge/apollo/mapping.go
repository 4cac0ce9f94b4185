package apollo

import (
	"math"
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// mapping is what becomes of the messages of one type.
type mapping struct {
	targets   []target // what is generated comes last
	translate func(d protoreflect.MessageDescriptor, source *codec.Message, emit func(target int, m msgs.Message)) error
	// reads returns the paths of the fields that translate makes something of. It is nil if all is in what is generated.
	reads func(d protoreflect.MessageDescriptor) []string
}

// target is one message that a message becomes.
type target struct {
	topic    string // absolute, or what is added to Apollo's
	typeName string // or generated
}

const (
	// generated stands for the type that is generated.
	generated = ""
	// whole is added to the topic of what is generated if something else is on Apollo's own.
	whole = "_whole"
)

// unmapped is for types that ROS 2 has nothing for.
var unmapped = &mapping{targets: []target{{"", generated}}}

// byField is a mapping of messages whose fields are looked up.
func byField(translate func(m message, emit func(target int, m msgs.Message)), reads func(protoreflect.MessageDescriptor) []string, targets ...target) *mapping {
	return &mapping{targets, func(d protoreflect.MessageDescriptor, source *codec.Message, emit func(int, msgs.Message)) error {
		return read(d, source.Data, source.LogTime, func(m message) { translate(m, emit) })
	}, reads}
}

// headerPaths are those of the fields that the header of ROS 2 is made of.
var headerPaths = []string{"header.timestamp_sec", "header.lidar_timestamp", "header.camera_timestamp", "header.radar_timestamp", "header.frame_id"}

// withHeader returns the paths of fields and of those of the header.
func withHeader(paths ...string) func(protoreflect.MessageDescriptor) []string {
	return func(protoreflect.MessageDescriptor) []string {
		return slices.Concat(paths, headerPaths, []string{"frame_id"})
	}
}

func transformPaths(protoreflect.MessageDescriptor) []string {
	paths := []string{"transforms.child_frame_id", "transforms.transform"}
	for _, path := range headerPaths {
		paths = append(paths, "transforms."+path)
	}
	return paths
}

// mappings are by the full name of Apollo's type.
var mappings = map[string]*mapping{
	"apollo.drivers.gnss.Imu":          byField(imu, withHeader("linear_acceleration", "angular_velocity"), target{"", "sensor_msgs/msg/Imu"}),
	"apollo.localization.CorrectedImu": byField(correctedIMU, withHeader("imu.linear_acceleration", "imu.angular_velocity", "imu.euler_angles"), target{"", "sensor_msgs/msg/Imu"}),
	"apollo.localization.LocalizationEstimate": byField(localization, nil,
		target{"", "nav_msgs/msg/Odometry"}, target{"/tf", "tf2_msgs/msg/TFMessage"}, target{whole, generated}),
	"apollo.localization.Gps":          byField(gps, nil, target{"", "nav_msgs/msg/Odometry"}, target{whole, generated}),
	"apollo.drivers.gnss.GnssBestPose": byField(bestPose, nil, target{"", "sensor_msgs/msg/NavSatFix"}, target{whole, generated}),
	"apollo.drivers.gnss.Gnss": byField(gnss, nil,
		target{"", "sensor_msgs/msg/NavSatFix"}, target{"_velocity", "geometry_msgs/msg/TwistWithCovarianceStamped"}, target{whole, generated}),
	"apollo.drivers.PointCloud":          {[]target{{"", "sensor_msgs/msg/PointCloud2"}}, pointCloud, pointCloudPaths},
	"apollo.drivers.Image":               byField(image, withHeader("height", "width", "encoding", "step", "data"), target{"", "sensor_msgs/msg/Image"}),
	"apollo.drivers.CompressedImage":     byField(compressedImage, withHeader("format", "data"), target{"", "sensor_msgs/msg/CompressedImage"}),
	"apollo.transform.TransformStampeds": byField(transforms, transformPaths, target{"", "tf2_msgs/msg/TFMessage"}),
	"apollo.canbus.Chassis":              byField(chassis, nil, target{"_twist", "geometry_msgs/msg/TwistStamped"}, target{"", generated}),
	"apollo.planning.ADCTrajectory":      byField(trajectory, nil, target{"", "nav_msgs/msg/Path"}, target{whole, generated}),
	"apollo.control.ControlCommand":      byField(control, nil, target{"", "carla_msgs/msg/CarlaEgoVehicleControl"}, target{whole, generated}),
	"apollo.perception.PerceptionObstacles": byField(obstacles, nil,
		target{"", "vision_msgs/msg/Detection3DArray"}, target{"_markers", "visualization_msgs/msg/MarkerArray"}, target{whole, generated}),
	"apollo.drivers.ContiRadar": byField(radar, nil, target{"", "radar_msgs/msg/RadarTracks"}, target{whole, generated}),
}

// The frames of what has none in the message.
const (
	worldFrame   = "world"
	vehicleFrame = "base_link"
	imuFrame     = "imu"
	gnssFrame    = "gnss"
	radarFrame   = "radar"
)

// imu: the driver publishes right, forward, up, whatever the comments of imu.proto say.
func imu(m message, emit func(int, msgs.Message)) {
	out := &sensor_msgs.Imu{
		Header:             m.header(imuFrame),
		Orientation:        unturned,
		AngularVelocity:    forward(m.vector("angular_velocity")),
		LinearAcceleration: forward(m.vector("linear_acceleration")),
	}
	out.OrientationCovariance[0] = -1 // there is none
	emit(0, out)
}

func correctedIMU(m message, emit func(int, msgs.Message)) {
	pose := m.sub("imu")
	out := &sensor_msgs.Imu{
		Header:             m.header(imuFrame),
		Orientation:        unturned,
		AngularVelocity:    forward(pose.vector("angular_velocity")),
		LinearAcceleration: forward(pose.vector("linear_acceleration")),
	}
	if pose.has("euler_angles") {
		// Roll is about the axis that looks forward, y, and pitch about the one that looks right, x.
		angles := pose.vector("euler_angles")
		out.Orientation = facing(multiply(multiply(about(2, angles.Z), about(0, angles.Y)), about(1, angles.X)))
	} else {
		out.OrientationCovariance[0] = -1
	}
	emit(0, out)
}

func localization(m message, emit func(int, msgs.Message)) {
	out := odometry(m, m.sub("pose"))
	if u := m.sub("uncertainty"); u.d != nil {
		q := out.Pose.Pose.Orientation
		spread(&out.Pose.Covariance, linearBlock, u.vector("position_std_dev"), unturned)
		spread(&out.Pose.Covariance, angularBlock, u.vector("orientation_std_dev"), unturned)
		spread(&out.Twist.Covariance, linearBlock, u.vector("linear_velocity_std_dev"), q)
		spread(&out.Twist.Covariance, angularBlock, u.vector("angular_velocity_std_dev"), q)
	}
	emit(0, out)
	emit(1, &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{
		Header: out.Header, ChildFrameId: out.ChildFrameId,
		Transform: geometry_msgs.Transform{Translation: geometry_msgs.Vector3(out.Pose.Pose.Position), Rotation: out.Pose.Pose.Orientation},
	}}})
}

func gps(m message, emit func(int, msgs.Message)) { emit(0, odometry(m, m.sub("localization"))) }

// odometry returns what a Pose says. ROS wants the velocity in the vehicle's frame, Apollo has it in the world's.
func odometry(m, pose message) *nav_msgs.Odometry {
	out := &nav_msgs.Odometry{Header: m.header(worldFrame), ChildFrameId: vehicleFrame}
	q := facing(pose.orientation("orientation"))
	out.Pose.Pose = geometry_msgs.Pose{Position: pose.position("position"), Orientation: q}
	out.Twist.Twist.Linear = into(q, pose.vector("linear_velocity"))
	out.Twist.Twist.Angular = into(q, pose.vector("angular_velocity"))
	if pose.has("angular_velocity_vrf") {
		out.Twist.Twist.Angular = forward(pose.vector("angular_velocity_vrf"))
	}
	return out
}

func bestPose(m message, emit func(int, msgs.Message)) {
	out := &sensor_msgs.NavSatFix{
		Header:    m.header(gnssFrame),
		Latitude:  m.float("latitude"),
		Longitude: m.float("longitude"),
		Altitude:  m.float("height_msl") + m.known("undulation"), // above the ellipsoid
	}
	out.Status.Service = sensor_msgs.NavSatStatus_SERVICE_GPS
	switch m.enum("sol_type") {
	case 0: // NONE
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	case 17, 18: // PSRDIFF, WAAS
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_SBAS_FIX
	case 48, 49, 50, 51, 56: // L1_INT, WIDE_INT, NARROW_INT, RTK_DIRECT_INS, INS_RTKFIXED
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_GBAS_FIX
	default:
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_FIX
	}
	setCovariance(out, m.known("longitude_std_dev"), m.known("latitude_std_dev"), m.known("height_std_dev"))
	emit(0, out)
}

func gnss(m message, emit func(int, msgs.Message)) {
	position := m.sub("position")
	out := &sensor_msgs.NavSatFix{
		Header:    m.header(gnssFrame),
		Latitude:  position.float("lat"),
		Longitude: position.float("lon"),
		Altitude:  position.known("height"),
	}
	out.Status.Service = sensor_msgs.NavSatStatus_SERVICE_GPS
	switch m.enum("type") {
	case 0: // INVALID
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	case 3: // PSRDIFF
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_SBAS_FIX
	case 4, 5, 6: // PPP, RTK_FLOAT, RTK_INTEGER
		out.Status.Status = sensor_msgs.NavSatStatus_STATUS_GBAS_FIX
	}
	deviation := m.vector("position_std_dev")
	setCovariance(out, deviation.X, deviation.Y, deviation.Z)
	emit(0, out)
	velocity := &geometry_msgs.TwistWithCovarianceStamped{Header: m.header(gnssFrame)}
	velocity.Header.FrameId = worldFrame
	velocity.Twist.Twist.Linear = m.vector("linear_velocity")
	spread(&velocity.Twist.Covariance, linearBlock, m.vector("linear_velocity_std_dev"), unturned)
	emit(1, velocity)
}

// setCovariance sets it from standard deviations to the east, north and up, in m.
func setCovariance(fix *sensor_msgs.NavSatFix, east, north, up float64) {
	if east == 0 && north == 0 && up == 0 {
		return // not known
	}
	fix.PositionCovariance = [9]float64{0: east * east, 4: north * north, 8: up * up}
	fix.PositionCovarianceType = sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN
}

func image(m message, emit func(int, msgs.Message)) {
	encoding := m.text("encoding")
	if encoding == "yuyv" {
		encoding = "yuv422_yuy2"
	}
	emit(0, &sensor_msgs.Image{
		Header: m.header(""), Height: uint32(m.uint("height")), Width: uint32(m.uint("width")),
		Encoding: encoding, Step: uint32(m.uint("step")), Data: m.bytes("data"),
	})
}

func compressedImage(m message, emit func(int, msgs.Message)) {
	emit(0, &sensor_msgs.CompressedImage{Header: m.header(""), Format: m.text("format"), Data: m.bytes("data")})
}

func transforms(m message, emit func(int, msgs.Message)) {
	out := &tf2_msgs.TFMessage{}
	for _, t := range m.list("transforms") {
		transform := t.sub("transform")
		out.Transforms = append(out.Transforms, geometry_msgs.TransformStamped{
			Header: t.header(""), ChildFrameId: t.text("child_frame_id"),
			Transform: geometry_msgs.Transform{Translation: transform.vector("translation"), Rotation: transform.orientation("rotation")},
		})
	}
	emit(0, out)
}

// chassis has nothing like it in ROS but the speed.
func chassis(m message, emit func(int, msgs.Message)) {
	out := &geometry_msgs.TwistStamped{Header: m.header(vehicleFrame)}
	out.Twist.Linear.X = m.known("speed_mps")
	emit(0, out)
}

func trajectory(m message, emit func(int, msgs.Message)) {
	out := &nav_msgs.Path{Header: m.header(worldFrame)}
	start := int64(out.Header.Stamp.Sec)*1e9 + int64(out.Header.Stamp.Nanosec)
	points := m.list("trajectory_point")
	out.Poses = make([]geometry_msgs.PoseStamped, 0, len(points))
	for _, p := range points {
		point := p.sub("path_point")
		pose := geometry_msgs.PoseStamped{Header: out.Header}
		pose.Header.Stamp = stamp(start + int64(math.Round(p.known("relative_time")*1e9)))
		pose.Pose.Position = geometry_msgs.Point{X: point.known("x"), Y: point.known("y"), Z: point.known("z")}
		pose.Pose.Orientation = about(2, point.known("theta"))
		out.Poses = append(out.Poses, pose)
	}
	emit(0, out)
}

// Gears of apollo.canbus.Chassis.GearPosition.
const (
	gearNeutral = 0
	gearDrive   = 1
	gearReverse = 2
	gearLow     = 4
)

// control: Apollo's are percentages, and its steering wheel turns left where CARLA's turns right.
func control(m message, emit func(int, msgs.Message)) {
	out := &carla_msgs.CarlaEgoVehicleControl{
		Header:    m.header(""),
		Throttle:  float32(m.known("throttle") / 100),
		Brake:     float32(m.known("brake") / 100),
		Steer:     float32(-m.known("steering_target") / 100),
		HandBrake: m.bool("parking_brake"),
	}
	switch m.enum("gear_location") {
	case gearDrive, gearLow:
		out.Gear = 1
	case gearReverse:
		out.Gear, out.Reverse = -1, true
	case gearNeutral:
	}
	emit(0, out)
}
