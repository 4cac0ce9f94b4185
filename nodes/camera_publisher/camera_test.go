package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge"
	"tapedeck/bridge/bridgetest"
	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/v4l2test"
	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/config"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/nodes/internal/graph/rospub"
	"tapedeck/nodes/internal/hardware"
)

// fakeNode is a node outside any graph, whose publishers keep the last message.
type fakeNode struct {
	bridge.Node
	topics map[string]*fakePublisher
}

// fakePublisher is a publisher of a fakeNode.
type fakePublisher struct {
	bridge.Publisher
	readers int
	count   int
	last    []byte
	during  func() // is called while a message is published; may be nil
}

func (s *fakeNode) Advertise(topic, _ string, _ codec.QoS) (bridge.Publisher, error) {
	k := &fakePublisher{readers: 1}
	s.topics[topic] = k
	return k, nil
}

func (k *fakePublisher) Subscribers() int { return k.readers }

func (k *fakePublisher) Publish(data []byte) error {
	if k.during != nil {
		k.during()
	}
	k.count++
	k.last = append(k.last[:0], data...)
	return nil
}

// newTestCamera returns a camera that publishes on a fakeNode.
func newTestCamera(t *testing.T, c hardware.Camera) (*camera, *fakeNode) {
	t.Helper()
	node, err := (&bridgetest.Network{}).Open(bridge.Options{Name: "camera_publisher", Console: io.Discard})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	s := &fakeNode{Node: node, topics: map[string]*fakePublisher{}}
	o := testOptions(t)
	a, err := newCamera("front", &c, &o, s, &v4l2test.System{})
	require.NoError(t, err)
	return a, s
}

func cameraOf(device, format string) hardware.Camera {
	c := hardware.DefaultCamera()
	c.Device, c.Format = device, format
	return c
}

// image returns the last message on image_raw.
func (s *fakeNode) image(t *testing.T) *sensor_msgs.Image {
	m := &sensor_msgs.Image{}
	require.NoError(t, cdr.Unmarshal(s.topics["front/image_raw"].last, m))
	return m
}

// TestPixels publishes each format; TestConversions of codec/encoding/pixel checks the conversions.
func TestPixels(t *testing.T) {
	const stamp = 1_700_000_000_123_456_789
	for _, format := range formats {
		if format.code == v4l2.MJPG {
			continue
		}
		conversion, err := findConversion(format.code, format.encodings[len(format.encodings)-1], 1)
		require.NoError(t, err)
		c := cameraOf("/dev/video0", format.code.String())
		c.Encoding = conversion.encoding
		a, s := newTestCamera(t, c)
		require.NotNil(t, s.topics["front/image_raw"], "the topic of pixels exists before the first frame")
		f, _ := frameOf(format.code, 6, 4, conversion.From.Bytes, 3)
		f.Stamp = stamp
		for range 2 {
			require.NoError(t, a.publish(f))
		}
		size, err := conversion.size(f)
		require.NoError(t, err)
		data := make([]byte, size)
		conversion.convert(data, f)
		m := s.image(t)
		require.Equal(t, &sensor_msgs.Image{
			Header: m.Header, Width: 6, Height: 4, Encoding: conversion.encoding, Step: uint32(6 * conversion.To.Bytes),
			Data: data,
		}, m)
		require.Equal(t, "front_optical_frame", m.Header.FrameId)
		require.EqualValues(t, 1_700_000_000, m.Header.Stamp.Sec)
		require.EqualValues(t, 123_456_789, m.Header.Stamp.Nanosec)
		info := &sensor_msgs.CameraInfo{}
		require.NoError(t, cdr.Unmarshal(s.topics["front/camera_info"].last, info))
		require.Equal(t, &sensor_msgs.CameraInfo{Header: m.Header, Width: 6, Height: 4, D: []float64{}}, info)
		require.Nil(t, s.topics["front/image_raw/compressed"])
	}
}

