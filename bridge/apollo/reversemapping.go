package apollo

import (
	"math"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
)

// reverseMapping is what the messages of a type of ROS 2 become.
type reverseMapping struct {
	from, to string
	suffix   string                                  // of the topic, which Apollo's has not
	fits     func(t *reverse, c *codec.Channel) bool // says whether a channel's messages become this, nil for always
	begin    func(*reversing, *shape) translation
}

func (m *reverseMapping) topic(name string) string { return strings.TrimSuffix(name, m.suffix) }

// Full names of types that are more than a name in the table.
const (
	imuType          = "apollo.drivers.gnss.Imu"
	correctedIMUType = "apollo.localization.CorrectedImu"
	pointCloudType   = "apollo.drivers.PointCloud"
)

// reverseMappings are in the order in which they are tried.
var reverseMappings = []*reverseMapping{
	{from: "sensor_msgs/msg/Imu", to: correctedIMUType, fits: hasOrientation, begin: reversed(correctedIMUOf)},
	{from: "sensor_msgs/msg/Imu", to: imuType, begin: reversed(imuOf)},
	{from: "nav_msgs/msg/Odometry", to: "apollo.localization.Gps", fits: ofGPS, begin: reversed(gpsOf)},
	{from: "nav_msgs/msg/Odometry", to: "apollo.localization.LocalizationEstimate", begin: reversed(localizationOf)},
	{from: "sensor_msgs/msg/NavSatFix", to: "apollo.drivers.gnss.GnssBestPose", begin: reversed(bestPoseOf)},
	{from: "sensor_msgs/msg/PointCloud2", to: pointCloudType, begin: pointCloudOf},
	{from: "sensor_msgs/msg/Image", to: "apollo.drivers.Image", begin: reversed(imageOf)},
	{from: "sensor_msgs/msg/CompressedImage", to: "apollo.drivers.CompressedImage", begin: reversed(compressedImageOf)},
	{from: "tf2_msgs/msg/TFMessage", to: "apollo.transform.TransformStampeds", begin: reversed(transformsOf)},
	{from: "geometry_msgs/msg/TwistStamped", to: "apollo.canbus.Chassis", suffix: "_twist", fits: ofChassis, begin: reversed(chassisOf)},
	{from: "nav_msgs/msg/Path", to: "apollo.planning.ADCTrajectory", begin: reversed(trajectoryOf)},
	{from: "vision_msgs/msg/Detection3DArray", to: "apollo.perception.PerceptionObstacles", begin: reversed(obstaclesOf)},
	{from: "radar_msgs/msg/RadarTracks", to: "apollo.drivers.ContiRadar", begin: reversed(radarOf)},
	{from: "carla_msgs/msg/CarlaEgoVehicleControl", to: "apollo.control.ControlCommand", begin: reversed(controlOf)},
}

// mapping returns that of a channel, nil if there is none.
func (t *reverse) mapping(c *codec.Channel) *reverseMapping {
	for _, m := range reverseMappings {
		if m.from == c.Type && (m.fits == nil || m.fits(t, c)) {
			return m
		}
	}
	return nil
}

// mappingTo returns the mapping between two types, nil if there is none.
func mappingTo(from, to string) *reverseMapping {
	for _, m := range reverseMappings {
		if m.from == from && m.to == to {
			return m
		}
	}
	return nil
}

// hasOrientation says whether the messages of a channel have an orientation, by its first one.
func hasOrientation(t *reverse, c *codec.Channel) bool {
	if strings.Contains(c.Topic, "corrected") {
		return true
	}
	var m sensor_msgs.Imu
	return cdr.Unmarshal(t.first(c), &m) == nil && oriented(&m)
}

// oriented: a covariance of -1 says that there is no orientation, and so does a quaternion that nobody has set.
func oriented(m *sensor_msgs.Imu) bool {
	return m.OrientationCovariance[0] != -1 && m.Orientation != geometry_msgs.Quaternion{}
}

func ofGPS(_ *reverse, c *codec.Channel) bool {
	return strings.Contains(c.Topic, "gnss") || strings.Contains(c.Topic, "gps")
}

func ofChassis(_ *reverse, c *codec.Channel) bool {
	return strings.HasSuffix(c.Topic, "_twist") && len(c.Topic) > len("/_twist")
}

// reversed begins a translation of messages that are read whole before they are written.
func reversed[T any, P interface {
	*T
	msgs.Message
}](write func(r *reversing, m P, w writer)) func(*reversing, *shape) translation {
	return func(r *reversing, s *shape) translation {
		m := P(new(T))
		return func(out *[]byte, payload []byte) error {
			if err := cdr.Unmarshal(payload, m); err != nil {
				return err
			}
			write(r, m, writer{out, s})
			return nil
		}
	}
}

// header writes a header. sensor is the field that keeps the stamp in ns, if there is one.
func (r *reversing) header(w writer, h *std_msgs.Header, sensor protoreflect.Name) {
	w.message("header", func(w writer) {
		ns := nanoseconds(h.Stamp)
		w.number("timestamp_sec", seconds(ns))
		w.integer("sequence_num", int64(r.sequence))
		if sensor != "" {
			w.integer(sensor, ns)
		}
		w.text("frame_id", h.FrameId)
	})
}

