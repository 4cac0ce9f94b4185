package apollo

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/msgs/vision_msgs"
	"tapedeck/msgs/visualization_msgs"
	"tapedeck/test/samples"
)

// translateSample translates a real recording to ROS 2. It returns the first message and the number of messages by
// topic and type, and the losses.
func translateSample(t *testing.T, name string) (
	messages map[string]*codec.Message, counts map[string]int, losses []codec.Loss,
) {
	t.Helper()
	recording, err := formats.Open(samples.Path(t, "apollo/"+name))
	require.NoError(t, err)
	r := bridgetest.Translate(t, recording, codec.EncodingProtobuf, codec.EncodingCDR, ToROS2)
	messages, counts = map[string]*codec.Message{}, map[string]int{}
	bridgetest.Each(t, r, codec.Query{}, func(m *codec.Message) {
		name := m.Channel.Topic + " " + m.Channel.Type
		counts[name]++
		if counts[name] == 1 {
			kept := *m
			kept.Data = slices.Clone(m.Data)
			messages[name] = &kept
		}
	})
	return messages, counts, r.Losses()
}

// requireStamp compares a stamp with a time in ns. Apollo's stamps have a resolution of a facingNorth of a microsecond.
func requireStamp(t *testing.T, want int64, sec int32, nanosec uint32) {
	t.Helper()
	require.InDelta(t, 0, int64(sec)*1e9+int64(nanosec)-want, 300)
}

