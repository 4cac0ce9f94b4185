package generate

import (
	"errors"
	"math"
	"time"

	bridge "tapedeck/bridge/translate/carla"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/carla"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/nav_msgs"
	"tapedeck/msgs/rosgraph_msgs"
	"tapedeck/msgs/std_msgs"
)

// Drive writes a log as CARLA's recorder does: a hero drives in a circle for 10 s.
func Drive(path string) error { return drive(path, carla.UE4, start, 10*time.Second) }

// driveOld writes a longer log of an older CARLA.
func driveOld(path string) error { return drive(path, carla.UE4Old, start-3600e9, 23*time.Second) }

// drive writes a log that begins at begin, in ns since the Unix epoch.
func drive(path string, profile carla.Profile, begin int64, length time.Duration) error {
	const radius, speed = 20.0, 8.0 // m, m/s
	file, err := formats.Create(path, codec.CreateOptions{})
	if err != nil {
		return err
	}
	w := bridge.NewWriter(file, bridge.WriteOptions{Profile: profile, Map: "Town01"})
	clock := &codec.Channel{Topic: "/clock", Type: (*rosgraph_msgs.Clock)(nil).TypeName(), Encoding: codec.EncodingCDR}
	odometry := &codec.Channel{
		Topic: "/carla/hero/odometry", Type: (*nav_msgs.Odometry)(nil).TypeName(), Encoding: codec.EncodingCDR,
	}
	for at := time.Duration(0); err == nil && at <= length; at += 50 * time.Millisecond {
		stamp := builtin_interfaces.Time{Sec: int32(at / time.Second), Nanosec: uint32(at % time.Second)}
		o := nav_msgs.Odometry{Header: std_msgs.Header{Stamp: stamp, FrameId: "map"}, ChildFrameId: "hero"}
		sin, cos := math.Sincos(at.Seconds() * speed / radius)
		o.Pose.Pose.Position.X, o.Pose.Pose.Position.Y = radius*sin, radius*(1-cos)
		o.Pose.Pose.Orientation.Z, o.Pose.Pose.Orientation.W = math.Sincos(at.Seconds() * speed / radius / 2)
		o.Twist.Twist.Linear.X, o.Twist.Twist.Angular.Z = speed, speed/radius
		now := begin + int64(at)
		err = errors.Join(write(w, clock, now, &rosgraph_msgs.Clock{Clock: stamp}), write(w, odometry, now, &o))
	}
	return errors.Join(err, w.Close())
}

// write writes a ROS 2 message at a time in ns.
func write(w codec.Writer, c *codec.Channel, at int64, m msgs.Message) error {
	data, err := cdr.Marshal(m)
	if err != nil {
		return err
	}
	return w.Write(&codec.Message{Channel: c, LogTime: at, Data: data})
}
