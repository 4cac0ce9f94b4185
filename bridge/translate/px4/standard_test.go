package px4

import (
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/ulog"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/test/samples"
	"tapedeck/test/samples/generate"
)

// open opens a log with standard messages.
func open(t *testing.T, path string) codec.Reader {
	log, err := ulog.Format.Open(path)
	require.NoError(t, err)
	r, err := Standard(log)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// read calls f with the messages that q selects. It returns the number of messages by topic.
func read(t *testing.T, r codec.Reader, q codec.Query, f func(*codec.Message)) map[string]uint64 {
	it, err := r.Read(q)
	require.NoError(t, err)
	defer it.Close()
	counts := map[string]uint64{}
	for {
		m, err := it.Next()
		if errors.Is(err, io.EOF) {
			return counts
		}
		require.NoError(t, err)
		counts[m.Channel.Topic]++
		f(m)
	}
}

func decode(t *testing.T, m *codec.Message, to msgs.Message) {
	require.Equal(t, to.TypeName(), m.Channel.Type)
	require.NoError(t, cdr.Unmarshal(m.Data, to))
}

func writeLog(t *testing.T, log []byte) string {
	path := filepath.Join(t.TempDir(), "x.ulg")
	require.NoError(t, os.WriteFile(path, log, 0o666))
	return path
}

// TestFlight compares the standard messages of a synthetic flight with the numbers in the log.
func TestFlight(t *testing.T) {
	r := open(t, writeLog(t, generate.Flight()))
	var imu sensor_msgs.Imu
	var fix sensor_msgs.NavSatFix
	var first, second sensor_msgs.BatteryState
	counts := read(t, r, codec.Query{}, func(m *codec.Message) {
		switch m.Channel.Topic {
		case "/px4/vehicle_attitude/imu":
			decode(t, m, &imu)
		case "/px4/vehicle_gps_position/fix":
			decode(t, m, &fix)
		case "/px4/battery_status/battery":
			decode(t, m, &first)
		case "/px4/battery_status_1/battery":
			decode(t, m, &second)
		}
	})
	info, err := r.Info()
	require.NoError(t, err)
	total := uint64(0)
	for _, topic := range info.Topics {
		require.Equal(t, topic.MessageCount, counts[topic.Channel.Topic], topic.Channel.Topic)
		total += topic.MessageCount
	}
	require.Equal(t, info.MessageCount, total)
	require.Equal(t, []uint64{50, 5, 1, 5}, []uint64{counts["/px4/vehicle_attitude/imu"],
		counts["/px4/vehicle_gps_position/fix"], counts["/px4/battery_status/battery"],
		counts["/px4/battery_status_1/battery"]})

	yaw := 2 * math.Atan2(imu.Orientation.Z, imu.Orientation.W)
	require.InDelta(t, math.Pi/2-2*0.49, yaw, 1e-6, "yaw in ENU")
	require.Equal(t, -1.0, imu.AngularVelocityCovariance[0])
	require.Equal(t, -1.0, imu.LinearAccelerationCovariance[0])
	place := []float64{fix.Latitude, fix.Longitude, fix.Altitude}
	require.InDeltaSlice(t, []float64{47.3977418, 8.5455939, 535.4}, place, 1e-9)
	require.Equal(t, sensor_msgs.NavSatStatus_STATUS_FIX, fix.Status.Status)
	require.InDelta(t, 0.49, fix.PositionCovariance[0], 1e-6)
	require.InDeltaSlice(t, []float64{16.4, -2, 0.75}, []float64{float64(first.Voltage), float64(first.Current),
		float64(first.Percentage)}, 1e-6)
	require.True(t, first.Present)
	require.True(t, math.IsNaN(float64(second.Current)) && math.IsNaN(float64(second.Percentage)))
}

// TestPositions translates one message of each kind whose axes are changed.
func TestPositions(t *testing.T) {
	l := generate.NewULog(1)
	add := func(id uint16, topic, fields string, parts ...any) {
		l.Add('F', topic+":uint64_t timestamp;"+fields).Add('A', uint8(0), id, topic)
		l.Add('D', append([]any{id, uint64(1000 + id)}, parts...)...)
	}
	east := []float32{float32(math.Sqrt2 / 2), 0, 0, float32(math.Sqrt2 / 2)} // yaw of 90°: the nose points east
	one, two := []float32{1, 2, 3}, []float32{4, 5, 6}
	add(0, "sensor_combined", "float[3] gyro_rad;float[3] accelerometer_m_s2;", one, []float32{0, 0, -9.81})
	add(1, "vehicle_attitude", "float[4] q;", east)
	add(2, "vehicle_local_position", "float x;float y;float z;float vx;float vy;float vz;float eph;float epv;"+
		"float evh;float evv;bool xy_valid;bool z_valid;bool v_xy_valid;bool v_z_valid;", one, []float32{0, 7, 1},
		[]float32{2, 3, 4, 5}, []byte{1, 1, 1, 1})
	odometry := "uint8_t pose_frame;float[3] position;float[4] q;uint8_t velocity_frame;float[3] velocity;" +
		"float[3] angular_velocity;float[3] position_variance;float[3] orientation_variance;" +
		"float[3] velocity_variance;"
	add(3, "vehicle_odometry", odometry, uint8(1), one, east, uint8(1), []float32{0, 7, 1}, two, one, two, one)
	add(4, "vehicle_visual_odometry", odometry, uint8(2), one, []float32{1, 0, 0, 0}, uint8(3), one, two, one, two, one)
	add(5, "vehicle_magnetometer", "float[3] magnetometer_ga;", one)
	add(6, "distance_sensor", "float min_distance;float max_distance;float current_distance;float h_fov;uint8_t type;",
		[]float32{0.5, 8, 2, 0.25}, uint8(1))
	path := writeLog(t, l.Bytes())
	for name, q := range map[string]codec.Query{
		"all": {},
		// The translation also reads the attitude.
		"position only": {Topics: func(c *codec.Channel) bool { return c.Topic == "/px4/vehicle_local_position/odom" }},
	} {
		t.Run(name, func(t *testing.T) {
			counts := read(t, open(t, path), q, func(m *codec.Message) {
				var o nav_msgs.Odometry
				switch m.Channel.Topic {
				case "/px4/sensor_combined/imu":
					var imu sensor_msgs.Imu
					decode(t, m, &imu)
					require.Equal(t, geometry_msgs.Vector3{X: 1, Y: -2, Z: -3}, imu.AngularVelocity)
					require.InDelta(t, 9.81, imu.LinearAcceleration.Z, 1e-6, "at rest")
					require.Equal(t, -1.0, imu.OrientationCovariance[0])
				case "/px4/vehicle_local_position/odom":
					decode(t, m, &o)
					require.Equal(t, geometry_msgs.Point{X: 2, Y: 1, Z: -3}, o.Pose.Pose.Position)
					require.InDelta(t, 1, o.Pose.Pose.Orientation.W, 1e-6)
					require.InDeltaSlice(t, []float64{7, 0, -1}, linear(&o), 1e-6)
					require.Equal(t, [4]float64{4, 9, 16, 25}, [4]float64{o.Pose.Covariance[0], o.Pose.Covariance[14],
						o.Twist.Covariance[0], o.Twist.Covariance[14]})
					require.Equal(t, []string{"map", "base_link"}, []string{o.Header.FrameId, o.ChildFrameId})
				case "/px4/vehicle_odometry/odom":
					decode(t, m, &o)
					require.Equal(t, geometry_msgs.Point{X: 2, Y: 1, Z: -3}, o.Pose.Pose.Position)
					require.InDeltaSlice(t, []float64{7, 0, -1}, linear(&o), 1e-6)
					require.Equal(t, geometry_msgs.Vector3{X: 4, Y: -5, Z: -6}, o.Twist.Twist.Angular)
					require.Equal(t, []float64{2, 1, 3, 4, 5, 6}, []float64{o.Pose.Covariance[0], o.Pose.Covariance[7],
						o.Pose.Covariance[14], o.Pose.Covariance[21], o.Pose.Covariance[28], o.Pose.Covariance[35]})
				case "/px4/vehicle_visual_odometry/odom":
					decode(t, m, &o)
					require.Equal(t, geometry_msgs.Point{X: 1, Y: -2, Z: -3}, o.Pose.Pose.Position)
					require.Equal(t, geometry_msgs.Quaternion{W: 1}, withoutSigns(o.Pose.Pose.Orientation))
					require.Equal(t, "odom", o.Header.FrameId)
					require.Equal(t, []float64{1, -2, -3}, linear(&o))
				case "/px4/vehicle_magnetometer/mag":
					var mag sensor_msgs.MagneticField
					decode(t, m, &mag)
					require.InDeltaSlice(t, []float64{1e-4, -2e-4, -3e-4}, []float64{mag.MagneticField.X,
						mag.MagneticField.Y, mag.MagneticField.Z}, 1e-12)
				case "/px4/distance_sensor/range":
					var ping sensor_msgs.Range
					decode(t, m, &ping)
					require.Equal(t, sensor_msgs.Range{Header: ping.Header, FieldOfView: 0.25, MinRange: 0.5,
						MaxRange: 8, Range: 2}, ping)
				}
			})
			if name == "all" {
				require.Len(t, counts, 14)
				return
			}
			require.Equal(t, map[string]uint64{"/px4/vehicle_local_position/odom": 1}, counts)
		})
	}
}

// TestVehicles checks that each of two vehicles in a recording has a separate attitude.
func TestVehicles(t *testing.T) {
	l := generate.NewULog(1).Add('F', "vehicle_attitude:uint64_t timestamp;float[4] q;")
	l.Add('F', "vehicle_local_position:uint64_t timestamp;float x;float y;float z;float vx;float vy;float vz;")
	l.Add('A', uint8(0), uint16(0), "vehicle_attitude").Add('A', uint8(0), uint16(1), "vehicle_local_position")
	l.Add('D', uint16(0), uint64(2), []float32{1, 0, 0, 0}).Add('D', uint16(1), uint64(3), make([]float32, 6))
	log, err := ulog.Format.Open(writeLog(t, l.Bytes()))
	require.NoError(t, err)
	defer log.Close()
	library := msgs.Library()
	var got []float64
	to := &translator{translations: map[*codec.Channel]*translation{}}
	translate := to.Begin(nil)
	read(t, log, codec.Query{}, func(m *codec.Message) {
		for _, vehicle := range []string{"/a", "/b"} {
			c := *m.Channel
			c.Topic = vehicle + "/" + filepath.Base(c.Topic)
			from, err := newTranslation(codec.TopicInfo{Channel: &c}, library, msgs.Release(""))
			require.NoError(t, err)
			to.translations[&c] = from
			if c.Topic == "/b/vehicle_attitude" {
				continue // the attitude is unknown
			}
			moved := *m
			moved.Channel = &c
			standard, err := translate(&moved)
			require.NoError(t, err)
			if filepath.Base(c.Topic) == "vehicle_local_position" {
				var o nav_msgs.Odometry
				decode(t, &standard[1], &o)
				got = append(got, o.Pose.Pose.Orientation.Z)
			}
		}
	})
	require.Len(t, got, 2)
	require.InDelta(t, math.Sqrt2/2, got[0], 1e-6)
	require.Zero(t, got[1])
}

// TestOdometryFrames checks for pairs of frames of VehicleOdometry whether the pose and the velocity are known.
func TestOdometryFrames(t *testing.T) {
	nan := float32(math.NaN())
	level, noAttitude := []float32{1, 0, 0, 0}, []float32{nan, nan, nan, nan}
	velocityFLU := []float64{1, -2, -3} // (1, 2, 3) in the axes of ROS: x forward, y left, z up
	for name, test := range map[string]struct {
		poseFrame, velocityFrame uint8
		q                        []float32
		poseKnown                bool
		velocity                 []float64 // expected velocity in the frame of the body; nil: unknown
	}{
		"pose and velocity in NED": {poseFrame: frameNED, velocityFrame: frameNED, q: level, poseKnown: true,
			velocity: velocityFLU},
		"pose and velocity in FRD": {poseFrame: frameFRD, velocityFrame: frameFRD, q: level, poseKnown: true,
			velocity: velocityFLU},
		"pose in NED, velocity in FRD": {poseFrame: frameNED, velocityFrame: frameFRD, q: level, poseKnown: true},
		"pose in FRD, velocity in NED": {poseFrame: frameFRD, velocityFrame: frameNED, q: level, poseKnown: true},
		"unknown pose frame":           {poseFrame: frameUnknown, velocityFrame: frameNED, q: level},
		"unknown pose frame, velocity of the body": {poseFrame: frameUnknown, velocityFrame: frameBodyFRD, q: level,
			velocity: velocityFLU},
		"no attitude": {poseFrame: frameNED, velocityFrame: frameNED, q: noAttitude},
		"no attitude, velocity of the body": {poseFrame: frameNED, velocityFrame: frameBodyFRD, q: noAttitude,
			velocity: velocityFLU},
		"unknown velocity frame": {poseFrame: frameNED, velocityFrame: frameUnknown, q: level, poseKnown: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &state{attitude: unknownAttitude}
			one := []float32{1, 2, 3}
			o := s.translate((*state).odometry, map[string]any{"pose_frame": test.poseFrame,
				"velocity_frame": test.velocityFrame, "q": test.q, "position": one, "velocity": one,
				"position_variance": one, "orientation_variance": one, "velocity_variance": one}).(*nav_msgs.Odometry)
			require.Equal(t, test.poseKnown, o.Pose.Covariance[0] >= 0)
			require.Equal(t, test.velocity != nil, o.Twist.Covariance[0] >= 0)
			if test.velocity != nil {
				require.InDeltaSlice(t, test.velocity, linear(o), 1e-6)
			}
		})
	}
}