func imuOf(r *reversing, m *sensor_msgs.Imu, w writer) {
	r.header(w, &m.Header, "")
	w.number("measurement_time", gpsSeconds(nanoseconds(m.Header.Stamp)))
	w.vector("linear_acceleration", rightward(m.LinearAcceleration))
	w.vector("angular_velocity", rightward(m.AngularVelocity))
	r.lose(oriented(m), "orientation")
	r.loseCovariances(m)
}

func correctedIMUOf(r *reversing, m *sensor_msgs.Imu, w writer) {
	r.header(w, &m.Header, "")
	w.message("imu", func(w writer) {
		w.vector("linear_acceleration", rightward(m.LinearAcceleration))
		w.vector("angular_velocity", rightward(m.AngularVelocity))
		if oriented(m) {
			w.vector("euler_angles", euler(sideways(m.Orientation)))
			w.number("heading", yaw(m.Orientation))
		}
	})
	r.loseCovariances(m)
}

func (r *reversing) loseCovariances(m *sensor_msgs.Imu) {
	known := func(c *[9]float64) bool { return c[0] != -1 && *c != [9]float64{} }
	r.lose(known(&m.OrientationCovariance), "orientation_covariance")
	r.lose(known(&m.AngularVelocityCovariance), "angular_velocity_covariance")
	r.lose(known(&m.LinearAccelerationCovariance), "linear_acceleration_covariance")
}

func localizationOf(r *reversing, m *nav_msgs.Odometry, w writer) {
	r.header(w, &m.Header, "")
	w.message("pose", func(w writer) { r.pose(m, w) })
	w.number("measurement_time", seconds(nanoseconds(m.Header.Stamp)))
	pose, twist := &m.Pose.Covariance, &m.Twist.Covariance
	if *pose == [36]float64{} && *twist == [36]float64{} {
		return
	}
	q := m.Pose.Pose.Orientation
	lost := false
	w.message("uncertainty", func(w writer) {
		for _, part := range []struct {
			name       protoreflect.Name
			covariance *[36]float64
			place      int
			q          geometry_msgs.Quaternion
		}{
			{"position_std_dev", pose, linearBlock, unturned},
			{"orientation_std_dev", pose, angularBlock, unturned},
			{"linear_velocity_std_dev", twist, linearBlock, q},
			{"angular_velocity_std_dev", twist, angularBlock, q},
		} {
			deviation, more := gathered(part.covariance, part.place, part.q)
			w.vector(part.name, deviation)
			lost = lost || more
		}
	})
	r.lose(lost || coupled(pose) || coupled(twist), "covariances between axes")
}

func gpsOf(r *reversing, m *nav_msgs.Odometry, w writer) {
	r.header(w, &m.Header, "")
	w.message("localization", func(w writer) { r.pose(m, w) })
	r.lose(m.Pose.Covariance != [36]float64{} || m.Twist.Covariance != [36]float64{}, "covariances")
}

// pose writes a Pose. Its velocities are in the axes of the world, those of an Odometry in those of the vehicle.
func (r *reversing) pose(m *nav_msgs.Odometry, w writer) {
	pose, twist := &m.Pose.Pose, &m.Twist.Twist
	w.vector("position", geometry_msgs.Vector3(pose.Position))
	w.orientation("orientation", sideways(pose.Orientation))
	w.vector("linear_velocity", outOf(pose.Orientation, twist.Linear))
	w.vector("angular_velocity", outOf(pose.Orientation, twist.Angular))
	w.number("heading", yaw(pose.Orientation))
	w.vector("angular_velocity_vrf", rightward(twist.Angular))
	r.lose(m.ChildFrameId != "" && m.ChildFrameId != vehicleFrame, "child_frame_id")
}

// Numbers of enums of apollo.drivers.gnss.
const (
	solutionComputed = 0
	solutionInvalid  = 19
	datumWGS84       = 61
)

// solutionTypes are those of Apollo for NavSatStatus, as Apollo's own bridge has them.
var solutionTypes = map[int8]int64{
	sensor_msgs.NavSatStatus_STATUS_NO_FIX:   0,
	sensor_msgs.NavSatStatus_STATUS_FIX:      16,
	sensor_msgs.NavSatStatus_STATUS_SBAS_FIX: 18,
	sensor_msgs.NavSatStatus_STATUS_GBAS_FIX: 50,
}

