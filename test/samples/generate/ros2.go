package generate

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/test/samples/random"
)

var formats = codec.Formats{carla.Format, mcap.Format, record.Format, rosbag2.Format}

// start is the time of the first message in every generated recording except the flight.
const start = int64(1_700_000_000e9)

// ros2 returns a function that writes a recording with two messages of each common type (see isCommon).
func ros2(format codec.Format) func(string) error {
	return func(path string) error {
		w, err := format.Create(path, codec.CreateOptions{})
		if err != nil {
			return err
		}
		library := msgs.Release("")
		generator := random.Generator{Rand: rand.New(rand.NewPCG(1, 2)), Library: library, Plain: true}
		at := start
		for _, name := range library.Types() {
			if !isCommon(name) {
				continue
			}
			err = writeTwo(w, generator, name, &at)
			if err != nil {
				break
			}
		}
		return errors.Join(err, w.Close())
	}
}

// isCommon reports whether a type is one of the 94 common types in the recording.
func isCommon(name string) bool {
	if name == "diagnostic_msgs/msg/DiagnosticArray" {
		return true
	}
	folder, short, _ := strings.Cut(name, "/msg/")
	common := []string{"geometry_msgs", "nav_msgs", "sensor_msgs", "std_msgs", "tf2_msgs"}
	addedLater := []string{"PolygonInstance", "PolygonInstanceStamped", "VelocityStamped"} // not in ROS 2 Humble
	return short != "" && slices.Contains(common, folder) && !slices.Contains(addedLater, short)
}

// writeTwo writes two messages of a type. It adds 100 ms to at for each message.
func writeTwo(w codec.Writer, generator random.Generator, name string, at *int64) error {
	folder, short, _ := strings.Cut(name, "/msg/")
	schema, err := cdr.NewSchema(generator.Library, name)
	if err != nil {
		return err
	}
	c, err := codec.NewChannel(generator.Library, "/test/"+folder+"/"+strings.ToLower(short), name, codec.DefaultQoS())
	if err != nil {
		return err
	}
	for range 2 {
		data, err := payload(generator, schema, name)
		if err == nil {
			err = w.Write(&codec.Message{Channel: c, LogTime: *at, PublishTime: *at, Data: data})
		}
		if err != nil {
			return err
		}
		*at += 100e6
	}
	return nil
}

// payload returns a message of a type as CDR. Its fields are random, except those of images and point clouds, whose
// sizes must match their data.
func payload(generator random.Generator, schema *cdr.Schema, name string) ([]byte, error) {
	switch name {
	case "sensor_msgs/msg/Image":
		return cdr.Marshal(&sensor_msgs.Image{Height: 1, Width: 2, Encoding: "mono8", Step: 2, Data: []byte{1, 2}})
	case "sensor_msgs/msg/PointCloud2":
		cloud := &sensor_msgs.PointCloud2{Height: 1, Width: 2, PointStep: 12, RowStep: 24, Data: make([]byte, 24)}
		for i, axis := range []string{"x", "y", "z"} {
			cloud.Fields = append(cloud.Fields, sensor_msgs.PointField{
				Name: axis, Offset: uint32(4 * i), Datatype: sensor_msgs.PointField_FLOAT32, Count: 1,
			})
		}
		return cdr.Marshal(cloud)
	}
	m, err := generator.Message(name)
	if err != nil {
		return nil, err
	}
	return schema.Encode(m)
}