// TestSensors compares the first messages of a recording with values that were read from the recording by hand.
func TestSensors(t *testing.T) {
	messages, counts, losses := translateSample(t, "apollo_cpp_sensors.record")
	require.Equal(t, map[string]int{
		"/apollo/canbus/chassis apollo_canbus/msg/Chassis":                                 200,
		"/apollo/canbus/chassis_twist geometry_msgs/msg/TwistStamped":                      200,
		"/apollo/localization/pose nav_msgs/msg/Odometry":                                  200,
		"/apollo/localization/pose_whole apollo_localization/msg/LocalizationEstimate":     200,
		"/apollo/perception/obstacles vision_msgs/msg/Detection3DArray":                    10,
		"/apollo/perception/obstacles_markers visualization_msgs/msg/MarkerArray":          10,
		"/apollo/perception/obstacles_whole apollo_perception/msg/PerceptionObstacles":     10,
		"/apollo/sensor/camera/front_6mm/image sensor_msgs/msg/Image":                      20,
		"/apollo/sensor/camera/front_6mm/image/compressed sensor_msgs/msg/CompressedImage": 20,
		"/apollo/sensor/gnss/best_pose sensor_msgs/msg/NavSatFix":                          10,
		"/apollo/sensor/gnss/best_pose_whole apollo_drivers_gnss/msg/GnssBestPose":         10,
		"/apollo/sensor/gnss/imu sensor_msgs/msg/Imu":                                      200,
		"/apollo/sensor/lidar128/compensator/PointCloud2 sensor_msgs/msg/PointCloud2":      20,
		"/tf tf2_msgs/msg/TFMessage":                                                       400,
		"/tf_static tf2_msgs/msg/TFMessage":                                                1,
	}, counts)
	require.ElementsMatch(t, []codec.Loss{
		{Topic: "/apollo/sensor/camera/front_6mm/image", What: "header.module_name", Messages: 20},
		{Topic: "/apollo/sensor/camera/front_6mm/image", What: "header.sequence_num", Messages: 19},
		{Topic: "/apollo/sensor/camera/front_6mm/image", What: "measurement_time", Messages: 20},
		{Topic: "/apollo/sensor/camera/front_6mm/image/compressed", What: "header.module_name", Messages: 20},
		{Topic: "/apollo/sensor/camera/front_6mm/image/compressed", What: "header.sequence_num", Messages: 19},
		{Topic: "/apollo/sensor/camera/front_6mm/image/compressed", What: "measurement_time", Messages: 20},
		{Topic: "/apollo/sensor/gnss/imu", What: "header.module_name", Messages: 200},
		{Topic: "/apollo/sensor/gnss/imu", What: "header.sequence_num", Messages: 199},
		{Topic: "/apollo/sensor/gnss/imu", What: "measurement_time", Messages: 200},
		{Topic: "/apollo/sensor/lidar128/compensator/PointCloud2", What: "header.module_name", Messages: 20},
		{Topic: "/apollo/sensor/lidar128/compensator/PointCloud2", What: "header.sequence_num", Messages: 19},
		{Topic: "/apollo/sensor/lidar128/compensator/PointCloud2", What: "measurement_time", Messages: 20},
		{Topic: "/tf", What: "transforms.header.sequence_num", Messages: 199},
		{Topic: "/tf_static", What: "transforms.header.sequence_num", Messages: 1},
	}, losses)

	imu := bridgetest.Decode[sensor_msgs.Imu](t, messages["/apollo/sensor/gnss/imu sensor_msgs/msg/Imu"])
	requireStamp(t, 1700000000000001234, imu.Header.Stamp.Sec, imu.Header.Stamp.Nanosec)
	require.Equal(t, "imu", imu.Header.FrameId)
	require.Equal(t, geometry_msgs.Vector3{X: 0.5, Y: 0.1, Z: 9.81}, imu.LinearAcceleration)
	require.Equal(t, geometry_msgs.Vector3{X: 0.02, Y: -0.01, Z: 0.03}, imu.AngularVelocity)
	require.Equal(t, -1.0, imu.OrientationCovariance[0])

	// The car drives at 10 m/s with a heading of 0.3 rad, counted from the east.
	pose := bridgetest.Decode[nav_msgs.Odometry](t, messages["/apollo/localization/pose nav_msgs/msg/Odometry"])
	require.Equal(t, "world", pose.Header.FrameId)
	require.Equal(t, "base_link", pose.ChildFrameId)
	require.Equal(t, geometry_msgs.Point{X: 587000, Y: 4.141e6, Z: -31}, pose.Pose.Pose.Position)
	require.InDelta(t, 0.3, 2*math.Atan2(pose.Pose.Pose.Orientation.Z, pose.Pose.Pose.Orientation.W), 1e-12)
	require.InDelta(t, 10, pose.Twist.Twist.Linear.X, 1e-9)
	require.InDelta(t, 0, pose.Twist.Twist.Linear.Y, 1e-9)
	require.Equal(t, 0.1, pose.Twist.Twist.Angular.Z)
	for i, want := range map[int]float64{0: 0.02 * 0.02, 7: 0.03 * 0.03, 14: 0.05 * 0.05, 1: 0} {
		require.InDelta(t, want, pose.Pose.Covariance[i], 1e-15)
	}

	cloud := bridgetest.Decode[sensor_msgs.PointCloud2](t, messages["/apollo/sensor/lidar128/compensator/PointCloud2 "+
		"sensor_msgs/msg/PointCloud2"])
	requireStamp(t, 1700000000000001234, cloud.Header.Stamp.Sec, cloud.Header.Stamp.Nanosec)
	require.Equal(t, "velodyne128", cloud.Header.FrameId)
	require.EqualValues(t, []any{uint32(1), uint32(200), uint32(24), uint32(4800)},
		[]any{cloud.Height, cloud.Width, cloud.PointStep, cloud.RowStep})
	require.Len(t, cloud.Data, 4800)
	var names []string
	for _, f := range cloud.Fields {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"x", "y", "z", "intensity", "timestamp"}, names)
	at := func(point, offset int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(cloud.Data[point*24+offset:]))
	}
	require.Equal(t, []float32{9.987503, 0.49979168, 0.01, 1}, []float32{at(1, 0), at(1, 4), at(1, 8), at(1, 12)})
	require.True(t, math.IsNaN(float64(at(3, 0))))
	require.InDelta(t, 1699999999.900501234, math.Float64frombits(binary.LittleEndian.Uint64(cloud.Data[24+16:])), 1e-6)

	fix := bridgetest.Decode[sensor_msgs.NavSatFix](t,
		messages["/apollo/sensor/gnss/best_pose sensor_msgs/msg/NavSatFix"])
	require.Equal(t, []float64{37.41, -122.01, -17.5}, []float64{fix.Latitude, fix.Longitude, fix.Altitude})
	require.EqualValues(t, 2, fix.Status.Status)
	require.InDelta(t, 0.011*0.011, fix.PositionCovariance[0], 1e-9)
	require.InDelta(t, 0.012*0.012, fix.PositionCovariance[4], 1e-9)

	static := messages["/tf_static tf2_msgs/msg/TFMessage"]
	require.Equal(t, codec.TransientLocal, static.Channel.QoS[0].Durability)
	tf := bridgetest.Decode[tf2_msgs.TFMessage](t, static)
	require.Len(t, tf.Transforms, 2)
	require.Equal(t, "novatel", tf.Transforms[1].Header.FrameId)
	require.Equal(t, "velodyne128", tf.Transforms[1].ChildFrameId)
	require.Equal(t, geometry_msgs.Vector3{Y: 0.6, Z: 1.2}, tf.Transforms[1].Transform.Translation)

	picture := bridgetest.Decode[sensor_msgs.Image](t,
		messages["/apollo/sensor/camera/front_6mm/image sensor_msgs/msg/Image"])
	require.Equal(t, []any{"front_6mm", "rgb8", uint32(6), uint32(4), uint32(18), 72},
		[]any{picture.Header.FrameId, picture.Encoding, picture.Width, picture.Height, picture.Step, len(picture.Data)})
	compressed := bridgetest.Decode[sensor_msgs.CompressedImage](t,
		messages["/apollo/sensor/camera/front_6mm/image/compressed sensor_msgs/msg/CompressedImage"])
	require.Equal(t, "jpeg", compressed.Format)
	require.Equal(t, []byte{0xff, 0xd8}, compressed.Data[:2])

	detected := bridgetest.Decode[vision_msgs.Detection3DArray](t,
		messages["/apollo/perception/obstacles vision_msgs/msg/Detection3DArray"])
	requireStamp(t, 1700000000000001234, detected.Header.Stamp.Sec, detected.Header.Stamp.Nanosec)
	require.Equal(t, "world", detected.Header.FrameId)
	require.Len(t, detected.Detections, 1)
	obstacle := detected.Detections[0]
	require.Equal(t, "7", obstacle.Id)
	require.Equal(t, geometry_msgs.Point{X: 1, Y: 2, Z: 0.75}, obstacle.Bbox.Center.Position)
	require.InDelta(t, 0.5, 2*math.Atan2(obstacle.Bbox.Center.Orientation.Z, obstacle.Bbox.Center.Orientation.W), 1e-12)
	require.Equal(t, geometry_msgs.Vector3{X: 4, Y: 2, Z: 1.5}, obstacle.Bbox.Size)
	require.Len(t, obstacle.Results, 1)
	require.Equal(t, vision_msgs.ObjectHypothesis{ClassId: "VEHICLE", Score: 1}, obstacle.Results[0].Hypothesis)
	markers := bridgetest.Decode[visualization_msgs.MarkerArray](t,
		messages["/apollo/perception/obstacles_markers visualization_msgs/msg/MarkerArray"]).Markers
	require.Len(t, markers, 2)
	require.EqualValues(t, visualization_msgs.Marker_DELETEALL, markers[0].Action)
	require.EqualValues(t, visualization_msgs.Marker_CUBE, markers[1].Type)
	require.Equal(t, obstacle.Bbox.Center, markers[1].Pose)
	require.Equal(t, 10.0, bridgetest.Decode[geometry_msgs.TwistStamped](t,
		messages["/apollo/canbus/chassis_twist geometry_msgs/msg/TwistStamped"]).Twist.Linear.X)
}