func jpegFrame(t testing.TB, width, height int) *v4l2.Frame {
	return &v4l2.Frame{Data: jpegOf(t, width, height, 100),
		Format: v4l2.Format{FourCC: v4l2.MJPG, Width: width, Height: height}}
}

// TestDecoding publishes decoded JPEGs, if there are subscribers.
func TestDecoding(t *testing.T) {
	c := cameraOf("/dev/video0", "MJPG")
	c.Encoding = "bgr8"
	a, s := newTestCamera(t, c)
	f := jpegFrame(t, 16, 8)
	require.NoError(t, a.publish(f))
	m := s.image(t)
	picture, err := jpeg.Decode(bytes.NewReader(f.Data))
	require.NoError(t, err)
	r, g, b, _ := picture.At(7, 3).RGBA()
	at := 3 * (3*16 + 7)
	require.Equal(t, []byte{byte(b >> 8), byte(g >> 8), byte(r >> 8)}, m.Data[at:at+3])
	require.Equal(t, []any{"bgr8", uint32(48), 16 * 8 * 3}, []any{m.Encoding, m.Step, len(m.Data)})
	pixels, jpegs, info := s.topics["front/image_raw"], s.topics["front/image_raw/compressed"],
		s.topics["front/camera_info"]
	pixels.readers = 0
	require.NoError(t, a.publish(f))
	require.Equal(t, []int{1, 2, 2}, []int{pixels.count, jpegs.count, info.count}, "no subscriber")
	pixels.readers = 1

	for _, size := range []string{"8×8", "8000×16000"} {
		var width, height uint16
		fmt.Sscanf(size, "%d×%d", &width, &height)
		other := &v4l2.Frame{Data: resizeJPEG(t, f.Data, width, height), Format: f.Format}
		require.EqualError(t, a.publish(other), "the JPEG has "+size+" pixels, not 16×8")
	}
	f.Data = f.Data[:100]
	require.ErrorContains(t, a.publish(f), "decode image: ")
	require.Equal(t, []int{1, 5, 5}, []int{pixels.count, jpegs.count, info.count}, "JPEGs are published unchanged")
	f.Data = []byte("what is this")
	require.EqualError(t, a.publish(f), `not a JPEG, begins with "what is "`)
	require.Equal(t, []int{1, 5, 5}, []int{pixels.count, jpegs.count, info.count})
}

// resizeJPEG returns a JPEG with another size in its header.
func resizeJPEG(t *testing.T, data []byte, width, height uint16) []byte {
	at := bytes.Index(data, []byte("\xff\xc0\x00"))
	require.Positive(t, at)
	data = bytes.Clone(data)
	binary.BigEndian.PutUint16(data[at+5:], height)
	binary.BigEndian.PutUint16(data[at+7:], width)
	return data
}

// TestNoSubscribers checks that images are not converted without subscribers.
func TestNoSubscribers(t *testing.T) {
	c := cameraOf("/dev/video0", "YUYV")
	c.Encoding = "rgb8"
	a, s := newTestCamera(t, c)
	pixels, info := s.topics["front/image_raw"], s.topics["front/camera_info"]
	f, _ := frameOf(v4l2.YUYV, 6, 4, 2, 0)
	pixels.readers, info.readers = 0, 0
	require.NoError(t, a.publish(f))
	require.Equal(t, []int{0, 1}, []int{pixels.count, info.count})
	pixels.readers = 1
	require.NoError(t, a.publish(f))
	require.Equal(t, []int{1, 2}, []int{pixels.count, info.count})
	f.Data = f.Data[:7]
	require.ErrorContains(t, a.publish(f), "7 bytes of data, want 48 for 6×4 pixels of yuv422_yuy2")
	require.Equal(t, []int{1, 2}, []int{pixels.count, info.count})
}

