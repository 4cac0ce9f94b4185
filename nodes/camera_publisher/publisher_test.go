package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
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
	"tapedeck/msgs"
	diag "tapedeck/msgs/diagnostic_msgs"
	"tapedeck/msgs/sensor_msgs"
	"tapedeck/msgs/std_msgs"
	"tapedeck/nodes/internal/graph"
	"tapedeck/nodes/internal/hardware"
)

const patience = 90 * time.Second

// TestMain isolates the tests from other machines, and from other tests in the same domain.
func TestMain(m *testing.M) {
	os.Setenv("ROS_DOMAIN_ID", fmt.Sprint(20+os.Getpid()%80))
	os.Setenv("ROS_LOCALHOST_ONLY", "1")
	const config = "<Discovery><Tag>camera-%d</Tag><LeaseDuration>3600s</LeaseDuration></Discovery>"
	os.Setenv("CYCLONEDDS_URI", fmt.Sprintf(config, os.Getpid()))
	for _, name := range []string{"ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS"} {
		os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// overDDS opens a node with DDS, as the executable does.
func overDDS(t *testing.T, name string) bridge.Node {
	var o struct{ graph.Options }
	var node bridge.Node
	open := config.New(name, "", "", &o, func(_ context.Context, in *config.Input) (err error) {
		node, err = graph.Open(name, in, &o, io.Discard)
		return err
	})
	require.NoError(t, config.Execute(t.Context(), open, nil))
	t.Cleanup(func() { require.NoError(t, node.Close()) })
	return node
}

// inMemory returns a function that opens nodes on an in-memory graph.
func inMemory() func(*testing.T, string) bridge.Node {
	var network bridgetest.Network
	return func(t *testing.T, name string) bridge.Node {
		node, err := network.Open(bridge.Options{Name: name, Console: io.Discard})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, node.Close()) })
		return node
	}
}

// fixture is a node with cameras, and a listener.
type fixture struct {
	*publisher
	t        *testing.T
	system   v4l2test.System
	listener bridge.Node
	ended    chan error

	mu       sync.Mutex
	messages map[string][]msgs.Message // by topic
	logs     []string
}

func testOptions(t *testing.T) options {
	t.Setenv("ROS_HOME", t.TempDir())
	o := defaultOptions()
	o.Reliable, o.AckTimeout = true, patience
	return o
}

// newFixture opens a node and a listener.
func newFixture(t *testing.T, open func(*testing.T, string) bridge.Node, o options, cameras map[string]*hardware.Camera,
	plugged ...*v4l2test.Camera) *fixture {
	s := &fixture{t: t, messages: map[string][]msgs.Message{}, ended: make(chan error, 1),
		listener: open(t, "listener")}
	for _, c := range plugged {
		s.system.Plug(c)
	}
	s.subscribe("/rosout", bridge.RosoutQoS(), func() msgs.Message { return nil })
	var err error
	s.publisher, err = newPublisher(&o, cameras, open(t, "camera_publisher"), &s.system)
	require.NoError(t, err)
	for _, c := range s.cameras {
		if d, ok := c.capture.(*device); ok {
			d.Retry = time.Millisecond
		}
	}
	return s
}

// start runs the node until the test ends.
func (s *fixture) start() {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { s.ended <- s.run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		s.end(nil)
	})
}

// end waits for the end.
func (s *fixture) end(check func(error)) {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if check == nil {
			require.NoError(s.t, err)
		} else {
			check(err)
		}
		s.ended <- nil
	case <-time.After(patience):
		require.Fail(s.t, "the publisher does not end")
	}
}

func reliable() codec.QoS {
	qos := codec.DefaultQoS()
	qos.History, qos.Depth = codec.KeepAll, 0
	return qos
}

// subscribe collects the messages of a topic.
func (s *fixture) subscribe(topic string, qos codec.QoS, empty func() msgs.Message) {
	typeName := "rcl_interfaces/msg/Log"
	if m := empty(); m != nil {
		typeName = m.TypeName()
	}
	_, err := s.listener.Subscribe(topic, typeName, qos, func(batch []bridge.Sample) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, sample := range batch {
			m := empty()
			if m == nil {
				s.logs = append(s.logs, string(sample.Data))
				continue
			}
			if err := cdr.Unmarshal(sample.Data, m); err != nil {
				s.t.Error(err)
			}
			s.messages[topic] = append(s.messages[topic], m)
		}
	})
	require.NoError(s.t, err)
}