// TestDriving translates a recording of Apollo's planning and localization.
func TestDriving(t *testing.T) {
	messages, counts, losses := translateSample(t, "example.record.00000")
	require.Equal(t, 15, counts["/apollo/localization/pose nav_msgs/msg/Odometry"])
	require.Equal(t, 15, counts["/tf tf2_msgs/msg/TFMessage"])
	require.Empty(t, losses)
	require.Equal(t, 2, counts["/apollo/prediction apollo_prediction/msg/PredictionObstacles"])
	path := bridgetest.Decode[nav_msgs.Path](t, messages["/apollo/planning nav_msgs/msg/Path"])
	require.Len(t, path.Poses, 94)
	requireStamp(t, 1627031535160630000-388995886, path.Poses[0].Header.Stamp.Sec, path.Poses[0].Header.Stamp.Nanosec)
	require.Equal(t, geometry_msgs.Point{X: 315323.445885659, Y: 5.068388177755382e+06}, path.Poses[0].Pose.Position)
	require.InDelta(t, -2.25563014963147, 2*math.Atan2(path.Poses[0].Pose.Orientation.Z,
		path.Poses[0].Pose.Orientation.W),
		1e-9)
	tf := bridgetest.Decode[tf2_msgs.TFMessage](t, messages["/tf tf2_msgs/msg/TFMessage"])
	require.Equal(t, "world", tf.Transforms[0].Header.FrameId)
	require.Equal(t, "base_link", tf.Transforms[0].ChildFrameId)
	q := tf.Transforms[0].Transform.Rotation
	require.InDelta(t, -2.25563014963147, math.Remainder(2*math.Atan2(q.Z, q.W), 2*math.Pi), 1e-6)
}

