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

	imuRate, imageRate = 1000, 30  // messages in a second
	imageSize          = 1_000_000 // bytes
	epoch              = int64(1_700_000_000e9)
	stampAt            = 4 // where the header's stamp, which is the time of recording, is in CDR
)

// recording describes the played messages: of an IMU, images, or both.
type recording struct {
	name         string
	imus, images int
}

// stream is one topic of a recording.
type stream struct {
	topic, typeName string
	rate, count     int
	payload         []byte // of CDR, in which the stamp is to be set
}

func (r recording) streams() ([]stream, error) {
	imu, err := payload(0)
	if err != nil {
		return nil, err
	}
	image, err := payload(imageSize)
	return []stream{{imuTopic, imuType, imuRate, r.imus, imu}, {imageTopic, imageType, imageRate, r.images, image}}, err
}

// payload returns a message of an IMU, or one with so many bytes of image.
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

func setStamp(payload []byte, t int64) {
	binary.LittleEndian.PutUint32(payload[stampAt:], uint32(t/1e9))
	binary.LittleEndian.PutUint32(payload[stampAt+4:], uint32(t%1e9))
}

func stampOf(payload []byte) int64 {
	return int64(binary.LittleEndian.Uint32(payload[stampAt:]))*1e9 +
		int64(binary.LittleEndian.Uint32(payload[stampAt+4:]))
}

// bag returns the path of a ROS 2 bag, which is made if it is not there yet.
func (b *bench) bag(r recording) (path string, err error) {
	path = filepath.Join(b.folder, r.name)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	streams, err := r.streams()
	if err != nil {
		return "", err
	}
	w, err := formats.Create(path, codec.CreateOptions{Format: "rosbag2"})
	if err != nil {
		return "", err
	}
	channels := map[string]*codec.Channel{}
	for _, s := range streams {
		text, err := msgs.Library().Concatenated(s.typeName)
		if err != nil {
			return "", err
		}
		channels[s.topic] = &codec.Channel{
			Topic: s.topic, Type: s.typeName, Encoding: codec.EncodingCDR, QoS: []codec.QoS{codec.DefaultQoS()},
			Schema: codec.Schema{Encoding: codec.SchemaROS2Msg, Data: []byte(text)},
		}
	}
	var done [2]int
	for {
		next, at := -1, int64(0)
		for i, s := range streams {
			if t := epoch + int64(done[i])*int64(time.Second)/int64(s.rate); done[i] < s.count && (next < 0 || t < at) {
				next, at = i, t
			}
		}
		if next < 0 {
			break
		}
		setStamp(streams[next].payload, at)
		m := codec.Message{Channel: channels[streams[next].topic], LogTime: at, PublishTime: at,
			Data: streams[next].payload}
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
