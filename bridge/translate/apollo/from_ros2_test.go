package apollo

import (
	"encoding/binary"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/bridgetest"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/rosidl"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/msgs/tf2_msgs"
	"tapedeck/msgs/unique_identifier_msgs"
	"tapedeck/msgs/vision_msgs"
)

// singleMessage returns a recording of one message.
func singleMessage(t testing.TB, topic string, m msgs.Message) *bridgetest.Recording {
	t.Helper()
	payload, err := cdr.Marshal(m)
	require.NoError(t, err)
	return &bridgetest.Recording{Messages: []codec.Message{
		{Channel: channelOf(t, msgs.Release(""), topic, m.TypeName()), Data: payload},
	}}
}

// translateToApollo translates a ROS 2 message. It returns the translated message as text, the channel of the
// translated message, and the losses.
func translateToApollo(t testing.TB, topic string, m msgs.Message) (
	text string, to *codec.Channel, losses []codec.Loss,
) {
	t.Helper()
	r := singleMessage(t, topic, m)
	b := newRoundTrip(t, r, r.Messages[0].Channel)
	out := b.toProtobuf(t, r.Messages[0].Data)
	d, err := descriptorOf(out.Channel)
	require.NoError(t, err)
	read := dynamicpb.NewMessage(d)
	require.NoError(t, proto.Unmarshal(out.Data, read))
	require.Empty(t, read.GetUnknown())
	return prototext.MarshalOptions{}.Format(read), out.Channel, b.losses()
}

var (
	testHeader  = std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1700000000, Nanosec: 250000000}, FrameId: "here"}
	facingNorth = geometry_msgs.Quaternion{Z: math.Sqrt2 / 2, W: math.Sqrt2 / 2} // the vehicle looks north
)

var fraction = regexp.MustCompile(`-?\d+\.\d+(e[+-]\d+)?`)

// plainText replaces sequences of spaces, which vary in prototext, by one space. It rounds numbers to 12 digits.
func plainText(s string) string {
	return fraction.ReplaceAllStringFunc(strings.Join(strings.Fields(s), " "), func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic(err)
		}
		if math.Abs(v) < 1e-15 {
			return "0"
		}
		return strconv.FormatFloat(v, 'g', 12, 64)
	})
}