// gearAndWheel is a descriptor with field numbers of another possible release.
const gearAndWheel = `file { name: "control.proto" package: "apollo.control"
message_type { name: "ControlCommand"
  field { name: "throttle" number: 13 type: TYPE_DOUBLE label: LABEL_OPTIONAL }
  field { name: "brake" number: 14 type: TYPE_DOUBLE label: LABEL_OPTIONAL default_value: "nan" }
  field { name: "steering_target" number: 17 type: TYPE_DOUBLE label: LABEL_REQUIRED }
  field { name: "parking_brake" number: 18 type: TYPE_BOOL label: LABEL_OPTIONAL }
  field { name: "gear_location" number: 2 type: TYPE_ENUM type_name: ".apollo.control.Gear" label: LABEL_OPTIONAL }
}
enum_type { name: "Gear" value { name: "NEUTRAL" number: 0 } value { name: "DRIVE" number: 1 }
value { name: "REVERSE" number: 2 } }
}`

// TestByName checks that fields are found by name, not by number.
func TestByName(t *testing.T) {
	c := channelOfSchema(t, gearAndWheel, "apollo.control.ControlCommand")
	for _, test := range []struct {
		text string
		want carla_msgs.CarlaEgoVehicleControl
	}{
		{`throttle: 25 steering_target: 50 gear_location: DRIVE`,
			carla_msgs.CarlaEgoVehicleControl{Throttle: 0.25, Steer: -0.5, Gear: 1}},
		{`brake: 100 steering_target: -100 gear_location: REVERSE parking_brake: true`,
			carla_msgs.CarlaEgoVehicleControl{Brake: 1, Steer: 1, Gear: -1, Reverse: true, HandBrake: true}},
		{``, carla_msgs.CarlaEgoVehicleControl{}},
	} {
		out, _ := translateToROS2(t, c, encodeText(t, c, test.text))
		require.Len(t, out, 2)
		got := bridgetest.Decode[carla_msgs.CarlaEgoVehicleControl](t, &out[0])
		require.Equal(t, builtin_interfaces.TimeAt(5e9), got.Header.Stamp)
		got.Header = test.want.Header
		require.Equal(t, test.want, got)
	}
}

// TestNoDescription checks the errors for channels whose schema does not describe the type.
func TestNoDescription(t *testing.T) {
	for name, test := range map[string]struct {
		schema codec.Schema
		want   string
	}{
		"none": {codec.Schema{}, "the recording has no description of its messages"},
		"junk": {codec.Schema{Encoding: codec.SchemaProtobuf, Data: []byte("1234567890")},
			"read the description of its messages: "},
		"other": {codec.Schema{Encoding: codec.SchemaProtobuf}, "read the description of its messages: "},
	} {
		t.Run(name, func(t *testing.T) {
			translator, _ := bridgetest.Announce(t, nil, ToROS2)
			_, err := translator.Topics(codec.TopicInfo{Channel: &codec.Channel{Type: "apollo.drivers.Image",
				Schema: test.schema}})
			require.ErrorContains(t, err, test.want)
		})
	}
}

// TestFrames converts known vectors and orientations.
func TestFrames(t *testing.T) {
	require.Equal(t, geometry_msgs.Vector3{X: 2, Y: -1, Z: 3}, toFLU(geometry_msgs.Vector3{X: 1, Y: 2, Z: 3}))
	// The identity orients a vehicle's right along the world's x. The vehicle looks along y: the yaw is 90 degrees.
	q := orientationToFLU(identity)
	require.InDelta(t, math.Pi/2, 2*math.Atan2(q.Z, q.W), 1e-12)
	v := q.RotateBack(geometry_msgs.Vector3{Y: 5})
	require.InDelta(t, 5, v.X, 1e-12)
	require.InDelta(t, 0, v.Y, 1e-12)
	var covariance [36]float64
	addCovariance(&covariance, angularBlock, geometry_msgs.Vector3{X: 1, Y: 2, Z: 3}, q)
	require.InDelta(t, 4, covariance[21], 1e-12)
	require.InDelta(t, 1, covariance[28], 1e-12)
	require.InDelta(t, 9, covariance[35], 1e-12)
}