func TestFramesDoNotAllocate(t *testing.T) {
	bare, _ := withoutTables(t, jpegOf(t, 64, 48, 3))
	yuyv, _ := frameOf(v4l2.YUYV, 64, 48, 2, 10)
	for name, test := range map[string]struct {
		format, encoding string
		frame            *v4l2.Frame
	}{
		"JPEG":         {"MJPG", "", jpegFrame(t, 64, 48)},
		"motion JPEG":  {"MJPG", "", &v4l2.Frame{Data: bare, Format: jpegFrame(t, 64, 48).Format}},
		"YUYV":         {"YUYV", "", yuyv},
		"YUYV to rgb8": {"YUYV", "rgb8", yuyv},
	} {
		c := cameraOf("/dev/video0", test.format)
		c.Encoding = test.encoding
		a, _ := newTestCamera(t, c)
		publish := func() {
			if err := a.publish(test.frame); err != nil {
				t.Fatal(err)
			}
		}
		publish()
		require.Zero(t, testing.AllocsPerRun(10, publish), name)
	}
}

// TestFormatChanges publishes images whose format changes, as when another camera is plugged in.
func TestFormatChanges(t *testing.T) {
	a, s := newTestCamera(t, cameraOf("/dev/video0", ""))
	require.Nil(t, s.topics["front/image_raw"], "the format is unknown")
	require.Nil(t, s.topics["front/image_raw/compressed"])
	grey, _ := frameOf(v4l2.GREY, 4, 2, 1, 0)
	require.NoError(t, a.publish(grey))
	require.NoError(t, a.publish(jpegFrame(t, 16, 8)))
	wide, _ := frameOf(v4l2.RGB3, 20, 2, 3, 0)
	require.NoError(t, a.publish(wide))
	require.Equal(t, wide.Data, s.image(t).Data)
	require.Equal(t, 2, s.topics["front/image_raw"].count)
	h264 := &v4l2.Frame{Data: make([]byte, 100), Format: v4l2.Format{FourCC: v4l2.H264, Width: 8, Height: 8}}
	for range 2 {
		require.ErrorContains(t, a.publish(h264), "pixel format H264 cannot be published")
	}
	require.NoError(t, a.publish(wide))
	require.Equal(t, 4, s.topics["front/camera_info"].count)
}

// TestCameraCalibration checks CameraInfo and warnings.
func TestCameraCalibration(t *testing.T) {
	for name, test := range map[string]struct {
		url   string
		text  string
		info  bool
		warns []string
		err   string
	}{
		"right": {text: strings.ReplaceAll(strings.ReplaceAll(calibrated, "640", "16"), "480", "8"), info: true},
		"of other size": {text: calibrated, info: true,
			warns: []string{"front: the calibration is for images of 640×480 pixels, not 16×8; publishing it " +
				"unchanged"}},
		"of another": {text: strings.NewReplacer("front", "rear", "640", "16", "480", "8").Replace(calibrated),
			info:  true,
			warns: []string{"is a calibration of camera rear"}},
		"not there": {url: "/nowhere/a.yaml", warns: []string{"front is not calibrated: read calibration: open " +
			"/nowhere/a.yaml"}},
		"damaged":    {text: "image_width: wide", err: "line 1: cannot unmarshal"},
		"no package": {url: "package://nowhere/a.yaml", err: "no package nowhere in AMENT_PREFIX_PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			c := cameraOf("/dev/video0", "MJPG")
			c.Calibration = test.url
			if test.text != "" {
				c.Calibration = put(t, "calibration.yaml", test.text)
			}
			open := inMemory()
			o := testOptions(t)
			if test.err != "" {
				_, err := newPublisher(&o, map[string]*hardware.Camera{"front": &c}, open(t, "camera_publisher"), nil)
				require.ErrorContains(t, err, "camera front: ")
				require.ErrorContains(t, err, test.err)
				return
			}
			cam := webcam("/dev/video0", "8A2F", v4l2test.Format{FourCC: v4l2.MJPG, Width: 16, Height: 8})
			cam.Fill = func(_ v4l2.Format, _ uint32, buffer []byte) int { return copy(buffer, jpegOf(t, 16, 8, 1)) }
			s := newFixture(t, open, o, map[string]*hardware.Camera{"front": &c}, cam)
			s.subscribeCamera("front")
			s.start()
			s.awaitLog("front: Webcam 8A2F at /dev/video0", 1)
			s.awaitMatches()
			cam.Shoot()
			received[*sensor_msgs.CameraInfo](s, "/front/camera_info", 1)
			cam.Shoot()
			infos := received[*sensor_msgs.CameraInfo](s, "/front/camera_info", 2)
			require.Equal(t, test.info, infos[1].K[0] != 0)
			for _, text := range test.warns {
				s.awaitLog(text, 1)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			all := strings.Join(s.logs, "")
			for _, text := range test.warns {
				require.Equal(t, 1, strings.Count(all, text))
			}
			require.Equal(t, test.warns != nil, strings.Contains(all, "calibra"))
		})
	}
}

