package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bluenviron/gomavlib/v3/pkg/dialect"
	"github.com/bluenviron/gomavlib/v3/pkg/dialects/ardupilotmega"
	"github.com/bluenviron/gomavlib/v3/pkg/frame"
	"github.com/bluenviron/gomavlib/v3/pkg/streamwriter"

	"tapedeck/bridge/device/realman/realmantest"
)

const (
	cameras         = 3
	width, height   = 640, 480
	picturesPerFilm = 30
)

// devices simulates the devices whose data the measured executables publish.
type devices struct {
	folder    string // of the cameras' films
	rate      int    // of arms and autopilot, in Hz
	pictures  int    // of each camera, in Hz
	autopilot int    // UDP port that receives the autopilot's messages
	arms      [2]realmantest.Arm
	stop      chan struct{} // closed by Close
	done      sync.WaitGroup
}

// newDevices starts arms and autopilot, and writes the films of the cameras.
func newDevices(folder string, rate, pictures int) (*devices, error) {
	d := &devices{folder: folder, rate: rate, pictures: pictures, stop: make(chan struct{})}
	for i := range cameras {
		film, err := newFilm()
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(d.filmPath(i), film, 0o666); err != nil {
			return nil, err
		}
	}
	for i := range d.arms {
		a := &d.arms[i]
		a.Generation, a.Pose = 2+2*i, realmantest.Moving(6+i)
		if err := a.Start(fmt.Sprintf("127.0.0.%d:0", 1+i)); err != nil {
			return nil, err
		}
	}
	free, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, err
	}
	d.autopilot = free.LocalAddr().(*net.UDPAddr).Port
	free.Close()
	conn, err := net.Dial("udp", fmt.Sprintf("127.0.0.1:%d", d.autopilot))
	if err != nil {
		return nil, err
	}
	d.done.Go(func() { d.fly(conn) })
	return d, nil
}

// filmPath returns the path of a camera's film.
func (d *devices) filmPath(camera int) string {
	return filepath.Join(d.folder, fmt.Sprintf("%d.mjpeg", camera))
}

// newFilm returns concatenated JPEGs of 60 kB each, as real cameras deliver.
func newFilm() ([]byte, error) {
	var film bytes.Buffer
	picture := image.NewYCbCr(image.Rect(0, 0, width, height), image.YCbCrSubsampleRatio422)
	for range picturesPerFilm {
		for i := range picture.Y {
			picture.Y[i] = uint8(i/width/2 + rand.IntN(24))
		}
		if err := jpeg.Encode(&film, picture, &jpeg.Options{Quality: 80}); err != nil {
			return nil, err
		}
	}
	return film.Bytes(), nil
}

// fly sends the messages of a flight over UDP until stop is closed.
func (d *devices) fly(conn net.Conn) {
	defer conn.Close()
	rw := &dialect.ReadWriter{Dialect: ardupilotmega.Dialect}
	frames := &frame.Writer{ByteWriter: conn, DialectRW: rw}
	out := &streamwriter.Writer{FrameWriter: frames, Version: streamwriter.V2, SystemID: 1, ComponentID: 1}
	if err := errors.Join(rw.Initialize(), frames.Initialize(), out.Initialize()); err != nil {
		fmt.Fprintln(os.Stderr, "bench-hardware:", err)
		return
	}
	tick := time.NewTicker(time.Second / time.Duration(d.rate))
	defer tick.Stop()
	began := time.Now()
	for i := 0; ; i++ {
		select {
		case <-d.stop:
			return
		case <-tick.C:
		}
		sinceBoot := 5*time.Second + time.Since(began)
		if i%d.rate == 0 {
			_ = out.Write(&ardupilotmega.MessageHeartbeat{Type: ardupilotmega.MAV_TYPE_QUADROTOR,
				Autopilot: ardupilotmega.MAV_AUTOPILOT_PX4, MavlinkVersion: 3})
		}
		sin, cos := math.Sincos(0.1 * sinceBoot.Seconds())
		_ = out.Write(&ardupilotmega.MessageAttitudeQuaternion{TimeBootMs: uint32(sinceBoot.Milliseconds()),
			Q1: float32(cos), Q4: float32(sin), Yawspeed: 0.2})
		_ = out.Write(&ardupilotmega.MessageHighresImu{
			TimeUsec: uint64(sinceBoot.Microseconds()), Zacc: -9.81, Zgyro: 0.2, Xmag: 0.21, Zmag: 0.42,
			AbsPressure: 955.98, Temperature: 35.5, FieldsUpdated: 0x1fff,
		})
	}
}

// parameters returns the parameter file of the publishers.
func (d *devices) parameters() string {
	text := fmt.Sprintf(`mavlink_publisher:
  ros__parameters: {source: "udp://:%d"}
arm_publisher:
  ros__parameters:
    arms:
      arm_0: {host: %s, port: %d, rate: %d.0, push: none}
      arm_1: {host: %s, port: %d, push: set, push_port: 0, push_cycle: %v}
camera_publisher:
  ros__parameters:
    loop: true
    rate: %d.0
    cameras:
`, d.autopilot, d.arms[0].Host(), d.arms[0].Port(), d.rate,
		d.arms[1].Host(), d.arms[1].Port(), time.Second/time.Duration(d.rate), d.pictures)
	for i := range cameras {
		text += fmt.Sprintf("      camera_%d: {device: %s}\n", i, d.filmPath(i))
	}
	return text
}

// topics returns the topics with the most data, which must receive messages before the measurement.
func (d *devices) topics() []string {
	topics := []string{"/arm_0/joint_states", "/arm_1/joint_states", "/mavros/imu/data", "/mavros/imu/data_raw"}
	for i := range cameras {
		topics = append(topics, fmt.Sprintf("/camera_%d/image_raw/compressed", i))
	}
	return topics
}

// Close stops the devices.
func (d *devices) Close() {
	close(d.stop)
	d.done.Wait()
	for i := range d.arms {
		d.arms[i].Close()
	}
}