// ownChannel returns a channel of a type in tapedeck's schema.
func ownChannel(t testing.TB, typeName string) *codec.Channel {
	set, err := readSchema()
	require.NoError(t, err)
	return channelOfSet(t, set, typeName)
}

// channelOfSchema returns a channel of a type. text is a FileDescriptorSet in the text format of Protocol Buffers.
func channelOfSchema(t testing.TB, text, typeName string) *codec.Channel {
	set := new(descriptorpb.FileDescriptorSet)
	require.NoError(t, prototext.Unmarshal([]byte(text), set))
	return channelOfSet(t, set, typeName)
}

func channelOfSet(t testing.TB, set *descriptorpb.FileDescriptorSet, typeName string) *codec.Channel {
	schema, err := proto.Marshal(set)
	require.NoError(t, err)
	return &codec.Channel{Topic: "/topic", Type: typeName, Encoding: codec.EncodingProtobuf,
		Schema: codec.Schema{Encoding: codec.SchemaProtobuf, Data: schema}}
}

// translateToROS2 returns the translation of an encoded message and its losses.
func translateToROS2(t testing.TB, c *codec.Channel, data []byte) ([]codec.Message, []codec.Loss) {
	translator, _ := bridgetest.Announce(t, nil, ToROS2, c)
	out, err := translator.Begin(nil)(&codec.Message{Channel: c, LogTime: 5e9, Data: data})
	require.NoError(t, err)
	return out, translator.Losses()
}

// encodeText returns an encoded message. text is in the text format of Protocol Buffers.
func encodeText(t testing.TB, c *codec.Channel, text string) []byte {
	d, err := descriptorOf(c)
	require.NoError(t, err)
	m := dynamicpb.NewMessage(d)
	require.NoError(t, prototext.UnmarshalOptions{AllowPartial: true}.Unmarshal([]byte(text), m))
	data, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	require.NoError(t, err)
	return data
}

const commonSchema = `
file {
  name: "header.proto" package: "apollo.common"
  message_type { name: "Header"
    field { number: 1 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "timestamp_sec" }
    field { number: 5 label: LABEL_OPTIONAL type: TYPE_UINT64 name: "radar_timestamp" }
    field { number: 9 label: LABEL_OPTIONAL type: TYPE_STRING name: "frame_id" }
  }
  message_type { name: "Point3D"
    field { number: 1 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "x" default_value: "nan" }
    field { number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "y" default_value: "nan" }
    field { number: 3 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "z" default_value: "nan" }
  }
}
`