// subscribeCamera collects the messages of a camera.
func (s *fixture) subscribeCamera(name string) {
	s.subscribe("/"+name+"/image_raw", reliable(), func() msgs.Message { return &sensor_msgs.Image{} })
	s.subscribe("/"+name+"/image_raw/compressed", reliable(),
		func() msgs.Message { return &sensor_msgs.CompressedImage{} })
	s.subscribe("/"+name+"/camera_info", reliable(), func() msgs.Message { return &sensor_msgs.CameraInfo{} })
}

// awaitMatches waits until all publishers have matched the listener.
func (s *fixture) awaitMatches() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		for _, c := range s.cameras {
			for _, offer := range c.topics.Offers() {
				if offer.Subscribers() == 0 {
					return false
				}
			}
		}
		return true
	}, patience, time.Millisecond)
}

func (s *fixture) count(topic string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.messages[topic])
}

// received returns the messages of a topic, after waiting for n of them.
func received[T msgs.Message](s *fixture, topic string, n int) (list []T) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.count(topic) >= n }, patience, time.Millisecond, "%s: %d of %d",
		topic,
		s.count(topic), n)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages[topic] {
		list = append(list, m.(T))
	}
	require.Len(s.t, list, n, topic)
	return list
}

// awaitLog waits until n log lines contain a text.
func (s *fixture) awaitLog(text string, n int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Count(strings.Join(s.logs, ""), text) >= n
	}, patience, time.Millisecond, text)
}

// sharedHeaders returns the headers that images and their CameraInfo share.
func sharedHeaders[T msgs.Message](t *testing.T, images []T,
	infos []*sensor_msgs.CameraInfo) (headers []std_msgs.Header) {
	t.Helper()
	require.Len(t, infos, len(images))
	for i, m := range images {
		var h std_msgs.Header
		switch m := msgs.Message(m).(type) {
		case *sensor_msgs.Image:
			h = m.Header
		case *sensor_msgs.CompressedImage:
			h = m.Header
		}
		require.Equal(t, h, infos[i].Header)
		require.NotZero(t, h.Stamp.Sec)
		headers = append(headers, h)
	}
	return headers
}

func editedCamera(set func(*hardware.Camera)) *hardware.Camera {
	c := hardware.DefaultCamera()
	set(&c)
	return &c
}

// TestFilesOverDDS publishes folders and files to their end, and checks that all images arrive unchanged.
func TestFilesOverDDS(t *testing.T) {
	const n = 40
	var jpegs [][]byte
	shots := map[string]string{}
	var depths []string
	for i := range n {
		jpegs = append(jpegs, jpegOf(t, 64, 48, i))
		depth := image.NewGray16(image.Rect(0, 0, 5, 3))
		depth.SetGray16(1, 0, color.Gray16{Y: uint16(1000 + i)})
		shots[fmt.Sprintf("depth_%d.png", i)] = pngOf(t, depth)
		depths = append(depths, "\x00\x00"+string([]byte{byte((1000 + i) & 255), byte((1000 + i) >> 8)})+
			string(make([]byte,
				26)))
	}
	// Motion JPEG may lack Huffman tables.
	bare, tables := withoutTables(t, jpegs[7])
	jpegs[7] = bare
	o := testOptions(t)
	o.Rate = 400
	require.NoError(t, os.MkdirAll(os.Getenv("ROS_HOME")+"/camera_info", 0o777))
	require.NoError(t, os.WriteFile(os.Getenv("ROS_HOME")+"/camera_info/front.yaml",
		[]byte(strings.NewReplacer("640", "64", "480", "48").Replace(calibrated)), 0o666))
	cameras := map[string]*hardware.Camera{
		"front": editedCamera(func(c *hardware.Camera) {
			c.Device, c.Rate = put(t, "a.mjpeg", string(slices.Concat(jpegs...))),
				400
		}),
		"depth": editedCamera(func(c *hardware.Camera) {
			c.Device, c.Rate, c.FrameID = folderOf(t, shots), 300, "lens"
		}),
	}
	s := newFixture(t, overDDS, o, cameras)
	s.subscribeCamera("front")
	s.subscribeCamera("depth")
	s.awaitMatches()
	s.start()
	s.end(nil)

	photos := received[*sensor_msgs.CompressedImage](s, "/front/image_raw/compressed", n)
	infos := received[*sensor_msgs.CameraInfo](s, "/front/camera_info", n)
	for i, h := range sharedHeaders(t, photos, infos) {
		require.Equal(t, "front_optical_frame", h.FrameId)
		require.Equal(t, "jpeg", photos[i].Format)
		want := jpegs[i]
		if i == 7 {
			want = tables
		}
		require.Equal(t, want, photos[i].Data)
		want2 := calibratedInfo()
		want2.Width, want2.Height, want2.Header = 64, 48, h
		require.Equal(t, &want2, infos[i])
	}
	require.Zero(t, s.count("/front/image_raw"))

	pixels := received[*sensor_msgs.Image](s, "/depth/image_raw", n)
	infos = received[*sensor_msgs.CameraInfo](s, "/depth/camera_info", n)
	for i, h := range sharedHeaders(t, pixels, infos) {
		require.Equal(t, &sensor_msgs.Image{Header: h, Width: 5, Height: 3, Encoding: "16UC1", Step: 10,
			Data: []byte(depths[i])}, pixels[i])
		require.Equal(t, "lens", h.FrameId)
		require.Equal(t, &sensor_msgs.CameraInfo{Header: h, Width: 5, Height: 3, D: []float64{}}, infos[i],
			"the camera has no calibration")
	}
	require.Zero(t, s.count("/depth/image_raw/compressed"))
}

