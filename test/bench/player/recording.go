package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

var formats = codec.Formats{rosbag2.Format}

const (
	imuTopic, imuType     = "/bench/imu", "sensor_msgs/msg/Imu"
	imageTopic, imageType = "/bench/image", "sensor_msgs/msg/Image"

	imuRate, imageRate = 1000, 30               // messages in a second
	imageSize          = 1_000_000              // bytes
	epoch              = int64(1_700_000_000e9) // recorded time of the first message, in ns
	stampAt            = 4                      // offset in CDR of the header's stamp, which is the recorded time
)

// recording describes the played messages: of an IMU, images, or both.
type recording struct {
	name         string
	imus, images int // messages
}

// topic is one topic of a recording.
type topic struct {
	name, typeName string
	rate           int    // messages per second
	count          int    // messages
	payload        []byte // CDR; each message sets the stamp
}

// topics returns the topics of a recording.
func (r recording) topics() ([]topic, error) {
	imu, err := payload(0)
	if err != nil {
		return nil, err
	}
	image, err := payload(imageSize)
	return []topic{{imuTopic, imuType, imuRate, r.imus, imu}, {imageTopic, imageType, imageRate, r.images, image}}, err
}

// payload returns a message as CDR: an image of imageSize bytes, or a message of an IMU if imageSize is 0.
func payload(imageSize int) ([]byte, error) {
	header := std_msgs.Header{Stamp: builtin_interfaces.Time{}, FrameId: "imu_link"}
	if imageSize == 0 {
		return cdr.Marshal(&sensor_msgs.Imu{Header: header, Orientation: geometry_msgs.NewQuaternion()})
	}
	return cdr.Marshal(&sensor_msgs.Image{
		Header: header, Height: 1, Width: uint32(imageSize), Encoding: "mono8", Step: uint32(imageSize),
		Data: make([]byte, imageSize),
	})
}

// setStamp sets the stamp of a message to t in ns.
func setStamp(payload []byte, t int64) {
	binary.LittleEndian.PutUint32(payload[stampAt:], uint32(t/1e9))
	binary.LittleEndian.PutUint32(payload[stampAt+4:], uint32(t%1e9))
}

// stampOf returns the stamp of a message in ns.
func stampOf(payload []byte) int64 {
	return int64(binary.LittleEndian.Uint32(payload[stampAt:]))*1e9 +
		int64(binary.LittleEndian.Uint32(payload[stampAt+4:]))
}

// bag returns the path of r as a ROS 2 bag, which the first call writes.
func (b *bench) bag(r recording) (path string, err error) {
	path = filepath.Join(b.folder, r.name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	topics, err := r.topics()
	if err != nil {
		return "", err
	}
	w, err := formats.Create(path, codec.CreateOptions{Format: "rosbag2"})
	if err != nil {
		return "", err
	}
	channels := map[string]*codec.Channel{}
	for _, t := range topics {
		text, err := msgs.Library().Concatenated(t.typeName)
		if err != nil {
			return "", err
		}
		channels[t.name] = &codec.Channel{
			Topic: t.name, Type: t.typeName, Encoding: codec.EncodingCDR, QoS: []codec.QoS{codec.DefaultQoS()},
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
		}
	}
	var done [2]int // written messages, by topic
	for {
		next, at := -1, int64(0) // the topic with the next message, and the time of the message
		for i, t := range topics {
			due := epoch + int64(done[i])*int64(time.Second)/int64(t.rate)
			if done[i] < t.count && (next < 0 || due < at) {
				next, at = i, due
			}
		}
		if next < 0 {
			break
		}
		setStamp(topics[next].payload, at)
		m := codec.Message{Channel: channels[topics[next].name], LogTime: at, PublishTime: at,
			Data: topics[next].payload}
		if err := w.Write(&m); err != nil {
			return "", err
		}
		done[next]++
	}
	if err := w.Close(); err != nil {
		return "", fmt.Errorf("write recording: %w", err)
	}
	return path, nil
}
