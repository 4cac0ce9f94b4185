package ros1

import (
	"math/rand/v2"
	"testing"

	"tapedeck/codec/format/rosbag"
	"tapedeck/msgs"
	"tapedeck/msgs/rosidl"
)

// BenchmarkToCDR translates messages. It should not allocate, and translate arrays as fast as memory is copied.
func BenchmarkToCDR(b *testing.B) {
	library := msgs.Release("")
	for _, name := range []string{"sensor_msgs/msg/Imu", "tf2_msgs/msg/TFMessage", "sensor_msgs/msg/Image",
		"sensor_msgs/msg/PointCloud2"} {
		b.Run(name, func(b *testing.B) {
			plan1, err := planToROS1(library, name)
			if err != nil {
				b.Fatal(err)
			}
			definitions, err := rosbag.ParseDefinitions(plan1.name, plan1.text)
			if err != nil {
				b.Fatal(err)
			}
			own, err := rosidl.ParseConcatenated(name, mustConcatenate(b, library, name))
			if err != nil {
				b.Fatal(err)
			}
			g := generator{Rand: rand.New(rand.NewPCG(1, 1)), definitions: definitions, library: own}
			g.message(plan1.name, name)
			payload := g.payload
			switch name {
			case "sensor_msgs/msg/Image":
				// The data follows the length and ends the payload.
				payload = append(imageHead(), make([]byte, 2<<20)...)
			case "sensor_msgs/msg/PointCloud2":
				payload = cloud()
			}
			b.SetBytes(int64(len(payload)))
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				out, _, err = toCDR(out, payload, plan1.steps)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func mustConcatenate(b *testing.B, library *rosidl.Library, name string) string {
	text, err := library.Concatenated(name)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// header returns an encoded std_msgs/Header of ROS 1.
func header() []byte { return append(append(make([]byte, 12), 4, 0, 0, 0), "lens"...) }

func imageHead() []byte {
	head := append(header(), make([]byte, 8)...)
	head = append(append(head, 4, 0, 0, 0), "rgb8"...)
	return le.AppendUint32(append(head, make([]byte, 5)...), 2<<20)
}

func cloud() []byte {
	p := append(header(), make([]byte, 8)...)
	p = le.AppendUint32(p, 4)
	for _, name := range "xyzi" {
		p = append(append(p, 1, 0, 0, 0, byte(name)), make([]byte, 9)...)
	}
	p = le.AppendUint32(append(p, make([]byte, 9)...), 1<<20)
	return append(append(p, make([]byte, 1<<20)...), 1)
}