// withoutTables returns a JPEG without its Huffman tables, and with the default tables added.
func withoutTables(t *testing.T, data []byte) (bare, whole []byte) {
	at := bytes.Index(data, []byte("\xff\xc4"))
	bare = slices.Concat(data[:at], data[at+2+int(binary.BigEndian.Uint16(data[at+2:])):])
	whole = v4l2.AddHuffmanTables(nil, bare)
	require.Greater(t, len(whole), len(bare))
	_, err := jpeg.Decode(bytes.NewReader(whole))
	require.NoError(t, err)
	return bare, whole
}

// webcam returns a simulated camera.
func webcam(path, serial string, formats ...v4l2test.Format) *v4l2test.Camera {
	return &v4l2test.Camera{
		Node: v4l2.Node{Path: path, Name: "Webcam " + serial, Serial: serial, Port: path}, Formats: formats,
		Manual: true,
		Controls: []v4l2.Control{
			{ID: 0x00980900, Label: "Brightness", Name: "brightness", Type: v4l2.IntegerControl, Max: 255, Step: 1,
				Default: 128},
			{ID: 0x009a0901, Label: "Auto Exposure", Name: "auto_exposure", Type: v4l2.MenuControl, Max: 3, Default: 3,
				Menu: []v4l2.MenuItem{{Index: 1, Text: "Manual Mode"}, {Index: 3, Text: "Aperture Priority Mode"}}},
		},
	}
}

// pattern fills a buffer with bytes that depend on the frame number.
func pattern(format v4l2.Format, sequence uint32, buffer []byte) int {
	for i := range buffer[:format.Size] {
		buffer[i] = byte(i) + byte(sequence)
	}
	return format.Size
}

