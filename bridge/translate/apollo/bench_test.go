package apollo

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/test/samples"
)

var formats = codec.Formats{mcap.Format, record.Format, rosbag.Format, rosbag2.Format}

// BenchmarkToROS2 translates messages of real recordings to ROS 2. For comparison, it also makes
// only the generated message, and decodes the Apollo message with dynamicpb.
func BenchmarkToROS2(b *testing.B) {
	for name, topics := range map[string][]string{
		"example.record.00000": {"/apollo/planning", "/apollo/routing_response_history", "/apollo/canbus/chassis"},
		"apollo_cpp_sensors.record": {"/apollo/sensor/lidar128/compensator/PointCloud2", "/apollo/localization/pose",
			"/apollo/sensor/gnss/imu"},
	} {
		r, err := formats.Open(samples.Path(b, "apollo/"+name))
		require.NoError(b, err)
		defer r.Close()
		for _, topic := range topics {
			it, err := r.Read(codec.Query{Topics: func(c *codec.Channel) bool { return c.Topic == topic }})
			require.NoError(b, err)
			m, err := it.Next()
			require.NoError(b, err)
			translator, err := ToROS2(r)
			require.NoError(b, err)
			_, err = translator.Topics(codec.TopicInfo{Channel: m.Channel})
			require.NoError(b, err)
			translate := translator.Begin(nil)
			b.Run(topic[1:]+"/translate", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Data)))
				for b.Loop() {
					_, err := translate(m)
					require.NoError(b, err)
				}
			})
			d, err := descriptorOf(m.Channel)
			require.NoError(b, err)
			plans, err := plansOf(d)
			require.NoError(b, err)
			b.Run(topic[1:]+"/generate", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Data)))
				var encoder planEncoder
				var payload []byte
				for b.Loop() {
					payload, err = encoder.append(payload[:0], plans.root(), m.Data, nil)
					require.NoError(b, err)
				}
			})
			b.Run(topic[1:]+"/dynamicpb", func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(m.Data)))
				for b.Loop() {
					require.NoError(b, proto.Unmarshal(m.Data, dynamicpb.NewMessage(d)))
				}
			})
			require.NoError(b, it.Close())
		}
	}
}

// BenchmarkFromROS2 translates a message with a counterpart in Apollo, and a message that keeps its fields. It also
// translates the latter message back.
func BenchmarkFromROS2(b *testing.B) {
	d := generator{rand.New(rand.NewPCG(1, 2))}
	imu := &sensor_msgs.Imu{Header: d.header(), Orientation: d.turn(), AngularVelocity: d.vector(),
		LinearAcceleration: d.vector()}
	scan := &sensor_msgs.LaserScan{Header: d.header(), Ranges: make([]float32, 1000),
		Intensities: make([]float32, 1000)}
	joints := &sensor_msgs.JointState{Header: d.header()}
	for range 7 {
		joints.Name = append(joints.Name, "left_elbow_pitch")
		joints.Position = append(joints.Position, d.NormFloat64())
	}
	for _, test := range []struct {
		name, topic string
		message     msgs.Message
		back        bool
	}{
		{"Imu", "/imu", imu, false},
		{"PointCloud2", "/points", d.cloud(10000), false},
		{"Image", "/camera", &sensor_msgs.Image{Header: d.header(), Encoding: "rgb8", Data: make([]byte, 2<<20)},
			false},
		{"LaserScan", "/scan", scan, false},
		{"JointState", "/joints", joints, false},
		{"Twist", "/cmd_vel", &geometry_msgs.Twist{Linear: d.vector()}, false},
		{"LaserScanBack", "/scan", scan, true},
		{"JointStateBack", "/joints", joints, true},
	} {
		b.Run(test.name, func(b *testing.B) {
			payload, err := cdr.Marshal(test.message)
			if err != nil {
				b.Fatal(err)
			}
			r := singleMessage(b, test.topic, test.message)
			trip := newRoundTrip(b, r, r.Messages[0].Channel)
			m, translate := &codec.Message{Channel: trip.original, Data: payload}, trip.there
			if test.back {
				m, translate = trip.toProtobuf(b, payload), trip.back
			}
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := translate(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
