package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"tapedeck/bridge"
	"tapedeck/bridge/graph/dds"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/msgs"
	"tapedeck/msgs/builtin_interfaces"
	"tapedeck/msgs/carla_msgs"
	"tapedeck/msgs/geometry_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
)

var topics = []string{
	"/carla/ego_vehicle/vehicle_control_cmd", "/carla/ego_vehicle/imu", "/carla/ego_vehicle/lidar",
	"/carla/ego_vehicle/rgb_front/image",
}

// publishers publishes the topics of a simulated car, from one node.
type publishers struct {
	node   bridge.Node
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func startPublishers() (*publishers, error) {
	node, err := dds.Open(bridge.Options{Name: "demo_car", Domain: -1})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &publishers{node: node, cancel: cancel}
	began := time.Now()
	points, pixels := make([]byte, 65536*16), make([]byte, 640*480*3)
	for i, source := range []struct {
		hertz   float64
		message func(seconds float64, stamp builtin_interfaces.Time) msgs.Message
	}{
		{20, control},
		{100, imu},
		{10, func(s float64, stamp builtin_interfaces.Time) msgs.Message { return cloud(points, s, stamp) }},
		{10, func(s float64, stamp builtin_interfaces.Time) msgs.Message { return image(pixels, s, stamp) }},
	} {
		qos := codec.DefaultQoS()
		publisher, err := node.Advertise(topics[i], source.message(0, builtin_interfaces.Time{}).TypeName(), qos)
		if err != nil {
			p.stop()
			return nil, err
		}
		p.done.Go(func() {
			tick := time.NewTicker(time.Duration(float64(time.Second) / source.hertz))
			defer tick.Stop()
			var buf []byte
			for {
				select {
				case <-ctx.Done():
					return
				case now := <-tick.C:
					stamp := builtin_interfaces.Time{Sec: int32(now.Unix()), Nanosec: uint32(now.Nanosecond())}
					var err error
					buf, err = cdr.Append(buf[:0], source.message(now.Sub(began).Seconds(), stamp))
					if err == nil {
						err = publisher.Publish(buf)
					}
					if err != nil {
						fmt.Fprintf(os.Stderr, "demo: publish %s: %v\n", publisher.Topic(), err)
						return
					}
				}
			}
		})
	}
	return p, nil
}

// stop ends the publishers; a second call does nothing.
func (p *publishers) stop() {
	p.cancel()
	p.done.Wait()
	if p.node != nil {
		_ = p.node.Close()
		p.node = nil
	}
}

func control(s float64, stamp builtin_interfaces.Time) msgs.Message {
	return &carla_msgs.CarlaEgoVehicleControl{
		Header:   std_msgs.Header{Stamp: stamp, FrameId: "ego_vehicle"},
		Throttle: float32(0.5 + 0.1*math.Sin(s)), Steer: float32(0.3 * math.Sin(s/3)), Gear: 1,
	}
}

func imu(s float64, stamp builtin_interfaces.Time) msgs.Message {
	return &sensor_msgs.Imu{
		Header:             std_msgs.Header{Stamp: stamp, FrameId: "ego_vehicle/imu"},
		Orientation:        geometry_msgs.Quaternion{Z: math.Sin(s / 6), W: math.Cos(s / 6)},
		AngularVelocity:    geometry_msgs.Vector3{Z: 1.0 / 3},
		LinearAcceleration: geometry_msgs.Vector3{X: math.Cos(s), Z: 9.81},
	}
}

// cloud returns a turning ring of points at time s in seconds. The message uses data.
func cloud(data []byte, s float64, stamp builtin_interfaces.Time) msgs.Message {
	const step = 16
	count := len(data) / step
	for i := range count {
		angle := s + 2*math.Pi*float64(i)/float64(count)
		for j, v := range []float64{20 * math.Cos(angle), 20 * math.Sin(angle), float64(i%64) / 16, 0.5} {
			binary.LittleEndian.PutUint32(data[i*step+4*j:], math.Float32bits(float32(v)))
		}
	}
	m := &sensor_msgs.PointCloud2{
		Header: std_msgs.Header{Stamp: stamp, FrameId: "ego_vehicle/lidar"},
		Height: 1, Width: uint32(count), PointStep: step, RowStep: uint32(len(data)), Data: data, IsDense: true,
	}
	for i, name := range []string{"x", "y", "z", "intensity"} {
		m.Fields = append(m.Fields, sensor_msgs.PointField{Name: name, Offset: uint32(4 * i),
			Datatype: sensor_msgs.PointField_FLOAT32, Count: 1})
	}
	return m
}

// image returns a moving gradient at time s in seconds. The message uses data.
func image(data []byte, s float64, stamp builtin_interfaces.Time) msgs.Message {
	const width, height = 640, 480
	shift := int(50 * s)
	for i := range data {
		data[i] = byte(i/3%width + shift)
	}
	return &sensor_msgs.Image{
		Header: std_msgs.Header{Stamp: stamp, FrameId: "ego_vehicle/rgb_front"},
		Height: height, Width: width, Encoding: "rgb8", Step: 3 * width, Data: data,
	}
}