func TestInvalidCameras(t *testing.T) {
	for want, set := range map[string]func(*hardware.Camera){
		`pixel format "MJPEG": want up to four characters`: func(c *hardware.Camera) { c.Format = "MJPEG" },
		"pixel format H264 cannot be published":            func(c *hardware.Camera) { c.Format = "H264" },
		"pixel format YUYV cannot be published as mono16": func(c *hardware.Camera) {
			c.Format, c.Encoding = "YUYV",
				"mono16"
		},
		"pixel format MJPG cannot be published as mono8": func(c *hardware.Camera) { c.Encoding = "mono8" },
		"pixel format MJPG cannot be published as mono16": func(c *hardware.Camera) {
			c.Device, c.Encoding = folderOf(t, map[string]string{"1.jpg": ""}), "mono16"
		},
		"brightness": func(c *hardware.Camera) { c.Controls = []string{"brightness"} },
		"stat pictures/of/nobody: no such file or directory": func(c *hardware.Camera) {
			c.Device = "pictures/of/nobody"
		},
		"has no images: want .jpg, .jpeg or .png files":     func(c *hardware.Camera) { c.Device = t.TempDir() },
		"is not a device, folder or file":                   func(c *hardware.Camera) { c.Device = pipe(t) },
		`topic name "not a name/camera_info": contains " "`: func(c *hardware.Camera) { c.Model = "bad name" },
	} {
		t.Run(want, func(t *testing.T) {
			o := testOptions(t)
			c := cameraOf("/dev/video0", "MJPG")
			set(&c)
			name := "front"
			if c.Model == "bad name" {
				name = "not a name"
			}
			_, err := newPublisher(&o, map[string]*hardware.Camera{name: &c}, inMemory()(t, "camera_publisher"),
				&v4l2test.System{})
			require.ErrorContains(t, err, "camera "+name+": ")
			require.ErrorContains(t, err, want)
		})
	}
}

// TestDuplicateDevices checks that two cameras with one device are refused: the second one would wait for ever.
func TestDuplicateDevices(t *testing.T) {
	link := filepath.Join(t.TempDir(), "camera")
	require.NoError(t, os.Symlink("/dev/null", link))
	file := put(t, "a.mjpeg", "")
	depth := func(c *hardware.Camera) { c.Format = "Z16" }
	for _, test := range []struct {
		a, b string
		set  func(*hardware.Camera)
		err  string
	}{
		{"/dev/video0", "/dev/video0", depth, "cameras a and b are the same device: /dev/video0; it can be opened " +
			"only once"},
		{"/dev/null", link, depth, "cameras a and b are the same device: " + link},
		{"8A2F", "8A2F", nil, "cameras a and b are the same device: 8A2F"},
		{"8A2F", "8A2F", depth, ""},
		{"/dev/video0", "/dev/video1", nil, ""},
		{file, file, nil, ""},
	} {
		o := testOptions(t)
		a, b := cameraOf(test.a, "MJPG"), cameraOf(test.b, "MJPG")
		if test.set != nil {
			test.set(&b)
		}
		_, err := newPublisher(&o, map[string]*hardware.Camera{"a": &a, "b": &b}, inMemory()(t, "camera_publisher"),
			&v4l2test.System{})
		if test.err == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, test.err)
		require.ErrorIs(t, err, config.ErrUsage)
	}
}

