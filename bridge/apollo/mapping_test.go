package apollo

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/radar_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/vision_msgs"
	"tapedeck/msgs/visualization_msgs"
	"tapedeck/test/samples"
)

// channelOfSchema returns a channel of a type that a text like schemaText describes.
func channelOfSchema(t testing.TB, text, typeName string) *codec.Channel {
	set, err := parseSchema(text)
	require.NoError(t, err)
	schema, err := proto.Marshal(set)
	require.NoError(t, err)
	return &codec.Channel{Topic: "/topic", Type: typeName, Encoding: codec.EncodingProtobuf, Schema: codec.Schema{Encoding: codec.SchemaProtobuf, Data: schema}}
}

// translated returns what an encoded message becomes, and what is lost of it.
func translated(t testing.TB, c *codec.Channel, data []byte) ([]codec.Message, []bridge.Loss) {
	translator, err := ToROS2(nil)
	require.NoError(t, err)
	_, err = translator.Topics(codec.TopicInfo{Channel: c})
	require.NoError(t, err)
	out, err := translator.Begin(nil)(&codec.Message{Channel: c, LogTime: 5e9, Data: data})
	require.NoError(t, err)
	return out, translator.(bridge.Lossy).Losses()
}

func encodedText(t testing.TB, c *codec.Channel, text string) []byte {
	d, err := descriptorOf(c)
	require.NoError(t, err)
	m := dynamicpb.NewMessage(d)
	require.NoError(t, prototext.Unmarshal([]byte(text), m))
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

const commonSchema = `
file header.proto apollo.common
message Header
1 double timestamp_sec
5 uint64 radar_timestamp
9 string frame_id
message Point3D
1 double x = nan
2 double y = nan
3 double z = nan
`

func TestObstacles(t *testing.T) {
	c := channelOfSchema(t, commonSchema+`
file obstacle.proto apollo.perception
message PerceptionObstacle
1 int32 id
2 apollo.common.Point3D position
3 double theta
4 apollo.common.Point3D velocity
5 double length
6 double width
7 double height
enum PerceptionObstacle.Type
0 UNKNOWN
3 PEDESTRIAN
message PerceptionObstacle
10 apollo.perception.PerceptionObstacle.Type type
13 double confidence
22 repeated double position_covariance
message PerceptionObstacles
1 repeated apollo.perception.PerceptionObstacle perception_obstacle
2 apollo.common.Header header
`, "apollo.perception.PerceptionObstacles")
	out, losses := translated(t, c, encodedText(t, c, `
		header { timestamp_sec: 1.5 }
		perception_obstacle {
			id: 12 position { x: 1 y: 2 z: 3 } velocity { x: 3 y: -4 } length: 0.5 width: 0.6 height: 2 type: PEDESTRIAN confidence: 0.75
			position_covariance: [1, 2, 3, 4, 5, 6, 7, 8, 9]
		}
		perception_obstacle { id: 13 type: 77 }
	`))
	require.Empty(t, losses)
	require.Len(t, out, 3)
	require.Equal(t, []string{"/topic", "/topic_markers", "/topic_whole"}, []string{out[0].Channel.Topic, out[1].Channel.Topic, out[2].Channel.Topic})
	for _, m := range out {
		require.Equal(t, "/topic_whole", m.Channel.Metadata[MetadataWhole])
		require.Equal(t, "/topic", m.Channel.Metadata[MetadataTopic])
	}

	detections := decode[vision_msgs.Detection3DArray](t, &out[0]).Detections
	require.Len(t, detections, 2)
	hypothesis := detections[0].Results[0]
	require.Equal(t, vision_msgs.ObjectHypothesis{ClassId: "PEDESTRIAN", Score: 0.75}, hypothesis.Hypothesis)
	require.Equal(t, geometry_msgs.Point{X: 1, Y: 2, Z: 4}, hypothesis.Pose.Pose.Position)
	require.Equal(t, [36]float64{1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0, 0, 7, 8, 9}, hypothesis.Pose.Covariance)
	require.Equal(t, "77", detections[1].Results[0].Hypothesis.ClassId)

	markers := decode[visualization_msgs.MarkerArray](t, &out[1]).Markers
	require.Len(t, markers, 4)
	arrow := markers[2]
	require.EqualValues(t, visualization_msgs.Marker_ARROW, arrow.Type)
	require.Equal(t, int32(12), arrow.Id)
	require.Equal(t, []geometry_msgs.Point{{X: 1, Y: 2, Z: 4}, {X: 4, Y: -2, Z: 4}}, arrow.Points)
	require.EqualValues(t, visualization_msgs.Marker_CUBE, markers[3].Type)
}

func TestRadar(t *testing.T) {
	c := channelOfSchema(t, commonSchema+`
file conti_radar.proto apollo.drivers
message ContiRadarObs
3 int32 obstacle_id
4 double longitude_dist
5 double lateral_dist
6 double longitude_vel
7 double lateral_vel
8 double rcs
10 double longitude_dist_rms
11 double lateral_dist_rms
12 double longitude_vel_rms
17 double lateral_accel
22 double length
23 double width
24 int32 obstacle_class
message ContiRadar
1 apollo.common.Header header
2 repeated apollo.drivers.ContiRadarObs contiobs
`, "apollo.drivers.ContiRadar")
	out, losses := translated(t, c, encodedText(t, c, `
		header { timestamp_sec: 1.5 radar_timestamp: 2000000007 }
		contiobs {
			obstacle_id: 258 longitude_dist: 30 lateral_dist: -2 longitude_vel: -5 lateral_vel: 1 rcs: 12 longitude_dist_rms: 0.5
			lateral_dist_rms: 2 longitude_vel_rms: 3 lateral_accel: 0.25 length: 4 width: 2 obstacle_class: 2
		}
		contiobs { obstacle_class: 99 }
	`))
	require.Empty(t, losses)
	require.Len(t, out, 2)
	tracks := decode[radar_msgs.RadarTracks](t, &out[0])
	require.Equal(t, "radar", tracks.Header.FrameId)
	require.Equal(t, stamp(2e9+7), tracks.Header.Stamp)
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

// TestChannels keeps what is known of a channel.
func TestChannels(t *testing.T) {
	c := channelOfSchema(t, schemaText, "apollo.canbus.Chassis")
	c.Metadata = map[string]string{"car": "7", MetadataTopic: "wrong"}
	c.QoS = []codec.QoS{codec.DefaultQoS()}
	c.QoS[0].Durability = codec.TransientLocal
	translator, err := ToROS2(nil)
	require.NoError(t, err)
	topics, err := translator.Topics(codec.TopicInfo{Channel: c, MessageCount: 3})
	require.NoError(t, err)
	require.Len(t, topics, 2)
	for i, name := range []string{"/topic_twist", "/topic"} {
		to := topics[i].Channel
		require.Equal(t, name, to.Topic)
		require.EqualValues(t, 3, topics[i].MessageCount)
		require.Equal(t, c.QoS, to.QoS)
		require.Equal(t, map[string]string{
			"car": "7", MetadataType: c.Type, MetadataTopic: "/topic", MetadataWhole: "/topic",
			MetadataDescriptor: base64.StdEncoding.EncodeToString(c.Schema.Data),
		}, to.Metadata)
	}
	require.Equal(t, "wrong", c.Metadata[MetadataTopic])
}

// A vendor's points have more than PointCloud2 can hold: that is counted.
func TestVendorPoints(t *testing.T) {
	c := channelOfSchema(t, commonSchema+`
file pointcloud.proto apollo.drivers
message PointXYZIT
1 float x = nan
2 double y = nan
3 float z = nan
4 uint32 ring
6 int64 level
5 repeated float returns
message PointCloud
4 repeated apollo.drivers.PointXYZIT point
5 double measurement_time
`, "apollo.drivers.PointCloud")
	out, losses := translated(t, c, encodedText(t, c, `point { x: 1 y: 2.5 ring: 3 level: -3 returns: 4 } point { returns: 1 } measurement_time: 1`))
	cloud := decode[sensor_msgs.PointCloud2](t, &out[0])
	require.EqualValues(t, 2, cloud.Width)
	require.EqualValues(t, 24, cloud.PointStep)
	first := cloud.Data[:24]
	require.Equal(t, float32(1), math.Float32frombits(binary.LittleEndian.Uint32(first)))
	require.Equal(t, float32(2.5), math.Float32frombits(binary.LittleEndian.Uint32(first[4:])))
	require.True(t, math.IsNaN(float64(math.Float32frombits(binary.LittleEndian.Uint32(first[8:])))))
	require.EqualValues(t, 3, binary.LittleEndian.Uint32(first[12:]))
	require.Equal(t, -3.0, math.Float64frombits(binary.LittleEndian.Uint64(first[16:])))
	require.Equal(t, []bridge.Loss{{Topic: "/topic", What: "point.returns", Messages: 1}, {Topic: "/topic", What: "measurement_time", Messages: 1}}, losses)
}

// TestReads sets one field after the other: either the translation shows it, or it is counted as lost.
func TestReads(t *testing.T) {
	r, err := codec.Open(samples.Path(t, "apollo/apollo_cpp_sensors.record"))
	require.NoError(t, err)
	defer r.Close()
	info, err := r.Info()
	require.NoError(t, err)
	channels := []*codec.Channel{channelOfSchema(t, schemaText, "apollo.localization.CorrectedImu")}
	for _, topic := range info.Topics {
		channels = append(channels, topic.Channel)
	}
	seen := 0
	for _, c := range channels {
		if pairOf(c.Type) == nil || pairOf(c.Type).reads == nil {
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
			unset, _ := translated(t, c, around(nil))
			for i := range d.Fields().Len() {
				f := d.Fields().Get(i)
				name := path + "." + string(f.Name())
				if f.Kind() == protoreflect.MessageKind {
					set(f.Message(), name, func(b []byte) []byte { return around(one(f.Number(), b)) })
					continue
				}
				m := dynamicpb.NewMessage(d)
				switch f.Kind() {
				case protoreflect.StringKind:
					m.Set(f, protoreflect.ValueOfString("set"))
				case protoreflect.BytesKind:
					m.Set(f, protoreflect.ValueOfBytes([]byte("set")))
				case protoreflect.DoubleKind:
					m.Set(f, protoreflect.ValueOfFloat64(0.5))
				case protoreflect.FloatKind:
					m.Set(f, protoreflect.ValueOfFloat32(0.5))
				case protoreflect.Uint32Kind:
					m.Set(f, protoreflect.ValueOfUint32(7))
				case protoreflect.Uint64Kind:
					m.Set(f, protoreflect.ValueOfUint64(7))
				case protoreflect.BoolKind:
					m.Set(f, protoreflect.ValueOfBool(true))
				case protoreflect.EnumKind:
					m.Set(f, protoreflect.ValueOfEnum(1))
				default:
					require.Fail(t, "a field of another kind", name)
				}
				b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
				require.NoError(t, err)
				out, losses := translated(t, c, around(b))
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

// TestUndescribed has fields that the recording does not describe, in what is mapped and in what is generated.
func TestUndescribed(t *testing.T) {
	schema := commonSchema + `
file image.proto apollo.drivers
message Image
1 apollo.common.Header header
4 uint32 height
message Other
1 apollo.common.Header header
`
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 0)
	message := append(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), unknown), unknown...)
	_, losses := translated(t, channelOfSchema(t, schema, "apollo.drivers.Image"), message)
	require.Equal(t, []bridge.Loss{{Topic: "/topic", What: "fields that the recording does not describe", Messages: 1}}, losses)
	_, losses = translated(t, channelOfSchema(t, schema, "apollo.drivers.Other"), message)
	require.Equal(t, []bridge.Loss{
		{Topic: "/topic", What: "fields that the recording does not describe, of apollo.common.Header", Messages: 1},
		{Topic: "/topic", What: "fields that the recording does not describe", Messages: 1},
	}, losses)
}

// TestDamagedMessage cuts a message where it is read and where it is not.
func TestDamagedMessage(t *testing.T) {
	c := channelOfSchema(t, schemaText, "apollo.localization.CorrectedImu")
	data := encodedText(t, c, `header { timestamp_sec: 2 } imu { linear_acceleration { x: 1 y: 2 z: 3 } }`)
	translator, err := ToROS2(nil)
	require.NoError(t, err)
	_, err = translator.Topics(codec.TopicInfo{Channel: c})
	require.NoError(t, err)
	translate := translator.Begin(nil)
	parts := 0
	for n := 1; n < len(data); n++ {
		if out, err := translate(&codec.Message{Channel: c, Data: data[:n]}); err == nil {
			require.Len(t, out, 1)
			parts++
		}
	}
	require.Equal(t, 1, parts) // between the header and the rest

	// A message in parts is one.
	half := encodedText(t, c, `imu { linear_acceleration { x: 1 } }`)
	rest := encodedText(t, c, `imu { linear_acceleration { y: 2 } }`)
	out, err := translate(&codec.Message{Channel: c, Data: append(half, rest...)})
	require.NoError(t, err)
	require.Equal(t, geometry_msgs.Vector3{X: 2, Y: -1}, decode[sensor_msgs.Imu](t, &out[0]).LinearAcceleration)
}

// TestWanted makes only what is wanted of a message.
func TestWanted(t *testing.T) {
	c := channelOfSchema(t, schemaText, "apollo.localization.LocalizationEstimate")
	data := encodedText(t, c, `header { timestamp_sec: 2 } pose { position { x: 1 } }`)
	translator, err := ToROS2(nil)
	require.NoError(t, err)
	topics, err := translator.Topics(codec.TopicInfo{Channel: c})
	require.NoError(t, err)
	require.Len(t, topics, 3)
	made := func(wanted func(*codec.Channel) bool) (channels []*codec.Channel) {
		out, err := translator.Begin(wanted)(&codec.Message{Channel: c, Data: data})
		require.NoError(t, err)
		for _, m := range out {
			require.NotEmpty(t, m.Data)
			channels = append(channels, m.Channel)
		}
		return channels
	}
	all := made(nil)
	require.Len(t, all, len(topics))
	for _, topic := range topics {
		require.Equal(t, []*codec.Channel{topic.Channel}, made(func(c *codec.Channel) bool { return c == topic.Channel }))
	}
	require.Empty(t, made(func(*codec.Channel) bool { return false }))
}
