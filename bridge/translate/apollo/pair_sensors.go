package apollo

import (
	"math"

	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// Frames of messages that do not name a frame.
const (
	worldFrame   = "world"
	vehicleFrame = "base_link"
	imuFrame     = "imu"
	gnssFrame    = "gnss"
	radarFrame   = "radar"
)

// imu exchanges an Imu. The driver's axes are right, forward, up, although the comments of imu.proto differ.
func imu(x exchanger, m *sensor_msgs.Imu) {
	x.header(&m.Header, imuFrame, "")
	if !x.toROS2 {
		x.out.number("measurement_time", gpsSeconds(m.Header.Stamp.Nanoseconds()))
	}
	x.vehicleVector("linear_acceleration", &m.LinearAcceleration)
	x.vehicleVector("angular_velocity", &m.AngularVelocity)
	if x.toROS2 {
		setNoOrientation(m)
		return
	}
	x.lose(hasOrientation(m), "orientation")
	x.loseCovariances(m)
}

func correctedIMU(x exchanger, m *sensor_msgs.Imu) {
	x.header(&m.Header, imuFrame, "")
	x.message("imu", func(x exchanger) {
		x.vehicleVector("linear_acceleration", &m.LinearAcceleration)
		x.vehicleVector("angular_velocity", &m.AngularVelocity)
		switch {
		case x.toROS2 && x.in.has("euler_angles"):
			// Roll is about the axis that looks forward, y, and pitch about the one that looks right, x.
			angles := x.in.vector("euler_angles")
			yawAndPitch := rotationAbout(2, angles.Z).Times(rotationAbout(0, angles.Y))
			m.Orientation = orientationToFLU(yawAndPitch.Times(rotationAbout(1, angles.X)))
		case x.toROS2:
			setNoOrientation(m)
		case hasOrientation(m):
			x.out.vector("euler_angles", euler(orientationToRFU(m.Orientation)))
			x.out.number("heading", yaw(m.Orientation))
		}
	})
	x.loseCovariances(m)
}

// A message has no orientation if its covariance begins with -1 or its quaternion is not set.

func hasOrientation(m *sensor_msgs.Imu) bool {
	return m.OrientationCovariance[0] != -1 && m.Orientation != geometry_msgs.Quaternion{}
}

func setNoOrientation(m *sensor_msgs.Imu) { m.Orientation, m.OrientationCovariance[0] = identity, -1 }

// loseCovariances counts the covariances that a message has, because Apollo cannot hold them.
func (x exchanger) loseCovariances(m *sensor_msgs.Imu) {
	if x.toROS2 {
		return
	}
	isSet := func(c *[9]float64) bool { return c[0] != -1 && *c != [9]float64{} }
	x.lose(isSet(&m.OrientationCovariance), "orientation_covariance")
	x.lose(isSet(&m.AngularVelocityCovariance), "angular_velocity_covariance")
	x.lose(isSet(&m.LinearAccelerationCovariance), "linear_acceleration_covariance")
}

func localization(x exchanger, m *nav_msgs.Odometry) {
	x.header(&m.Header, worldFrame, "")
	x.message("pose", func(x exchanger) { x.pose(m) })
	x.measurementTime(&m.Header)
	pose, twist, q := &m.Pose.Covariance, &m.Twist.Covariance, m.Pose.Pose.Orientation
	if x.toROS2 && x.in.has("uncertainty") || *pose != [36]float64{} || *twist != [36]float64{} {
		x.message("uncertainty", func(x exchanger) {
			x.deviation("position_std_dev", pose, linearBlock, identity)
			x.deviation("orientation_std_dev", pose, angularBlock, identity)
			x.deviation("linear_velocity_std_dev", twist, linearBlock, q)
			x.deviation("angular_velocity_std_dev", twist, angularBlock, q)
		})
	}
	if !x.toROS2 {
		x.lose(hasCrossCovariance(pose) || hasCrossCovariance(twist), "covariances between axes")
		return
	}
	*x.extra = append(*x.extra, &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{
		Header: m.Header, ChildFrameId: m.ChildFrameId,
		Transform: geometry_msgs.Transform{Translation: geometry_msgs.Vector3(m.Pose.Pose.Position), Rotation: q},
	}}})
}

