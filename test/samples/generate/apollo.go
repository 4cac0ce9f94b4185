package generate

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tapedeck/bridge/translate/apollo"
	"tapedeck/codec"
	"tapedeck/msgs"
)

// apolloTopics has the channels of a car. In texts, TIME stands for the time in seconds, SEQ for the number of the
// message, and HEADER for apolloHeader.
var apolloTopics = []struct {
	topic, ros2 string // ros2 is the ROS 2 type that becomes the Apollo type
	every       int    // interval in units of 10 ms; 0: one message
	text        string // of a message, as prototext
}{
	{"/tf_static", "tf2_msgs/msg/TFMessage", 0, `transforms { HEADER child_frame_id: "lidar"
		transform { translation { x: 1 y: 0 z: 1.5 } rotation { qx: 0 qy: 0 qz: 0 qw: 1 } } }`},
	{"/tf", "tf2_msgs/msg/TFMessage", 1, `transforms { HEADER child_frame_id: "localization"
		transform { translation { x: 587000.5 y: 4141000 z: -31 } rotation { qx: 0 qy: 0 qz: 0.6 qw: 0.8 } } }`},
	{"/apollo/sensor/gnss/imu", "sensor_msgs/msg/Imu", 1, `HEADER measurement_time: TIME measurement_span: 0.01
		linear_acceleration { x: 0.5 y: 0.1 z: 9.81 } angular_velocity { x: 0.02 y: -0.01 z: 0.03 }`},
	{"/apollo/localization/pose", "nav_msgs/msg/Odometry", 1, `HEADER measurement_time: TIME pose {
		position { x: 587000 y: 4141000 z: -31 } orientation { qx: 0 qy: 0 qz: -0.6 qw: 0.8 } heading: 0.3
		linear_velocity { x: 9.5 y: 3 z: 0 } angular_velocity { x: 0 y: 0 z: 0.1 }
		linear_acceleration { x: 1 y: 0 z: 0 } }`},
	{"/apollo/canbus/chassis_twist", "geometry_msgs/msg/TwistStamped", 1,
		`HEADER speed_mps: 10.25 gear_location: GEAR_DRIVE`},
	{"/apollo/sensor/lidar128/compensator/PointCloud2", "sensor_msgs/msg/PointCloud2", 10, `HEADER
		frame_id: "velodyne128" is_dense: false measurement_time: TIME width: 3 height: 1
		point { x: 1 y: 2 z: 3 intensity: 4 timestamp: 1700000000000000001 }
		point { x: nan y: nan z: nan intensity: 5 timestamp: 1700000000000000002 } point { x: 6 y: 7 z: 8 }`},
	{"/apollo/sensor/camera/front_6mm/image", "sensor_msgs/msg/Image", 10, `HEADER frame_id: "front_6mm"
		measurement_time: TIME height: 1 width: 2 encoding: "rgb8" step: 6 data: "\001\002\003\004\005\006"`},
	{"/apollo/sensor/camera/front_6mm/image/compressed", "sensor_msgs/msg/CompressedImage", 10,
		`HEADER frame_id: "front_6mm" measurement_time: TIME format: "jpeg" data: "\377\330\377\331"`},
	{"/apollo/sensor/gnss/best_pose", "sensor_msgs/msg/NavSatFix", 20, `HEADER measurement_time: TIME
		sol_status: SOL_COMPUTED sol_type: NARROW_INT latitude: 37.5 longitude: -122.25 height_msl: 20 undulation: -30
		datum_id: WGS84 latitude_std_dev: 0.5 longitude_std_dev: 0.25 height_std_dev: 1`},
	{"/apollo/perception/obstacles", "vision_msgs/msg/Detection3DArray", 20, `HEADER perception_obstacle { id: SEQ
		position { x: 587010 y: 4141000 z: -31 }
		theta: 0.5 length: 4 width: 2 height: 1.5 type: VEHICLE sub_type: ST_CAR
		timestamp: TIME confidence: 0.75 }`},
}