func TestObstacles(t *testing.T) {
	c := channelOfSchema(t, commonSchema+`
file {
  name: "obstacle.proto" package: "apollo.perception"
  dependency: "header.proto"
  message_type { name: "PerceptionObstacle"
    enum_type {
      name: "Type"
      value { number: 0 name: "UNKNOWN" }
      value { number: 3 name: "PEDESTRIAN" }
    }
    field { number: 1 label: LABEL_OPTIONAL type: TYPE_INT32 name: "id" }
    field { number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".apollo.common.Point3D" name: "position" }
    field { number: 3 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "theta" }
    field { number: 4 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".apollo.common.Point3D" name: "velocity" }
    field { number: 5 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "length" }
    field { number: 6 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "width" }
    field { number: 7 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "height" }
    field { number: 10 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".apollo.perception.PerceptionObstacle.Type"
      name: "type" }
    field { number: 13 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "confidence" }
    field { number: 22 label: LABEL_REPEATED type: TYPE_DOUBLE name: "position_covariance" }
  }
  message_type { name: "PerceptionObstacles"
    field { number: 1 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".apollo.perception.PerceptionObstacle"
      name: "perception_obstacle" }
    field { number: 2 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".apollo.common.Header" name: "header" }
  }
}
`, "apollo.perception.PerceptionObstacles")
	out, losses := translateToROS2(t, c, encodeText(t, c, `
		header { timestamp_sec: 1.5 }
		perception_obstacle {
			id: 12 position { x: 1 y: 2 z: 3 } velocity { x: 3 y: -4 }
			length: 0.5 width: 0.6 height: 2 type: PEDESTRIAN confidence: 0.75
			position_covariance: [1, 2, 3, 4, 5, 6, 7, 8, 9]
		}
		perception_obstacle { id: 13 type: 77 }
	`))
	require.Empty(t, losses)
	require.Len(t, out, 3)
	require.Equal(t, []string{"/topic", "/topic_markers", "/topic_whole"},
		[]string{out[0].Channel.Topic, out[1].Channel.Topic, out[2].Channel.Topic})
	for _, m := range out {
		require.Equal(t, "/topic_whole", m.Channel.Metadata[MetadataWhole])
		require.Equal(t, "/topic", m.Channel.Metadata[MetadataTopic])
	}

	detections := bridgetest.Decode[vision_msgs.Detection3DArray](t, &out[0]).Detections
	require.Len(t, detections, 2)
	hypothesis := detections[0].Results[0]
	require.Equal(t, vision_msgs.ObjectHypothesis{ClassId: "PEDESTRIAN", Score: 0.75}, hypothesis.Hypothesis)
	require.Equal(t, geometry_msgs.Point{X: 1, Y: 2, Z: 4}, hypothesis.Pose.Pose.Position)
	require.Equal(t, [36]float64{1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0, 0, 7, 8, 9}, hypothesis.Pose.Covariance)
	require.Equal(t, "77", detections[1].Results[0].Hypothesis.ClassId)

	markers := bridgetest.Decode[visualization_msgs.MarkerArray](t, &out[1]).Markers
	require.Len(t, markers, 4)
	arrow := markers[2]
	require.EqualValues(t, visualization_msgs.Marker_ARROW, arrow.Type)
	require.Equal(t, int32(12), arrow.Id)
	require.Equal(t, []geometry_msgs.Point{{X: 1, Y: 2, Z: 4}, {X: 4, Y: -2, Z: 4}}, arrow.Points)
	require.EqualValues(t, visualization_msgs.Marker_CUBE, markers[3].Type)
}

func TestRadar(t *testing.T) {
	c := ownChannel(t, "apollo.drivers.ContiRadar")
	out, losses := translateToROS2(t, c, encodeText(t, c, `
		header { timestamp_sec: 1.5 radar_timestamp: 2000000007 }
		contiobs {
			obstacle_id: 258 longitude_dist: 30 lateral_dist: -2 longitude_vel: -5 lateral_vel: 1
			longitude_dist_rms: 0.5
			lateral_dist_rms: 2 longitude_vel_rms: 3 lateral_accel: 0.25 length: 4 width: 2 obstacle_class: 2
		}
		contiobs { obstacle_class: 99 }
	`))
	require.Empty(t, losses)
	require.Len(t, out, 2)
	tracks := bridgetest.Decode[radar_msgs.RadarTracks](t, &out[0])
	require.Equal(t, "radar", tracks.Header.FrameId)
	require.Equal(t, builtin_interfaces.TimeAt(2e9+7), tracks.Header.Stamp)
	require.Len(t, tracks.Tracks, 2)
	want := radar_msgs.RadarTrack{
		Position: geometry_msgs.Point{X: 30, Y: -2}, Velocity: geometry_msgs.Vector3{X: -5, Y: 1},
		Acceleration: geometry_msgs.Vector3{Y: 0.25}, Size: geometry_msgs.Vector3{X: 4, Y: 2}, Classification: 32002,
		PositionCovariance: [6]float32{0: 0.25, 3: 4}, VelocityCovariance: [6]float32{0: 9},
	}
	want.Uuid.Uuid = [16]uint8{14: 1, 15: 2}
	require.Equal(t, want, tracks.Tracks[0])
	require.Zero(t, tracks.Tracks[1].Classification)
}