// TestDevicesOverDDS publishes two devices and unplugs one.
func TestDevicesOverDDS(t *testing.T) {
	left := webcam("/dev/video0", "8A2F", v4l2test.Format{FourCC: v4l2.YUYV, Width: 8, Height: 4, Padding: 6},
		v4l2test.Format{FourCC: v4l2.MJPG, Width: 64, Height: 48})
	left.Fill = pattern
	right := webcam("/dev/video2", "9B30", v4l2test.Format{FourCC: v4l2.MJPG, Width: 64, Height: 48})
	right.Fill = func(_ v4l2.Format, sequence uint32, buffer []byte) int {
		return copy(buffer, jpegOf(t, 64, 48, int(sequence)))
	}
	s := newFixture(t, overDDS, testOptions(t), map[string]*hardware.Camera{
		"left": editedCamera(func(c *hardware.Camera) {
			c.Serial, c.Format, c.Controls = "8A2F", "YUYV", []string{"brightness=99", "auto_exposure=Manual Mode"}
		}),
		"right": editedCamera(func(c *hardware.Camera) { c.Device = "/dev/video2" }),
	}, left)
	s.subscribeCamera("left")
	s.subscribeCamera("right")
	s.subscribe("/diagnostics", reliable(), func() msgs.Message { return &diag.DiagnosticArray{} })
	s.start()
	s.awaitLog("left: Webcam 8A2F at /dev/video0, YUYV 8x4, 30 images/s", 1)
	s.awaitMatches()
	require.EqualValues(t, 99, left.Setting("brightness"))
	require.EqualValues(t, 1, left.Setting("auto_exposure"))
	shots := 0
	shoot := func(sequence uint32) {
		t.Helper()
		before := time.Now().UnixNano()
		left.Shoot()
		shots++
		images := received[*sensor_msgs.Image](s, "/left/image_raw", shots)
		infos := received[*sensor_msgs.CameraInfo](s, "/left/camera_info", shots)
		h := sharedHeaders(t, images, infos)[shots-1]
		require.Equal(t, "left_optical_frame", h.FrameId)
		stamp := int64(h.Stamp.Sec)*1e9 + int64(h.Stamp.Nanosec)
		require.Greater(t, stamp, before-int64(10*time.Millisecond),
			"the driver's stamp, but for how exactly clocks could be compared")
		require.Less(t, stamp, time.Now().UnixNano()+int64(10*time.Millisecond))
		var data []byte
		for y := range 4 {
			for x := range 16 {
				data = append(data, byte(22*y+x)+byte(sequence))
			}
		}
		require.Equal(t, &sensor_msgs.Image{Header: h, Width: 8, Height: 4, Encoding: "yuv422_yuy2", Step: 16,
			Data: data},
			images[shots-1])
	}
	for i := range uint32(5) {
		shoot(i)
	}
	left.Skip(3)
	shoot(8)
	left.Fail(unix.EIO, unix.EIO)
	shoot(9)
	left.Damage()
	left.Shoot()
	shoot(11)
	left.Fail(unix.EINVAL)
	s.awaitLog("left: Webcam 8A2F at", 2)
	shoot(0)

	s.awaitLog("right: /dev/video2: open: no such file or directory", 1)
	s.system.Plug(right)
	s.awaitLog("right: Webcam 9B30 at", 1)
	s.awaitMatches()
	right.Shoot()
	photo := received[*sensor_msgs.CompressedImage](s, "/right/image_raw/compressed", 1)
	h := sharedHeaders(t, photo, received[*sensor_msgs.CameraInfo](s, "/right/camera_info", 1))[0]
	require.Equal(t, &sensor_msgs.CompressedImage{Header: h, Format: "jpeg", Data: jpegOf(t, 64, 48, 0)}, photo[0])

	s.system.Unplug(left)
	s.awaitLog("left: /dev/video0", 2) // the first was EINVAL
	s.system.Plug(left)
	s.awaitLog("left: Webcam 8A2F at", 3)
	shoot(0)

	status := func(name string, fits func(diag.DiagnosticStatus, map[string]string) bool) {
		t.Helper()
		var last *diag.DiagnosticArray
		require.Eventually(t, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			list := s.messages["/diagnostics"]
			if len(list) == 0 {
				return false
			}
			last = list[len(list)-1].(*diag.DiagnosticArray)
			return slices.ContainsFunc(last.Status, func(d diag.DiagnosticStatus) bool {
				return d.Name == "/camera_publisher: "+name && fits(d, valuesOf(d))
			})
		}, patience, time.Millisecond, "%s %v", name, last)
	}
	status("left", func(_ diag.DiagnosticStatus, v map[string]string) bool {
		return v["pictures"] == fmt.Sprint(shots) && v["reopened"] == "2" &&
			v["dropped"] == "3" && v["damaged"] == "1" && v["driver errors"] == "4" && v["format"] == "YUYV 8x4" &&
			v["serial"] == "8A2F"
	})
	s.system.Unplug(right)
	status("right", func(d diag.DiagnosticStatus, v map[string]string) bool {
		return d.Level == diag.DiagnosticStatus_ERROR && v["pictures"] == "1" && v["device"] == "/dev/video2"
	})
}

func valuesOf(d diag.DiagnosticStatus) map[string]string {
	values := map[string]string{}
	for _, v := range d.Values {
		values[v.Key] = v.Value
	}
	return values
}