// TestInvalidAcceleration checks that an invalid acceleration is marked as unknown.
func TestInvalidAcceleration(t *testing.T) {
	s := &state{}
	fields := map[string]any{"gyro_rad": []float32{1, 2, 3}, "accelerometer_m_s2": []float32{4, 5, 6},
		"accelerometer_timestamp_relative": int32(math.MaxInt32)}
	imu := s.translate((*state).sensors, fields).(*sensor_msgs.Imu)
	require.Equal(t, unknown9, imu.LinearAccelerationCovariance)
	require.False(t, s.hasAcceleration)
	require.True(t, s.hasRates)
	fields["accelerometer_timestamp_relative"] = int32(5)
	imu = s.translate((*state).sensors, fields).(*sensor_msgs.Imu)
	require.Zero(t, imu.LinearAccelerationCovariance[0])
	require.True(t, s.hasAcceleration)
}

// TestDistanceFrames checks the frames of distance sensors by orientation.
func TestDistanceFrames(t *testing.T) {
	for orientation, want := range map[uint8]string{0: "base_link", 25: "distance_sensor_down",
		24: "distance_sensor_up", 2: "distance_sensor_right"} {
		ping := (&state{}).translate((*state).distance, map[string]any{"orientation": orientation}).(*sensor_msgs.Range)
		require.Equal(t, want, ping.Header.FrameId)
	}
}