func gps(x exchanger, m *nav_msgs.Odometry) {
	x.header(&m.Header, worldFrame, "")
	x.message("localization", func(x exchanger) { x.pose(m) })
	x.lose(m.Pose.Covariance != [36]float64{} || m.Twist.Covariance != [36]float64{}, "covariances")
}

// pose exchanges a Pose. Velocities are in the world's frame in a Pose, and in the vehicle's frame in an Odometry.
func (x exchanger) pose(m *nav_msgs.Odometry) {
	pose, twist := &m.Pose.Pose, &m.Twist.Twist
	x.vector("position", (*geometry_msgs.Vector3)(&pose.Position))
	if x.toROS2 {
		m.ChildFrameId = vehicleFrame
		pose.Orientation = orientationToFLU(x.in.orientation("orientation"))
		twist.Linear = pose.Orientation.RotateBack(x.in.vector("linear_velocity"))
		twist.Angular = pose.Orientation.RotateBack(x.in.vector("angular_velocity"))
		if x.in.has("angular_velocity_vrf") {
			twist.Angular = toFLU(x.in.vector("angular_velocity_vrf"))
		}
		return
	}
	x.out.orientation("orientation", orientationToRFU(pose.Orientation))
	x.out.vector("linear_velocity", pose.Orientation.Rotate(twist.Linear))
	x.out.vector("angular_velocity", pose.Orientation.Rotate(twist.Angular))
	x.out.number("heading", yaw(pose.Orientation))
	x.out.vector("angular_velocity_vrf", toRFU(twist.Angular))
	x.lose(m.ChildFrameId != "" && m.ChildFrameId != vehicleFrame, "child_frame_id")
}

// Numbers of enums of apollo.drivers.gnss.
const (
	solutionComputed = 0
	solutionInvalid  = 19
	datumWGS84       = 61
)

// solutionTypes maps NavSatStatus to Apollo's solution types, as Apollo's own bridge does.
var solutionTypes = map[int8]int64{
	sensor_msgs.NavSatStatus_STATUS_NO_FIX:   0,
	sensor_msgs.NavSatStatus_STATUS_FIX:      16,
	sensor_msgs.NavSatStatus_STATUS_SBAS_FIX: 18,
	sensor_msgs.NavSatStatus_STATUS_GBAS_FIX: 50,
}

func bestPose(x exchanger, m *sensor_msgs.NavSatFix) {
	x.header(&m.Header, gnssFrame, "")
	if !x.toROS2 {
		x.writeBestPose(m)
		return
	}
	m.Latitude, m.Longitude = x.in.float("latitude"), x.in.float("longitude")
	m.Altitude = x.in.float("height_msl") + x.in.numberOrZero("undulation") // above the ellipsoid
	m.Status.Service = sensor_msgs.NavSatStatus_SERVICE_GPS
	switch x.in.enum("sol_type") {
	case 0: // NONE
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	case 17, 18: // PSRDIFF, WAAS
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_SBAS_FIX
	case 48, 49, 50, 51, 56: // L1_INT, WIDE_INT, NARROW_INT, RTK_DIRECT_INS, INS_RTKFIXED
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_GBAS_FIX
	default:
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_FIX
	}
	east, north, up := "longitude_std_dev", "latitude_std_dev", "height_std_dev"
	setCovariance(m, x.in.numberOrZero(east), x.in.numberOrZero(north), x.in.numberOrZero(up))
}