const apolloHeader = `header { timestamp_sec: TIME module_name: "car" sequence_num: SEQ frame_id: "world" }`

// sensors writes a record with 2 s of an Apollo car's messages.
func sensors(path string) error {
	w, err := formats.Create(path, codec.CreateOptions{})
	if err != nil {
		return err
	}
	messages := make([]*dynamicpb.Message, len(apolloTopics))
	channels := make([]*codec.Channel, len(apolloTopics))
	for i, t := range apolloTopics {
		channels[i], messages[i], err = apolloChannel(t.topic, t.ros2)
		if err != nil {
			return errors.Join(err, w.Close())
		}
	}
	for step := range 200 {
		at := start + int64(step)*10e6
		for i, t := range apolloTopics {
			if step > 0 && (t.every == 0 || step%t.every != 0) {
				continue
			}
			text := strings.ReplaceAll(t.text, "HEADER", apolloHeader)
			text = strings.NewReplacer("TIME", fmt.Sprintf("%.3f", float64(at)/1e9), "SEQ",
				fmt.Sprint(step)).Replace(text)
			if err := prototext.Unmarshal([]byte(text), messages[i]); err != nil {
				return errors.Join(fmt.Errorf("%s: %w", t.topic, err), w.Close())
			}
			data, err := proto.MarshalOptions{Deterministic: true}.Marshal(messages[i])
			if err == nil {
				err = w.Write(&codec.Message{Channel: channels[i], LogTime: at + int64(i), Data: data})
			}
			if err != nil {
				return errors.Join(err, w.Close())
			}
		}
	}
	return w.Close()
}

// apolloChannel returns the Apollo channel that a ROS 2 topic becomes, and a message of the channel's type.
func apolloChannel(topic, ros2 string) (*codec.Channel, *dynamicpb.Message, error) {
	c, err := codec.NewChannel(msgs.Release(""), topic, ros2, codec.DefaultQoS())
	if err != nil {
		return nil, nil, err
	}
	translator, err := apollo.FromROS2(nil)
	if err != nil {
		return nil, nil, err
	}
	topics, err := translator.Topics(codec.TopicInfo{Channel: c})
	if err != nil {
		return nil, nil, err
	}
	to := topics[0].Channel
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(to.Schema.Data, &set); err != nil {
		return nil, nil, err
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, nil, err
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(to.Type))
	if err != nil {
		return nil, nil, err
	}
	return &codec.Channel{Topic: to.Topic, Type: to.Type, Encoding: to.Encoding, Schema: to.Schema},
		dynamicpb.NewMessage(d.(protoreflect.MessageDescriptor)), nil
}

// chunks returns a function that writes a record with count messages on two channels in turn, 51 in each chunk. If
// killed is set, the record is as if its writer had been killed.
func chunks(count int64, killed bool) func(string) error {
	return func(path string) error {
		w, err := formats.Create(path, codec.CreateOptions{Format: "record", ChunkSize: 51 * 200})
		if err != nil {
			return err
		}
		channels := []*codec.Channel{
			{Topic: "/b", Type: "apollo.x.B", Encoding: codec.EncodingProtobuf},
			{Topic: "/a", Type: "apollo.x.A", Encoding: codec.EncodingProtobuf},
		}
		for i := range count {
			data := bytes.Repeat([]byte{'a' + byte(i%26)}, 200)
			if err := w.Write(&codec.Message{Channel: channels[i%2], LogTime: start + i*1e6, Data: data}); err != nil {
				return errors.Join(err, w.Close())
			}
		}
		if !killed {
			return w.Close()
		}
		err = w.Sync()
		active, readErr := os.ReadFile(path + codec.ActiveSuffix)
		if err := errors.Join(err, readErr, w.Close()); err != nil {
			return err
		}
		return os.WriteFile(path, active, 0o666)
	}
}