// TestCellCount checks that a battery has at most as many cells as voltages, however large the number of cells is.
func TestCellCount(t *testing.T) {
	for _, test := range []struct {
		count float64
		cells int
	}{{1, 1}, {2, 2}, {3, 2}, {1e300, 2}, {math.Inf(1), 2}, {0, 0}, {-1, 0}, {math.NaN(), 0}} {
		m := new(state).translate((*state).battery, map[string]any{"cell_count": test.count,
			"voltage_cell_v": []float32{4.1, 4.2}}).(*sensor_msgs.BatteryState)
		require.Len(t, m.CellVoltage, test.cells, test.count)
	}
}

// translate gives a message with the fields to the rule, and returns the first standard message.
func (s *state) translate(rule func(*state, values) []msgs.Message, fields map[string]any) msgs.Message {
	v := &cdr.Struct{}
	for name, value := range fields {
		v.Fields = append(v.Fields, cdr.Field{Name: name, Value: value})
	}
	return rule(s, values{v})[0]
}

func linear(o *nav_msgs.Odometry) []float64 {
	v := o.Twist.Twist.Linear
	return []float64{v.X, v.Y, v.Z}
}

// withoutSigns removes the signs of zeros.
func withoutSigns(q geometry_msgs.Quaternion) geometry_msgs.Quaternion {
	return geometry_msgs.Quaternion{W: math.Abs(q.W), X: math.Abs(q.X), Y: math.Abs(q.Y), Z: math.Abs(q.Z)}
}