// pipe returns the path of a named pipe.
func pipe(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, unix.Mkfifo(path, 0o666))
	return path
}

// TestCaptures checks the kinds of captures by path.
func TestCaptures(t *testing.T) {
	folder := folderOf(t, map[string]string{"1.png": "x"})
	memory, err := os.MkdirTemp("/dev/shm", "camera_publisher")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(memory) })
	require.NoError(t, os.WriteFile(memory+"/1.png", nil, 0o666))
	for path, want := range map[string]string{
		memory: "folder", memory + "/1.png": "JPEG file",
		"/dev/video9": "device", "/dev/null": "device", "8A2F": "device", "HD Pro Webcam": "device", folder: "folder",
		folder + "/1.png": "JPEG file",
	} {
		s, err := newCapture(&hardware.Camera{Device: path}, false, nil, nil, nil)
		require.NoError(t, err)
		got := "device"
		if f, ok := s.(*playback); ok {
			got = map[bool]string{true: "JPEG file", false: "folder"}[isJPEGFile(f)]
		}
		require.Equal(t, want, got, path)
		s.close()
	}
	s, err := newCapture(&hardware.Camera{Serial: "8A2F"}, false, nil, nil, nil)
	require.NoError(t, err)
	require.Equal(t, "8A2F", s.(*device).Device)
	require.Equal(t, time.Duration(-1), s.(*device).Silence, "0 is never")
}

func isJPEGFile(f *playback) bool {
	_, ok := f.pictures.(*jpegFile)
	return ok
}

// TestStatus checks level, message and values of diagnostics.
func TestStatus(t *testing.T) {
	a, s := newTestCamera(t, cameraOf("/dev/video0", "MJPG"))
	d, err := rospub.NewDiagnostics(s)
	require.NoError(t, err)
	w := &watch{camera: a}
	now := time.Unix(1_700_000_000, 0)
	stubbed := &stub{capture: a.capture}
	a.capture = stubbed
	is := func(level uint8, message string) map[string]string {
		t.Helper()
		status := w.status(now, d)
		require.Equal(t, message, status.Message)
		require.Equal(t, level, status.Level)
		require.Equal(t, "/camera_publisher: front", status.Name)
		return valuesOf(status)
	}
	is(diag.DiagnosticStatus_WARN, "not open yet")
	stubbed.status.Err = os.ErrNotExist
	is(diag.DiagnosticStatus_ERROR, "file does not exist")
	stubbed.status = v4l2.Status{Streaming: true, Path: "/dev/video0", Card: "Webcam", Serial: "8A2F", Rate: 30,
		Format: v4l2.Format{FourCC: v4l2.MJPG, Width: 640, Height: 480}}
	stubbed.stats.Opened = 1
	is(diag.DiagnosticStatus_WARN, "no images arrive")
	stubbed.stats.Frames, stubbed.stats.Clock = 29, v4l2.StartOfExposure
	stubbed.stats.Window = v4l2.Window{Frames: 29, Rate: 28.96, MeanLatency: 12345 * time.Microsecond,
		MaxLatency: 20 * time.Millisecond}
	require.Equal(t, map[string]string{
		"device": "/dev/video0", "card": "Webcam", "serial": "8A2F", "format": "MJPG 640x480",
		"nominal pictures/s": "30.0",
		"pictures/s":         "29.0",
		"pictures":           "29", "dropped": "0", "damaged": "0", "unfit": "0", "driver errors": "0", "reopened": "0",
		"mean latency (ms)":    "12.3",
		"maximum latency (ms)": "20.0", "stamps": "start of exposure", "calibrated": "false",
	}, is(diag.DiagnosticStatus_OK, "streaming"))
	require.Equal(t, "8A2F", w.status(now, d).HardwareId)
	stubbed.stats.Dropped, stubbed.stats.Damaged, stubbed.stats.Opened, stubbed.stats.Errors = 2, 1, 4, 5
	values := is(diag.DiagnosticStatus_WARN, "images are missing: 2 dropped, 1 damaged, 0 unfit")
	require.Equal(t, []string{"3", "5"}, []string{values["reopened"], values["driver errors"]})
	now = now.Add(troubleTime - time.Second)
	is(diag.DiagnosticStatus_WARN, "images are missing: 2 dropped, 1 damaged, 0 unfit")
	now = now.Add(time.Second)
	is(diag.DiagnosticStatus_OK, "streaming")
	text := "it is no JPEG"
	a.trouble.Store(&text)
	a.unfit.Add(1)
	is(diag.DiagnosticStatus_ERROR, text)
	a.trouble.Store(nil)
	is(diag.DiagnosticStatus_WARN, "images are missing: 2 dropped, 1 damaged, 1 unfit")

	now = now.Add(troubleTime)
	stubbed.stats.Window.Frames = 0
	a.publishing.Store(7)
	is(diag.DiagnosticStatus_WARN, "no images arrive")
	is(diag.DiagnosticStatus_WARN, "images wait for a reliable subscriber")
	a.publishing.Store(8)
	is(diag.DiagnosticStatus_WARN, "no images arrive")

	path := put(t, "a.mjpeg", string(jpegOf(t, 8, 8, 1)))
	b, shelf := newTestCamera(t, cameraOf(path, "MJPG"))
	w = &watch{camera: b}
	during := uint64(0)
	shelf.topics["front/image_raw/compressed"].during = func() { during = b.publishing.Load() }
	is(diag.DiagnosticStatus_OK, "waiting for subscribers")
	require.NoError(t, b.run(t.Context()))
	require.EqualValues(t, 1, during, "the first picture was published")
	values = is(diag.DiagnosticStatus_OK, "ended")
	require.Equal(t, []string{path, "1", "30.0"},
		[]string{values["device"], values["pictures"], values["nominal pictures/s"]})
}