func bestPoseOf(r *reversing, m *sensor_msgs.NavSatFix, w writer) {
	r.header(w, &m.Header, "")
	w.number("measurement_time", gpsSeconds(nanoseconds(m.Header.Stamp)))
	solution, known := solutionTypes[m.Status.Status]
	status := int64(solutionComputed)
	if solution == 0 {
		status = solutionInvalid
	}
	w.integer("sol_status", status)
	w.integer("sol_type", solution)
	w.number("latitude", m.Latitude)
	w.number("longitude", m.Longitude)
	w.number("height_msl", m.Altitude) // and no undulation: the sum of both is above the ellipsoid
	w.number("undulation", 0)
	w.integer("datum_id", datumWGS84)
	c := m.PositionCovariance
	if m.PositionCovarianceType != sensor_msgs.NavSatFix_COVARIANCE_TYPE_UNKNOWN {
		w.number("latitude_std_dev", math.Sqrt(c[4]))
		w.number("longitude_std_dev", math.Sqrt(c[0]))
		w.number("height_std_dev", math.Sqrt(c[8]))
		c[0], c[4], c[8] = 0, 0, 0
		r.lose(c != [9]float64{}, "position_covariance between axes")
		r.lose(m.PositionCovarianceType != sensor_msgs.NavSatFix_COVARIANCE_TYPE_DIAGONAL_KNOWN, "position_covariance_type")
	}
	r.lose(!known, "status.status")
	r.lose(m.Status.Service > sensor_msgs.NavSatStatus_SERVICE_GPS, "status.service")
}

func imageOf(r *reversing, m *sensor_msgs.Image, w writer) {
	r.header(w, &m.Header, "camera_timestamp")
	w.text("frame_id", m.Header.FrameId)
	w.number("measurement_time", seconds(nanoseconds(m.Header.Stamp)))
	w.integer("height", int64(m.Height))
	w.integer("width", int64(m.Width))
	encoding := m.Encoding
	if encoding == "yuv422_yuy2" {
		encoding = "yuyv"
	}
	w.text("encoding", encoding)
	w.integer("step", int64(m.Step))
	w.bytes("data", m.Data)
	r.lose(m.IsBigendian != 0, "is_bigendian")
}

func compressedImageOf(r *reversing, m *sensor_msgs.CompressedImage, w writer) {
	r.header(w, &m.Header, "camera_timestamp")
	w.text("frame_id", m.Header.FrameId)
	w.text("format", m.Format)
	w.bytes("data", m.Data)
	w.number("measurement_time", seconds(nanoseconds(m.Header.Stamp)))
}

func transformsOf(r *reversing, m *tf2_msgs.TFMessage, w writer) {
	if len(m.Transforms) > 0 {
		r.header(w, &m.Transforms[0].Header, "")
	}
	for i := range m.Transforms {
		t := &m.Transforms[i]
		w.message("transforms", func(w writer) {
			r.header(w, &t.Header, "")
			w.text("child_frame_id", t.ChildFrameId)
			w.message("transform", func(w writer) {
				w.vector("translation", t.Transform.Translation)
				w.orientation("rotation", t.Transform.Rotation)
			})
		})
	}
}

func chassisOf(r *reversing, m *geometry_msgs.TwistStamped, w writer) {
	w.number("speed_mps", m.Twist.Linear.X)
	r.header(w, &m.Header, "")
	rest := m.Twist
	rest.Linear.X = 0
	r.lose(rest != geometry_msgs.Twist{}, "velocities but that forward")
}

// trajectoryOf adds what a path says without having it: how long it is, in m, and takes, in s.
func trajectoryOf(r *reversing, m *nav_msgs.Path, w writer) {
	r.header(w, &m.Header, "")
	start := nanoseconds(m.Header.Stamp)
	var length, last float64
	var frames, tilts bool
	for i := range m.Poses {
		p := &m.Poses[i]
		at, q := p.Pose.Position, p.Pose.Orientation
		if i > 0 {
			before := m.Poses[i-1].Pose.Position
			length += math.Hypot(at.X-before.X, at.Y-before.Y)
		}
		last = 0
		if ns := nanoseconds(p.Header.Stamp); ns != 0 {
			last = seconds(ns - start)
		}
		w.message("trajectory_point", func(w writer) {
			w.message("path_point", func(w writer) {
				w.number("x", at.X)
				w.number("y", at.Y)
				w.number("z", at.Z)
				w.number("theta", yaw(q))
				w.number("s", length)
			})
			w.number("relative_time", last)
		})
		frames = frames || p.Header.FrameId != "" && p.Header.FrameId != m.Header.FrameId
		tilts = tilts || math.Abs(q.X) > 1e-6 || math.Abs(q.Y) > 1e-6
	}
	w.number("total_path_length", length)
	w.number("total_path_time", last)
	r.lose(frames, "frame_id of poses")
	r.lose(tilts, "roll and pitch of poses")
}

func controlOf(r *reversing, m *carla_msgs.CarlaEgoVehicleControl, w writer) {
	r.header(w, &m.Header, "")
	w.number("throttle", 100*float64(m.Throttle))
	w.number("brake", 100*float64(m.Brake))
	w.number("steering_target", -100*float64(m.Steer))
	w.bool("parking_brake", m.HandBrake)
	switch {
	case m.Reverse || m.Gear < 0:
		w.integer("gear_location", gearReverse)
	case m.Gear > 0:
		w.integer("gear_location", gearDrive)
	case m.ManualGearShift:
		w.integer("gear_location", gearNeutral)
	}
	r.lose(m.Gear > 1 || m.Gear < -1, "gear")
	r.lose(m.ManualGearShift, "manual_gear_shift")
}