// TestSample compares standard messages of a simulated flight with other fields of PX4's messages.
func TestSample(t *testing.T) {
	r := open(t, samples.Path(t, "ulog/sample_px4_events.ulg"))
	var schema *cdr.Schema
	var px4 *cdr.Struct
	odometries, maxHeight := 0, 0.0
	read(t, r, codec.Query{}, func(m *codec.Message) {
		switch m.Channel.Topic {
		case "/px4/vehicle_local_position":
			var err error
			if schema == nil {
				schema, err = cdr.NewSchema(m.Channel.Library(nil), m.Channel.Type)
				require.NoError(t, err)
			}
			px4, err = schema.Decode(m.Data)
			require.NoError(t, err)
		case "/px4/vehicle_local_position/odom":
			// Standard messages follow the PX4 message from which they are made.
			var o nav_msgs.Odometry
			decode(t, m, &o)
			if o.Twist.Covariance[0] < 0 {
				return
			}
			odometries++
			q := o.Pose.Pose.Orientation
			yaw := math.Atan2(2*(q.W*q.Z+q.X*q.Y), 1-2*(q.Y*q.Y+q.Z*q.Z))
			heading := float64(px4.Get("heading").(float32))
			require.InDelta(t, 0, math.Remainder(yaw-(math.Pi/2-heading), 2*math.Pi), 0.1)
			v := q.Rotate(o.Twist.Twist.Linear)
			require.InDelta(t, float64(px4.Get("vy").(float32)), v.X, 1e-5)
			require.InDelta(t, float64(px4.Get("vx").(float32)), v.Y, 1e-5)
			require.InDelta(t, -float64(px4.Get("vz").(float32)), v.Z, 1e-5)
			maxHeight = max(maxHeight, o.Pose.Pose.Position.Z)
		}
	})
	require.Greater(t, odometries, 200)
	require.Greater(t, maxHeight, 2.0, "the height in m must be positive after takeoff")
}