// stub is a capture with a given status.
type stub struct {
	capture
	status v4l2.Status
	stats  v4l2.Stats
}

func (s *stub) Status() v4l2.Status { return s.status }
func (s *stub) Stats() v4l2.Stats   { return s.stats }

// TestErrorsAreLoggedOnce logs one error of a camera whose images cannot be published.
func TestErrorsAreLoggedOnce(t *testing.T) {
	cam := webcam("/dev/video0", "8A2F", v4l2test.Format{FourCC: v4l2.H264, Width: 16, Height: 8,
		Rates: []float64{30, 15}})
	cam.Fill = func(_ v4l2.Format, _ uint32, buffer []byte) int { return copy(buffer, "anything") }
	c := cameraOf("8A2F", "")
	c.Rate = 100
	s := newFixture(t, inMemory(), testOptions(t), map[string]*hardware.Camera{"front": &c}, cam)
	s.start()
	s.awaitLog("front: Webcam 8A2F at", 1)
	s.awaitLog("front: 100 images/s is not supported, only [30 15]", 1)
	for n := range uint64(3) {
		cam.Shoot()
		require.Eventually(t, func() bool { return s.cameras[0].unfit.Load() == n+1 }, patience, time.Millisecond)
	}
	s.awaitLog("pixel format H264 cannot be published", 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, 1, strings.Count(strings.Join(s.logs, ""), "H264 cannot"))
	require.Contains(t, *s.cameras[0].trouble.Load(), "H264")
}