func (x exchanger) writeBestPose(m *sensor_msgs.NavSatFix) {
	w := x.out
	w.number("measurement_time", gpsSeconds(m.Header.Stamp.Nanoseconds()))
	solution, known := solutionTypes[m.Status.Status]
	status := int64(solutionComputed)
	if solution == 0 {
		status = solutionInvalid
	}
	w.integer("sol_status", status)
	w.integer("sol_type", solution)
	w.number("latitude", m.Latitude)
	w.number("longitude", m.Longitude)
	w.number("height_msl", m.Altitude) // height_msl + undulation is the height above the ellipsoid
	w.number("undulation", 0)
	w.integer("datum_id", datumWGS84)
	c := m.PositionCovariance
	if m.PositionCovarianceType != sensor_msgs.NavSatFix_COVARIANCE_TYPE_UNKNOWN {
		w.number("latitude_std_dev", math.Sqrt(c[4]))
		w.number("longitude_std_dev", math.Sqrt(c[0]))
		w.number("height_std_dev", math.Sqrt(c[8]))
		c[0], c[4], c[8] = 0, 0, 0
		x.lose(c != [9]float64{}, "position_covariance between axes")
		x.lose(m.PositionCovarianceType != sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN,
			"position_covariance_type")
	}
	x.lose(!known, "status.status")
	x.lose(m.Status.Service > sensor_msgs.NavSatStatus_SERVICE_GPS, "status.service")
}

// gnss reads a Gnss. It does not write, because a NavSatFix becomes a GnssBestPose.
func gnss(x exchanger, m *sensor_msgs.NavSatFix) {
	x.header(&m.Header, gnssFrame, "")
	position := x.in.sub("position")
	m.Latitude, m.Longitude, m.Altitude = position.float("lat"), position.float("lon"), position.numberOrZero("height")
	m.Status.Service = sensor_msgs.NavSatStatus_SERVICE_GPS
	switch x.in.enum("type") {
	case 0: // INVALID
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_NO_FIX
	case 3: // PSRDIFF
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_SBAS_FIX
	case 4, 5, 6: // PPP, RTK_FLOAT, RTK_INTEGER
		m.Status.Status = sensor_msgs.NavSatStatus_STATUS_GBAS_FIX
	}
	deviation := x.in.vector("position_std_dev")
	setCovariance(m, deviation.X, deviation.Y, deviation.Z)
	velocity := &geometry_msgs.TwistWithCovarianceStamped{Header: m.Header}
	velocity.Header.FrameId = worldFrame
	x.vector("linear_velocity", &velocity.Twist.Twist.Linear)
	x.deviation("linear_velocity_std_dev", &velocity.Twist.Covariance, linearBlock, identity)
	*x.extra = append(*x.extra, velocity)
}

// setCovariance sets the covariance from standard deviations east, north and up, in m. Three zeros mean unknown.
func setCovariance(fix *sensor_msgs.NavSatFix, east, north, up float64) {
	if east != 0 || north != 0 || up != 0 {
		fix.PositionCovariance = [9]float64{0: east * east, 4: north * north, 8: up * up}
		fix.PositionCovarianceType = sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN
	}
}

func image(x exchanger, m *sensor_msgs.Image) {
	const apollo, ros = "yuyv", "yuv422_yuy2"
	x.header(&m.Header, "", "camera_timestamp")
	x.frameID(&m.Header)
	x.measurementTime(&m.Header)
	x.uint32("height", &m.Height)
	x.uint32("width", &m.Width)
	if m.Encoding == ros {
		m.Encoding = apollo
	}
	x.text("encoding", &m.Encoding)
	if x.toROS2 && m.Encoding == apollo {
		m.Encoding = ros
	}
	x.uint32("step", &m.Step)
	x.bytes("data", &m.Data)
	x.lose(m.IsBigendian != 0, "is_bigendian")
}

func compressedImage(x exchanger, m *sensor_msgs.CompressedImage) {
	x.header(&m.Header, "", "camera_timestamp")
	x.frameID(&m.Header)
	x.text("format", &m.Format)
	x.bytes("data", &m.Data)
	x.measurementTime(&m.Header)
}

func transforms(x exchanger, m *tf2_msgs.TFMessage) {
	if !x.toROS2 && len(m.Transforms) > 0 {
		x.header(&m.Transforms[0].Header, "", "")
	}
	elements(x, "transforms", &m.Transforms, func(x exchanger, i int) {
		t := &m.Transforms[i]
		x.header(&t.Header, "", "")
		x.text("child_frame_id", &t.ChildFrameId)
		x.message("transform", func(x exchanger) {
			x.vector("translation", &t.Transform.Translation)
			x.orientation("rotation", &t.Transform.Rotation)
		})
	})
}