// TestFromROS2 compares messages of each pair with values that were computed by hand.
func TestFromROS2(t *testing.T) {
	const header = `header:{timestamp_sec:1.70000000025e+09 sequence_num:0 frame_id:"here"}`
	stamped := func(sensor string) string {
		return strings.Replace(header, "0 frame", "0 "+sensor+"_timestamp:1700000000250000000 frame", 1)
	}
	float := func(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }
	double := func(v float64) []byte { return binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)) }
	imu := sensor_msgs.Imu{
		Header: testHeader, LinearAcceleration: geometry_msgs.Vector3{X: 1, Y: 2, Z: 3},
		AngularVelocity:       geometry_msgs.Vector3{X: 4, Y: 5, Z: 6},
		OrientationCovariance: [9]float64{-1},
	}
	turned := imu
	turned.Orientation, turned.OrientationCovariance, turned.AngularVelocityCovariance = facingNorth, [9]float64{},
		[9]float64{0: 1}
	odometry := nav_msgs.Odometry{Header: testHeader, ChildFrameId: "base_link"}
	odometry.Pose.Pose = geometry_msgs.Pose{Position: geometry_msgs.Point{X: 1, Y: 2, Z: 3},
		Orientation: geometry_msgs.Quaternion{W: 1}}
	odometry.Twist.Twist = geometry_msgs.Twist{Linear: geometry_msgs.Vector3{X: 10},
		Angular: geometry_msgs.Vector3{Z: 0.5, Y: 0.25}}
	certain := odometry
	certain.Pose.Covariance = [36]float64{0: 4, 7: 9, 14: 16, 21: 1, 28: 1, 35: 1}
	certain.Twist.Covariance = [36]float64{0: 0.25, 1: 0.125, 7: 0.25}
	certain.ChildFrameId = "car"
	const half = `0.7071067811865476`
	for name, test := range map[string]struct {
		topic   string
		message msgs.Message
		to, at  string
		want    string
		losses  []string
	}{
		"imu": {"/imu", &imu, "apollo.drivers.gnss.Imu", "/imu", header +
			` measurement_time:1.38403521825e+09 linear_acceleration:{x:-2 y:1 z:3} angular_velocity:{x:-5 y:4 z:6}`,
			nil},
		"imu that is corrected": {"/imu", &turned, "apollo.localization.CorrectedImu", "/imu", header +
			` imu:{linear_acceleration:{x:-2 y:1 z:3} angular_velocity:{x:-5 y:4 z:6} heading:1.5707963267948966 ` +
			`euler_angles:{x:-0 y:0 z:0}}`,
			[]string{"angular_velocity_covariance"}},
		"imu by its name": {"/apollo/sensor/gnss/corrected_imu", &imu, "apollo.localization.CorrectedImu",
			"/apollo/sensor/gnss/corrected_imu", header +
				` imu:{linear_acceleration:{x:-2 y:1 z:3} angular_velocity:{x:-5 y:4 z:6}}`, nil},
		"odometry": {"/pose", &odometry, "apollo.localization.LocalizationEstimate", "/pose", header +
			` pose:{position:{x:1 y:2 z:3} orientation:{qx:0 qy:0 qz:-` + half + ` qw:` + half +
			`} linear_velocity:{x:10 y:0 z:0}` +
			` angular_velocity:{x:0 y:0.25 z:0.5} heading:0 angular_velocity_vrf:{x:-0.25 y:0 z:0.5}} ` +
			`measurement_time:1.70000000025e+09`, nil},
		"odometry with covariances": {"/pose", &certain, "apollo.localization.LocalizationEstimate", "/pose", header +
			` pose:{position:{x:1 y:2 z:3} orientation:{qx:0 qy:0 qz:-` + half + ` qw:` + half +
			`} linear_velocity:{x:10 y:0 z:0}` +
			` angular_velocity:{x:0 y:0.25 z:0.5} heading:0 angular_velocity_vrf:{x:-0.25 y:0 z:0.5}}` +
			` uncertainty:{position_std_dev:{x:2 y:3 z:4} orientation_std_dev:{x:1 y:1 z:1} ` +
			`linear_velocity_std_dev:{x:0.5 y:0.5 z:0}` +
			` angular_velocity_std_dev:{x:0 y:0 z:0}} measurement_time:1.70000000025e+09`,
			[]string{"child_frame_id", "covariances between axes"}},
		"gps": {"/apollo/sensor/gnss/odometry", &certain, "apollo.localization.Gps", "/apollo/sensor/gnss/odometry",
			header +
				` localization:{position:{x:1 y:2 z:3} orientation:{qx:0 qy:0 qz:-` + half + ` qw:` + half +
				`} linear_velocity:{x:10 y:0 z:0}` +
				` angular_velocity:{x:0 y:0.25 z:0.5} heading:0 angular_velocity_vrf:{x:-0.25 y:0 z:0.5}}`,
			[]string{"child_frame_id", "covariances"}},
		"fix": {"/fix", &sensor_msgs.NavSatFix{
			Header: testHeader, Status: sensor_msgs.NavSatStatus{Status: 2, Service: 3}, Latitude: 48, Longitude: 8,
			Altitude:           500,
			PositionCovariance: [9]float64{1, 0.5, 0, 0.5, 4, 0, 0, 0, 9}, PositionCovarianceType: 3,
		}, "apollo.drivers.gnss.GnssBestPose", "/fix",
			header + ` measurement_time:1.38403521825e+09 sol_status:SOL_COMPUTED sol_type:NARROW_INT` +
				` latitude:48 longitude:8 height_msl:500 undulation:0 datum_id:WGS84 latitude_std_dev:2 ` +
				`longitude_std_dev:1 height_std_dev:3`,
			[]string{"position_covariance between axes", "position_covariance_type", "status.service"}},
		"no fix": {"/fix", &sensor_msgs.NavSatFix{Header: testHeader,
			Status: sensor_msgs.NavSatStatus{Status: -1, Service: 1}},
			"apollo.drivers.gnss.GnssBestPose", "/fix",
			header + ` measurement_time:1.38403521825e+09 sol_status:INVALID_FIX sol_type:NONE` +
				` latitude:0 longitude:0 height_msl:0 undulation:0 datum_id:WGS84`, nil},
		"cloud": {"/points", &sensor_msgs.PointCloud2{
			Header: testHeader, Height: 1, Width: 2, PointStep: 32, RowStep: 64, IsDense: true,
			Fields: []sensor_msgs.PointField{
				{Name: "x", Offset: 0, Datatype: 7, Count: 1}, {Name: "y", Offset: 4, Datatype: 7, Count: 1},
				{Name: "z", Offset: 8, Datatype: 7, Count: 1},
				{Name: "intensity", Offset: 12, Datatype: 7, Count: 1},
				{Name: "ring", Offset: 16, Datatype: 4, Count: 1},
				{Name: "time", Offset: 20, Datatype: 7, Count: 1}, {Name: "normal", Offset: 24, Datatype: 3, Count: 3},
			},
			Data: slices.Concat(float(1), float(2), float(-3), float(100), []byte{7, 1, 0, 0}, float(-0.25),
				make([]byte, 8),
				float(float32(math.NaN())), float(0), float(0), float(0.75), []byte{8, 0, 0, 0}, float(0.5),
				make([]byte, 8)),
		}, "apollo.drivers.PointCloud", "/points",
			stamped("lidar") + ` frame_id:"here" is_dense:true` +
				` point:{x:1 y:2 z:-3 intensity:100 timestamp:1700000000000000000 ring:263} point:{x:nan y:0 z:0 ` +
				`intensity:1 timestamp:1700000000750000000 ring:8}` +
				` measurement_time:1.70000000025e+09 width:2 height:1`,
			[]string{"field normal of the points",
				"fractions and signs of point fields that are unsigned integers in Apollo"}},
		"empty cloud": {"/points", &sensor_msgs.PointCloud2{Header: testHeader}, "apollo.drivers.PointCloud", "/points",
			stamped("lidar") + ` frame_id:"here" is_dense:false` +
				` measurement_time:1.70000000025e+09 width:0 height:0`, nil},
		"cloud with times since the epoch": {"/points", &sensor_msgs.PointCloud2{
			Header: testHeader, Height: 2, Width: 1, PointStep: 8, RowStep: 12, IsBigendian: false,
			Fields: []sensor_msgs.PointField{{Name: "timestamp", Datatype: 8, Count: 1}},
			Data:   slices.Concat(double(1700000000.5), make([]byte, 4), double(1.7e18)),
		}, "apollo.drivers.PointCloud", "/points",
			stamped("lidar") + ` frame_id:"here" is_dense:false` +
				` point:{timestamp:1700000000500000000} point:{timestamp:1700000000000000000} ` +
				`measurement_time:1.70000000025e+09 width:1 height:2`, nil},
		"image": {"/camera", &sensor_msgs.Image{Header: testHeader, Height: 1, Width: 2, Encoding: "yuv422_yuy2",
			Step: 4, Data: []byte("abcd"), IsBigendian: 1},
			"apollo.drivers.Image", "/camera", stamped("camera") +
				` frame_id:"here" measurement_time:1.70000000025e+09 height:1 width:2 encoding:"yuyv" step:4 ` +
				`data:"abcd"`,
			[]string{"is_bigendian"}},
		"compressed image": {"/camera/compressed", &sensor_msgs.CompressedImage{Header: testHeader, Format: "jpeg",
			Data: []byte{0xff, 0xd8}},
			"apollo.drivers.CompressedImage", "/camera/compressed",
			stamped("camera") +
				` frame_id:"here" format:"jpeg" data:"\xff\xd8" measurement_time:1.70000000025e+09`, nil},
		"transforms": {"/tf", &tf2_msgs.TFMessage{Transforms: []geometry_msgs.TransformStamped{{
			Header: testHeader, ChildFrameId: "there",
			Transform: geometry_msgs.Transform{Translation: geometry_msgs.Vector3{X: 1,
				Y: 2, Z: 3}, Rotation: geometry_msgs.Quaternion{W: 1}},
		}}}, "apollo.transform.TransformStampeds", "/tf", header + ` transforms:{` + header +
			` child_frame_id:"there" transform:{translation:{x:1 y:2 z:3} rotation:{qx:0 qy:0 qz:0 qw:1}}}`, nil},
		"no transforms": {"/tf", &tf2_msgs.TFMessage{}, "apollo.transform.TransformStampeds", "/tf", ``, nil},
		"chassis": {"/apollo/canbus/chassis_twist", &geometry_msgs.TwistStamped{Header: testHeader,
			Twist: geometry_msgs.Twist{Linear: geometry_msgs.Vector3{X: 3.5, Y: 1}}},
			"apollo.canbus.Chassis", "/apollo/canbus/chassis", `speed_mps:3.5 ` + header,
			[]string{"velocities other than forward"}},
		"trajectory": {"/path", &nav_msgs.Path{Header: testHeader, Poses: []geometry_msgs.PoseStamped{
			{Header: testHeader, Pose: geometry_msgs.Pose{Orientation: facingNorth}},
			{Header: std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: 1700000001}, FrameId: "else"},
				Pose: geometry_msgs.Pose{Position: geometry_msgs.Point{X: 3, Y: 4, Z: 5},
					Orientation: geometry_msgs.Quaternion{X: 1}}},
		}}, "apollo.planning.ADCTrajectory", "/path", header +
			` total_path_length:5 total_path_time:0.75 trajectory_point:{path_point:{x:0 y:0 z:0 ` +
			`theta:1.5707963267948966 s:0} relative_time:0}` +
			` trajectory_point:{path_point:{x:3 y:4 z:5 theta:0 s:5} relative_time:0.75}`,
			[]string{"frame_id of poses", "roll and pitch of poses"}},
		"obstacles": {"/obstacles", &vision_msgs.Detection3DArray{Header: testHeader,
			Detections: []vision_msgs.Detection3D{{
				Header: std_msgs.Header{Stamp: testHeader.Stamp, FrameId: "else"}, Id: "x7",
				Bbox: vision_msgs.BoundingBox3D{Center: geometry_msgs.Pose{Position: geometry_msgs.Point{X: 1, Y: 2,
					Z: 3},
					Orientation: facingNorth}, Size: geometry_msgs.Vector3{X: 4, Y: 2, Z: 1}},
				Results: []vision_msgs.ObjectHypothesisWithPose{
					{Hypothesis: vision_msgs.ObjectHypothesis{ClassId: "PEDESTRIAN", Score: 0.5}},
					{Hypothesis: vision_msgs.ObjectHypothesis{ClassId: "dog"}},
				},
			}}}, "apollo.perception.PerceptionObstacles", "/obstacles",
			`perception_obstacle:{id:0 position:{x:1 y:2 z:2.5} theta:1.5707963267948966 length:4 width:2 height:1` +
				` type:PEDESTRIAN timestamp:1.70000000025e+09 confidence:0.5} ` + header,
			[]string{"classes that Apollo does not have", "frame_id of detections", "ids that are not numbers"}},
		"radar": {"/radar", &radar_msgs.RadarTracks{Header: testHeader, Tracks: []radar_msgs.RadarTrack{{
			Uuid:               unique_identifier_msgs.UUID{Uuid: [16]uint8{0: 1, 15: 9}},
			Position:           geometry_msgs.Point{X: 1, Y: 2, Z: 3},
			Classification:     2,
			PositionCovariance: [6]float32{4, 1, 0, 9, 0, 0},
		}}}, "apollo.drivers.ContiRadar", "/radar",
			stamped("radar") + ` contiobs:{` +
				stamped("radar") + ` obstacle_id:9 longitude_dist:1 lateral_dist:2 longitude_vel:0 lateral_vel:0` +
				` longitude_dist_rms:2 lateral_dist_rms:3 longitude_vel_rms:0 lateral_vel_rms:0 longitude_accel:0 ` +
				`lateral_accel:0 longitude_accel_rms:0 lateral_accel_rms:0` +
				` length:0 width:0 obstacle_class:0}`, []string{"classifications that Apollo does not have",
				"covariances between axes, along z and of sizes", "uuids that are not numbers", "z values"}},
		"control": {"/control", &carla_msgs.CarlaEgoVehicleControl{Header: testHeader, Throttle: 0.25, Brake: 0.5,
			Steer:     -0.5,
			HandBrake: true, Reverse: true, Gear: -1},
			"apollo.control.ControlCommand", "/control",
			header + ` throttle:25 brake:50 steering_target:50 parking_brake:true gear_location:GEAR_REVERSE`, nil},
		"control without a gear": {"/control", &carla_msgs.CarlaEgoVehicleControl{Header: testHeader},
			"apollo.control.ControlCommand", "/control",
			header + ` throttle:0 brake:0 steering_target:-0 parking_brake:false`,
			nil},
		"control in third gear": {"/control", &carla_msgs.CarlaEgoVehicleControl{Header: testHeader,
			ManualGearShift: true, Gear: 3},
			"apollo.control.ControlCommand", "/control",
			header + ` throttle:0 brake:0 steering_target:-0 parking_brake:false gear_location:GEAR_DRIVE`,
			[]string{"gear", "manual_gear_shift"}},
		"twist that is no chassis": {"/cmd_vel", &geometry_msgs.TwistStamped{Header: testHeader},
			"geometry_msgs.msg.TwistStamped", "/cmd_vel",
			`header:{stamp:{sec:1700000000 nanosec:250000000} frame_id:"here"} twist:{linear:{x:0 y:0 z:0} ` +
				`angular:{x:0 y:0 z:0}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			text, to, losses := translateToApollo(t, test.topic, test.message)
			require.Equal(t, []string{test.to, test.at}, []string{to.Type, to.Topic})
			require.Equal(t, plainText(test.want), plainText(text))
			var lost []string
			for _, loss := range losses {
				require.Equal(t, test.topic, loss.Topic)
				require.EqualValues(t, 1, loss.Messages)
				lost = append(lost, loss.What)
			}
			require.Equal(t, test.losses, lost)
		})
	}
}

// TestBigEndian translates a big-endian cloud and a big-endian payload.
func TestBigEndian(t *testing.T) {
	text, _, losses := translateToApollo(t, "/points", &sensor_msgs.PointCloud2{
		Header: testHeader, Height: 1, Width: 2, PointStep: 6, IsBigendian: true,
		Fields: []sensor_msgs.PointField{{Name: "y", Datatype: sensor_msgs.PointField_FLOAT32},
			{Name: "gain", Offset: 4, Datatype: sensor_msgs.PointField_INT16}},
		Data: []byte{0x3f, 0x80, 0, 0, 0xff, 0xfe, 0xc0, 0, 0, 0, 1, 0},
	})
	require.Contains(t, plainText(text), "point:{y:1 gain:-2} point:{y:-2 gain:256}")
	require.Empty(t, losses)
	text, _, _ = translateToApollo(t, "/points", &sensor_msgs.PointCloud2{
		Header: testHeader, Height: 1, Width: 1, PointStep: 4, IsBigendian: true,
		Fields: []sensor_msgs.PointField{{Name: "rgb", Datatype: sensor_msgs.PointField_UINT32},
			{Name: "rgba", Datatype: sensor_msgs.PointField_UINT32}, // overlaps rgb
			{Name: "red", Offset: 2, Datatype: sensor_msgs.PointField_UINT16}},
		Data: []byte{0, 0, 1, 2},
	})
	require.Contains(t, plainText(text), "point:{rgb:258 rgba:258 red:258}")

	b := newRoundTrip(t, nil, channelOf(t, msgs.Release(""), "/numbers", "std_msgs/msg/Float64MultiArray"))
	big := append([]byte{0, 0, 0, 0}, make([]byte, 8)...)
	big = binary.BigEndian.AppendUint32(append(big, 0, 0, 0, 1), 0)
	big = binary.BigEndian.AppendUint64(big, math.Float64bits(1.5))
	little, err := cdr.Marshal(&std_msgs.Float64MultiArray{Data: []float64{1.5}})
	require.NoError(t, err)
	require.Equal(t, little, b.restore(t, big))
}

// TestFromROS2Errors translates payloads and channels that cannot be translated.
func TestFromROS2Errors(t *testing.T) {
	cloud := func(m sensor_msgs.PointCloud2) []byte {
		payload, err := cdr.Marshal(&m)
		require.NoError(t, err)
		return payload
	}
	x := []sensor_msgs.PointField{{Name: "x", Offset: 2, Datatype: sensor_msgs.PointField_FLOAT32, Count: 1}}
	for name, test := range map[string]struct {
		typeName string
		payload  []byte
		want     string
	}{
		"short": {"sensor_msgs/msg/JointState", []byte{0, 1, 0, 0, 1, 0, 0, 0},
			"decode sensor_msgs/msg/JointState: header.stamp.nanosec: offset 8: bytes needed: 4, left: 0"},
		"length": {"std_msgs/msg/Float64MultiArray", []byte{0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff},
			"decode std_msgs/msg/Float64MultiArray: layout.dim: offset 8: sequence length 4294967295 does " +
				"not fit: bytes needed: 51539607540, left: 0"},
		"long": {"std_msgs/msg/Bool", make([]byte, 13),
			"decode std_msgs/msg/Bool: 8 bytes left behind the last field; the payload does not fit the definition"},
		"encapsulation": {"std_msgs/msg/Bool", []byte{9, 9, 9, 9, 1},
			"decode std_msgs/msg/Bool: 09 09 09 09 is no CDR header"},
		"mapped": {"sensor_msgs/msg/Image", []byte{0, 1, 0, 0}, "decode sensor_msgs/msg/Image: "},
		"few bytes": {"sensor_msgs/msg/PointCloud2", cloud(sensor_msgs.PointCloud2{Width: 2, Height: 1, PointStep: 8,
			Data: make([]byte, 15)}), "15 bytes cannot hold 1 row of 2 points of 8 bytes"},
		"many rows": {"sensor_msgs/msg/PointCloud2", cloud(sensor_msgs.PointCloud2{Width: 1, Height: math.MaxUint32,
			PointStep: 8, Data: make([]byte, 15)}), "15 bytes cannot hold 4294967295 rows of 1 point of 8 bytes"},
		"no step": {"sensor_msgs/msg/PointCloud2", cloud(sensor_msgs.PointCloud2{Width: 1, Height: 1}),
			"0 bytes cannot hold 1 row of 1 point of 0 bytes"},
		"field outside": {"sensor_msgs/msg/PointCloud2",
			cloud(sensor_msgs.PointCloud2{Width: 1, Height: 1, PointStep: 5,
				Fields: x, Data: make([]byte, 5)}), "field x of 4 bytes at 2 lies outside of the point, which has 5"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRoundTrip(t, nil, channelOf(t, msgs.Release(""), "/topic", test.typeName))
			_, err := b.there(&codec.Message{Channel: b.original, Data: test.payload})
			require.ErrorContains(t, err, test.want)
		})
	}
	from, _ := bridgetest.Announce(t, nil, FromROS2)
	_, err := from.Topics(codec.TopicInfo{Channel: &codec.Channel{Encoding: codec.EncodingROS1}})
	require.EqualError(t, err, "its messages are ros1, not ROS 2's CDR")
	_, err = from.Topics(codec.TopicInfo{Channel: &codec.Channel{Type: "nowhere/msg/Known",
		Encoding: codec.EncodingCDR}})
	require.ErrorContains(t, err, "unknown type nowhere/msg/Known")
	_, err = from.Begin(nil)(&codec.Message{Channel: new(codec.Channel)})
	require.EqualError(t, err, "the channel of the message is unknown")
}

// TestOtherDefinition translates a type with a known name but other fields.
func TestOtherDefinition(t *testing.T) {
	library, err := rosidl.ParseConcatenated("sensor_msgs/msg/Imu", "float64 yaw\n")
	require.NoError(t, err)
	b := newRoundTrip(t, nil, channelOf(t, library, "/imu", "sensor_msgs/msg/Imu"))
	require.Equal(t, "sensor_msgs.msg.Imu", b.target.Type)
	payload := binary.LittleEndian.AppendUint64([]byte{0, 1, 0, 0}, math.Float64bits(0.5))
	require.Equal(t, payload, b.restore(t, payload))
	require.Equal(t, b.original, b.restored)
}

// TestVendorFields checks that the points of all clouds in a recording get one description.
func TestVendorFields(t *testing.T) {
	field := func(name string, datatype uint8) sensor_msgs.PointField {
		return sensor_msgs.PointField{Name: name, Datatype: datatype, Count: 1}
	}
	r := new(bridgetest.Recording)
	for topic, fields := range map[string][]sensor_msgs.PointField{
		"/a": {field("x", 7), field("ring", 4), field("gain", 7)},
		"/b": {field("y", 7), field("gain", 5), field("no name", 5), field("", 7)},
	} {
		cloud := &sensor_msgs.PointCloud2{Header: testHeader, Fields: fields, Width: 1, Height: 1, PointStep: 4,
			Data: make([]byte, 4)}
		r.Messages = append(r.Messages, singleMessage(t, topic, cloud).Messages...)
	}
	from, err := FromROS2(r)
	require.NoError(t, err)
	var schemas []codec.Schema
	for _, m := range r.Messages {
		topics, err := from.Topics(codec.TopicInfo{Channel: m.Channel})
		require.NoError(t, err)
		schemas = append(schemas, topics[0].Channel.Schema)
		d, err := descriptorOf(topics[0].Channel)
		require.NoError(t, err)
		point := d.Fields().ByName("point").Message().Fields()
		require.Equal(t, 7, point.Len())
		require.Equal(t, protoreflect.DoubleKind, point.ByName("gain").Kind())
		require.Equal(t, protoreflect.Uint32Kind, point.ByName("ring").Kind())
		_, err = from.Begin(nil)(&m)
		require.NoError(t, err)
	}
	require.Equal(t, schemas[0], schemas[1])
	require.Equal(t, []codec.Loss{{Topic: "/b", What: "field no name of the points", Messages: 1}},
		from.Losses())
}
