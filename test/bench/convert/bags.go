package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"tapedeck/bridge/translate/ros1"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

// drive.bag has 6 s of a camera at 30 Hz and of an IMU at 15 kHz, far faster than most.
const (
	images      = 180                // messages
	width       = 1280               // pixels
	height      = 720                // pixels
	imageSize   = 3 * width * height // bytes
	imus        = 90_000             // messages
	allMessages = images + imus
	imuTopic    = "/imu"
	startTime   = 1_700_000_000e9 // ns since the Unix epoch
)

// writeMessage writes a ROS 2 message to a ROS 1 bag, at time t in ns.
type writeMessage func(topic string, t int64, message msgs.Message) error

// writeROS1 writes a ROS 1 bag. types are ROS 2 types by topic, and messages writes the messages.
func writeROS1(path string, types map[string]string, messages func(writeMessage) error) (err error) {
	w, err := formats.Create(path, codec.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	translator, err := ros1.FromROS2(nil)
	if err != nil {
		return err
	}
	channels := map[string]*codec.Channel{}
	for topic, typeName := range types {
		text, err := msgs.Library().Concatenated(typeName)
		if err != nil {
			return err
		}
		c := &codec.Channel{Topic: topic, Type: typeName, Encoding: codec.EncodingCDR,
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)}}
		if _, err := translator.Topics(codec.TopicInfo{Channel: c}); err != nil {
			return err
		}
		channels[topic] = c
	}
	translate := translator.Begin(nil)
	return messages(func(topic string, t int64, message msgs.Message) error {
		data, err := cdr.Marshal(message)
		if err != nil {
			return err
		}
		out, err := translate(&codec.Message{Channel: channels[topic], LogTime: t, Data: data})
		if err != nil {
			return err
		}
		return w.Write(&out[0])
	})
}

// writeDrive writes drive.bag.
func writeDrive(path string) error {
	types := map[string]string{"/camera/image_raw": "sensor_msgs/msg/Image", imuTopic: "sensor_msgs/msg/Imu"}
	return writeROS1(path, types, writeDriveMessages)
}

func writeDriveMessages(write writeMessage) error {
	image := sensor_msgs.Image{Height: height, Width: width, Encoding: "bgr8", Step: 3 * width,
		Data: make([]byte, imageSize)}
	imu := sensor_msgs.Imu{}
	for i := range imus {
		t := int64(startTime) + int64(i)*6e9/imus
		header := std_msgs.Header{Stamp: builtin_interfaces.Time{Sec: int32(t / 1e9), Nanosec: uint32(t % 1e9)},
			FrameId: "base_link"}
		if i%(imus/images) == 0 {
			paint(image.Data, i)
			image.Header = header
			if err := write("/camera/image_raw", t, &image); err != nil {
				return err
			}
		}
		imu.Header = header
		imu.AngularVelocity.Z, imu.LinearAcceleration.Z = float64(i%1000)/1000, 9.81+float64(i%77)/7700
		if err := write(imuTopic, t, &imu); err != nil {
			return err
		}
	}
	return nil
}

// paint fills an image with slopes and noise, which compress hardly better than a camera's image.
func paint(data []byte, seed int) {
	noise := uint32(seed)*2654435761 + 1
	for i := range data {
		noise ^= noise << 13
		noise ^= noise >> 17
		noise ^= noise << 5
		data[i] = byte(i%(3*width)>>4) + byte(i/(3*width)>>2) + byte(noise&7)
	}
}

// dropIndex removes the index of a bag, as if the writer had been killed before it wrote the index.
func dropIndex(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 4096)
	if _, err := file.ReadAt(head, 0); err != nil {
		return err
	}
	const field = "index_pos="
	at := bytes.Index(head, []byte(field)) + len(field)
	if at < len(field) {
		return fmt.Errorf("%s has no index_pos", path)
	}
	end := int64(binary.LittleEndian.Uint64(head[at:]))
	if _, err := file.WriteAt(make([]byte, 8), int64(at)); err != nil {
		return err
	}
	return file.Truncate(end)
}