// TestChannels checks the properties of the channels that a channel becomes.
func TestChannels(t *testing.T) {
	c := ownChannel(t, "apollo.canbus.Chassis")
	c.Metadata = map[string]string{"car": "7", MetadataTopic: "wrong"}
	c.QoS = []codec.QoS{codec.DefaultQoS()}
	c.QoS[0].Durability = codec.TransientLocal
	_, topics := bridgetest.Announce(t, nil, ToROS2, c)
	require.Len(t, topics, 2)
	for i, name := range []string{"/topic_twist", "/topic"} {
		to := topics[i].Channel
		require.Equal(t, name, to.Topic)
		require.Equal(t, c.QoS, to.QoS)
		require.Equal(t, map[string]string{
			"car": "7", MetadataType: c.Type, MetadataTopic: "/topic", MetadataWhole: "/topic",
			MetadataDescriptor: base64.StdEncoding.EncodeToString(c.Schema.Data),
		}, to.Metadata)
	}
	require.Equal(t, "wrong", c.Metadata[MetadataTopic])
}

// TestVendorPoints translates points with other fields than Apollo's own. A field that PointCloud2 cannot hold counts
// as lost.
func TestVendorPoints(t *testing.T) {
	c := channelOfSchema(t, commonSchema+`
file {
  name: "pointcloud.proto" package: "apollo.drivers"
  message_type { name: "PointXYZIT"
    field { number: 1 label: LABEL_OPTIONAL type: TYPE_FLOAT name: "x" default_value: "nan" }
    field { number: 2 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "y" default_value: "nan" }
    field { number: 3 label: LABEL_OPTIONAL type: TYPE_FLOAT name: "z" default_value: "nan" }
    field { number: 4 label: LABEL_OPTIONAL type: TYPE_UINT32 name: "ring" }
    field { number: 6 label: LABEL_OPTIONAL type: TYPE_INT64 name: "level" }
    field { number: 5 label: LABEL_REPEATED type: TYPE_FLOAT name: "returns" }
  }
  message_type { name: "PointCloud"
    field { number: 4 label: LABEL_REPEATED type: TYPE_MESSAGE type_name: ".apollo.drivers.PointXYZIT" name: "point" }
    field { number: 5 label: LABEL_OPTIONAL type: TYPE_DOUBLE name: "measurement_time" }
  }
}
`, "apollo.drivers.PointCloud")
	out, losses := translateToROS2(t, c, encodeText(t, c,
		`point { x: 1 y: 2.5 ring: 3 level: -3 returns: 4 } point { returns: 1 } measurement_time: 1`))
	cloud := bridgetest.Decode[sensor_msgs.PointCloud2](t, &out[0])
	require.EqualValues(t, 2, cloud.Width)
	require.EqualValues(t, 24, cloud.PointStep)
	first := cloud.Data[:24]
	require.Equal(t, float32(1), math.Float32frombits(binary.LittleEndian.Uint32(first)))
	require.Equal(t, float32(2.5), math.Float32frombits(binary.LittleEndian.Uint32(first[4:])))
	require.True(t, math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(first[8:])))))
	require.EqualValues(t, 3, binary.LittleEndian.Uint32(first[12:]))
	require.Equal(t, -3.0, math.Float64frombits(binary.LittleEndian.Uint64(first[16:])))
	require.Equal(t, []codec.Loss{{Topic: "/topic", What: "measurement_time", Messages: 1},
		{Topic: "/topic", What: "point.returns", Messages: 1}}, losses)
}

// TestReads sets one field after the other. Each field must change the translation or be counted as lost.
func TestReads(t *testing.T) {
	r, err := formats.Open(samples.Path(t, "apollo/apollo_cpp_sensors.record"))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	channels := []*codec.Channel{ownChannel(t, "apollo.localization.CorrectedImu")}
	for _, topic := range info.Topics {
		channels = append(channels, topic.Channel)
	}
	values := map[protoreflect.Kind]protoreflect.Value{
		protoreflect.StringKind: protoreflect.ValueOfString("set"),
		protoreflect.BytesKind:  protoreflect.ValueOfBytes([]byte("set")),
		protoreflect.DoubleKind: protoreflect.ValueOfFloat64(0.5),
		protoreflect.FloatKind:  protoreflect.ValueOfFloat32(0.5),
		protoreflect.Uint32Kind: protoreflect.ValueOfUint32(7), protoreflect.Uint64Kind: protoreflect.ValueOfUint64(7),
		protoreflect.BoolKind: protoreflect.ValueOfBool(true), protoreflect.EnumKind: protoreflect.ValueOfEnum(1),
	}
	seen := 0
	for _, c := range channels {
		if pairOf(c.Type) == nil || !pairOf(c.Type).lossy {
			continue
		}
		seen++
		d, err := descriptorOf(c)
		require.NoError(t, err)
		one := func(number protowire.Number, content []byte) []byte {
			return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
		}
		var set func(d protoreflect.MessageDescriptor, path string, around func([]byte) []byte)
		set = func(d protoreflect.MessageDescriptor, path string, around func([]byte) []byte) {
			unset, _ := translateToROS2(t, c, around(nil))
			for i := range d.Fields().Len() {
				f := d.Fields().Get(i)
				name := path + "." + string(f.Name())
				if f.Kind() == protoreflect.MessageKind {
					set(f.Message(), name, func(b []byte) []byte { return around(one(f.Number(), b)) })
					continue
				}
				require.Contains(t, values, f.Kind(), name)
				m := dynamicpb.NewMessage(d)
				m.Set(f, values[f.Kind()])
				b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
				require.NoError(t, err)
				out, losses := translateToROS2(t, c, around(b))
				shown := false
				for j := range out {
					shown = shown || string(out[j].Data) != string(unset[j].Data)
				}
				require.Equal(t, !shown, len(losses) > 0, "%s: %v", name, losses)
			}
		}
		set(d, c.Type, func(b []byte) []byte { return b })
	}
	require.Equal(t, 7, seen)
}

