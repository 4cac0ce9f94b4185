package apollo

import (
	"math/rand/v2"
	"testing"

	"tapedeck/codec"
	"tapedeck/codec/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
)

// BenchmarkReverse translates one message again and again: of Apollo's types and of generated ones, and what these become back.
func BenchmarkReverse(b *testing.B) {
	d := draw{rand.New(rand.NewPCG(1, 2))}
	imu := &sensor_msgs.Imu{Header: d.header(), Orientation: d.turn(), AngularVelocity: d.vector(), LinearAcceleration: d.vector()}
	scan := &sensor_msgs.LaserScan{Header: d.header(), Ranges: make([]float32, 1000), Intensities: make([]float32, 1000)}
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
		{"Image", "/camera", &sensor_msgs.Image{Header: d.header(), Encoding: "rgb8", Data: make([]byte, 2<<20)}, false},
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
			r := oneMessage(b, test.topic, test.message)
			way := newThereAndBack(b, r, r.messages[0].Channel)
			m, translate := &codec.Message{Channel: way.source, Data: payload}, way.there
			if test.back {
				m, translate = way.middleOf(b, payload), way.back
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