// TestAlternatingErrors checks that alternating errors do not fill the log.
func TestAlternatingErrors(t *testing.T) {
	a, _ := newTestCamera(t, cameraOf("/dev/video0", "MJPG"))
	var lines []string
	a.node = &logNode{a.node, &lines}
	good, bad := jpegFrame(t, 8, 8), func(text string) *v4l2.Frame {
		return &v4l2.Frame{Data: []byte(text), Format: v4l2.Format{FourCC: v4l2.MJPG, Width: 8, Height: 8}}
	}
	synctest.Test(t, func(t *testing.T) {
		a.capture = frames(func(give func(*v4l2.Frame)) {
			for range 3 {
				give(bad("one"))
				require.NotNil(t, a.trouble.Load())
				give(good)
				require.Nil(t, a.trouble.Load())
				give(bad("two"))
			}
			time.Sleep(troubleTime)
			give(bad("one"))
			give(bad("two"))
		})
		require.NoError(t, a.run(t.Context()))
	})
	require.Equal(t, []string{`front: not a JPEG, begins with "one"`,
		`front: not a JPEG, begins with "two"`}, lines)
	require.EqualValues(t, 8, a.unfit.Load())
}

// logNode is a node that keeps its log.
type logNode struct {
	bridge.Node
	lines *[]string
}

func (l *logNode) Log(_ bridge.LogLevel, format string, args ...any) {
	*l.lines = append(*l.lines, fmt.Sprintf(format, args...))
}

// frames is a capture whose run calls a function.
type frames func(give func(*v4l2.Frame))

func (f frames) run(_ context.Context, give func(*v4l2.Frame)) error {
	f(give)
	return nil
}

func (f frames) carries() (jpegs, pixels bool) { return true, false }
func (f frames) Status() v4l2.Status           { return v4l2.Status{} }
func (f frames) Stats() v4l2.Stats             { return v4l2.Stats{} }
func (f frames) close()                        {}

// TestFailingFile checks that a failing camera ends the node.
func TestFailingFile(t *testing.T) {
	bad := cameraOf(put(t, "a.mjpeg", "nothing"), "MJPG")
	good := cameraOf("/dev/video0", "MJPG")
	o := testOptions(t)
	o.MatchPatience = 0
	s := newFixture(t, inMemory(), o, map[string]*hardware.Camera{"bad": &bad, "good": &good})
	s.start()
	s.end(func(err error) {
		require.EqualError(t, err, "camera bad: read "+bad.Device+": no usable image")
	})
}

// TestLoopStopsWithNode checks that a loop ends with its context.
func TestLoopStopsWithNode(t *testing.T) {
	c := cameraOf(put(t, "a.mjpeg", string(jpegOf(t, 8, 8, 1))), "MJPG")
	c.Rate = 200
	o := testOptions(t)
	o.Loop, o.MatchPatience = true, 0
	s := newFixture(t, inMemory(), o, map[string]*hardware.Camera{"front": &c})
	s.subscribeCamera("front")
	s.start()
	require.Eventually(t, func() bool { return s.count("/front/image_raw/compressed") > 5 }, patience, time.Millisecond)
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	var system v4l2test.System
	require.NoError(t, list(&out, &system))
	require.Equal(t, "no V4L2 devices found\n", out.String())
	system.Plug(webcam("/dev/video0", "8A2F", v4l2test.Format{FourCC: v4l2.YUYV, Width: 640, Height: 480,
		Rates: []float64{30, 15}},
		v4l2test.Format{FourCC: v4l2.MJPG, Width: 1280, Height: 720}))
	system.Plug(&v4l2test.Camera{Node: v4l2.Node{Path: "/dev/video1", Name: "Metadata"}})
	out.Reset()
	require.NoError(t, list(&out, &system))
	text, metadata, _ := strings.Cut(out.String(), "/dev/video1  Metadata\n")
	require.Equal(t, `/dev/video0  Webcam 8A2F  serial 8A2F
  YUYV
    640x480 at 30, 15
  MJPG
    1280x720
  brightness  0 to 255 in steps of 1, by default 128
  auto_exposure  1 (Manual Mode), 3 (Aperture Priority Mode), by default 3
`, text)
	require.Contains(t, metadata, "/dev/video1 captures metadata")
	require.Equal(t, 1, strings.Count(metadata, "\n"), "why it cannot capture")
}