// TestUndescribed checks that fields without a description are counted, in messages with and without a counterpart.
func TestUndescribed(t *testing.T) {
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 0)
	message := append(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), unknown), unknown...)
	_, losses := translateToROS2(t, ownChannel(t, "apollo.drivers.Image"), message)
	require.Equal(t, []codec.Loss{{Topic: "/topic", What: "fields that the recording does not describe", Messages: 1}},
		losses)
	_, losses = translateToROS2(t, ownChannel(t, "apollo.control.ControlCommand"), message)
	require.Equal(t, []codec.Loss{
		{Topic: "/topic", What: "fields that the recording does not describe", Messages: 1},
		{Topic: "/topic", What: "fields that the recording does not describe, of apollo.common.Header", Messages: 1},
	}, losses)
}

// TestDamagedMessage translates a message that is cut at every possible byte.
func TestDamagedMessage(t *testing.T) {
	c := ownChannel(t, "apollo.localization.CorrectedImu")
	data := encodeText(t, c, `header { timestamp_sec: 2 } imu { linear_acceleration { x: 1 y: 2 z: 3 } }`)
	translator, _ := bridgetest.Announce(t, nil, ToROS2, c)
	translate := translator.Begin(nil)
	valid := 0
	for n := 1; n < len(data); n++ {
		if out, err := translate(&codec.Message{Channel: c, Data: data[:n]}); err == nil {
			require.Len(t, out, 1)
			valid++
		}
	}
	require.Equal(t, 1, valid) // only the message that ends behind the header is valid

	// The fields of a message may be split between two occurrences.
	half := encodeText(t, c, `imu { linear_acceleration { x: 1 } }`)
	rest := encodeText(t, c, `imu { linear_acceleration { y: 2 } }`)
	out, err := translate(&codec.Message{Channel: c, Data: append(half, rest...)})
	require.NoError(t, err)
	require.Equal(t, geometry_msgs.Vector3{X: 2, Y: -1},
		bridgetest.Decode[sensor_msgs.Imu](t, &out[0]).LinearAcceleration)
}

// TestWanted translates only to wanted channels.
func TestWanted(t *testing.T) {
	c := ownChannel(t, "apollo.localization.LocalizationEstimate")
	data := encodeText(t, c, `header { timestamp_sec: 2 } pose { position { x: 1 } }`)
	translator, topics := bridgetest.Announce(t, nil, ToROS2, c)
	require.Len(t, topics, 3)
	translate := func(wanted func(*codec.Channel) bool) (channels []*codec.Channel) {
		out, err := translator.Begin(wanted)(&codec.Message{Channel: c, Data: data})
		require.NoError(t, err)
		for _, m := range out {
			require.NotEmpty(t, m.Data)
			channels = append(channels, m.Channel)
		}
		return channels
	}
	require.Len(t, translate(nil), len(topics))
	for _, topic := range topics {
		require.Equal(t, []*codec.Channel{topic.Channel},
			translate(func(c *codec.Channel) bool { return c == topic.Channel }))
	}
	require.Empty(t, translate(func(*codec.Channel) bool { return false }))
}
