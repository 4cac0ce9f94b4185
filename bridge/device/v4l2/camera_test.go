package v4l2_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/v4l2test"
)

const patience = 90 * time.Second

// webcam returns a typical simulated camera: one node for images, and one for metadata.
func webcam() (camera, metadata *v4l2test.Camera) {
	node := v4l2.Node{Path: "/dev/video0", Name: "HD Pro Webcam C920", Serial: "8A2F", Port: "1-2"}
	camera = &v4l2test.Camera{
		Node: node,
		Formats: []v4l2test.Format{
			{FourCC: v4l2.YUYV, Width: 64, Height: 48, Padding: 8, Rates: []float64{30, 15}},
			{FourCC: v4l2.MJPG, Width: 64, Height: 48},
			{FourCC: v4l2.MJPG, Width: 128, Height: 96},
		},
		Controls: []v4l2.Control{
			{ID: 0x00980900, Label: "Brightness", Name: "brightness", Type: v4l2.IntegerControl, Max: 255, Step: 1,
				Default: 128},
			{ID: 0x009a0901, Label: "Auto Exposure", Name: "auto_exposure", Type: v4l2.MenuControl, Max: 3, Default: 3,
				Menu: []v4l2.MenuItem{{Index: 1, Text: "Manual Mode"}, {Index: 3, Text: "Aperture Priority Mode"}}},
		},
		Manual: true,
	}
	node.Path = "/dev/video1"
	return camera, &v4l2test.Camera{Node: node}
}

// plugWebcam returns a webcam, and a system that it is plugged into.
func plugWebcam() (*v4l2test.Camera, *v4l2test.System) {
	device, _ := webcam()
	system := new(v4l2test.System)
	system.Plug(device)
	return device, system
}

// run runs a camera until the test's end, and returns its frames and events.
func run(t *testing.T, camera *v4l2.Camera) (<-chan v4l2.Frame, <-chan v4l2.Status) {
	frames, events := make(chan v4l2.Frame, 1000), make(chan v4l2.Status, 1000)
	camera.Frame = func(f *v4l2.Frame) {
		frame := *f
		frame.Data = append([]byte(nil), f.Data...)
		frames <- frame
	}
	camera.Event = func(s v4l2.Status) { events <- s }
	if camera.Retry == 0 {
		camera.Retry = time.Millisecond
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() {
		if err := camera.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run returned %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		wait.Wait()
	})
	return frames, events
}

// capture runs a camera, waits until its device streams, and returns a function that stops it.
func capture(t *testing.T, device *v4l2test.Camera, camera *v4l2.Camera) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- camera.Run(ctx) }()
	require.Eventually(t, device.Streaming, patience, time.Millisecond)
	return func() {
		cancel()
		require.ErrorIs(t, next(t, done), context.Canceled)
	}
}

func next[T any](t *testing.T, c <-chan T) T {
	select {
	case item := <-c:
		return item
	case <-time.After(patience):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

func TestCameraFrames(t *testing.T) {
	for _, test := range []struct {
		name, device string
		fourCC       v4l2.FourCC
		want         v4l2.Format
	}{
		{"path", "/dev/video0", v4l2.YUYV, v4l2.Format{FourCC: v4l2.YUYV, Width: 64, Height: 48, BytesPerLine: 136,
			Size: 48 * 136}},
		{"serial", "8A2F", v4l2.MJPG, v4l2.Format{FourCC: v4l2.MJPG, Width: 64, Height: 48, Size: 2 * 64 * 48}},
		{"name", "hd pro webcam c920", 0, v4l2.Format{FourCC: v4l2.YUYV, Width: 64, Height: 48, BytesPerLine: 136,
			Size: 48 * 136}},
	} {
		t.Run(test.name, func(t *testing.T) {
			device, metadata := webcam()
			system := new(v4l2test.System)
			system.Plug(metadata)
			system.Plug(device)
			camera := &v4l2.Camera{
				System: system, Device: test.device, FourCC: test.fourCC, Rate: 15,
				Controls: []v4l2.Setting{{Control: "brightness", Value: "99"},
					{Control: "auto_exposure", Value: "manual mode"}},
			}
			before := time.Now().UnixNano()
			frames, events := run(t, camera)
			status := next(t, events)
			require.NoError(t, status.Err)
			require.True(t, status.Streaming)
			require.Equal(t, test.want, status.Format)
			require.Equal(t, "HD Pro Webcam C920", status.Card)
			require.EqualValues(t, 99, device.Setting("brightness"))
			require.EqualValues(t, 1, device.Setting("auto_exposure"))
			if test.want.FourCC == v4l2.YUYV {
				require.EqualValues(t, 15, status.Rate)
				require.Empty(t, status.Rates)
			} else {
				require.EqualValues(t, 30, status.Rate) // the only one
			}
			last := before - int64(time.Millisecond)
			for i := range uint32(10) {
				device.Shoot()
				f := next(t, frames)
				require.Equal(t, i, f.Sequence)
				require.Equal(t, i, v4l2test.Sequence(f.Format.FourCC, f.Data))
				require.Equal(t, test.want, f.Format)
				require.Equal(t, v4l2.StartOfExposure, f.Clock)
				require.Greater(t, f.Stamp, last)
				require.GreaterOrEqual(t, f.Received, f.Stamp-int64(time.Millisecond))
				last = f.Stamp - int64(time.Millisecond) // both are as exact as the clocks could be read
				if !f.Format.FourCC.Compressed() {
					require.Len(t, f.Data, f.Format.Size)
				}
			}
			stats := camera.Stats()
			require.EqualValues(t, 10, stats.Frames)
			require.EqualValues(t, 10, stats.Window.Frames)
			require.EqualValues(t, 1, stats.Opened)
			require.Greater(t, stats.Window.Rate, 0.0)
			require.LessOrEqual(t, stats.Window.MinLatency, stats.Window.MeanLatency)
			require.LessOrEqual(t, stats.Window.MeanLatency, stats.Window.MaxLatency)
			require.Positive(t, stats.Window.MaxLatency)
			stats = camera.Stats()
			require.EqualValues(t, 10, stats.Frames)
			require.Zero(t, stats.Window.Frames)
			require.Zero(t, stats.Window.MaxLatency)
		})
	}
}

func TestCameraUnplugged(t *testing.T) {
	for _, name := range []string{"/dev/video0", "8A2F"} {
		t.Run(name, func(t *testing.T) {
			device, metadata := webcam()
			system := new(v4l2test.System)
			camera := &v4l2.Camera{System: system, Device: name,
				Controls: []v4l2.Setting{{Control: "brightness", Value: "7"}}}
			frames, events := run(t, camera)
			require.Error(t, next(t, events).Err)
			system.Plug(metadata)
			for i := range uint64(3) {
				system.Plug(device)
				status := next(t, events)
				require.NoError(t, status.Err)
				require.EqualValues(t, 7, device.Setting("brightness"))
				device.Shoot()
				require.Zero(t, next(t, frames).Sequence)
				require.Equal(t, i+1, camera.Stats().Opened)
				system.Unplug(device)
				status = next(t, events)
				require.ErrorIs(t, status.Err, unix.ENODEV)
				require.False(t, status.Streaming)
				time.Sleep(5 * time.Millisecond) // a few retries, which are no events
			}
			require.Empty(t, frames)
			require.Empty(t, events)
			stats := camera.Stats()
			require.EqualValues(t, 3, stats.Frames)
			require.EqualValues(t, 3, stats.Opened)
			require.Zero(t, stats.Dropped)
		})
	}
}

// TestCameraMoved plugs a camera into another port, so that it gets another node.
func TestCameraMoved(t *testing.T) {
	device, system := plugWebcam()
	other, _ := webcam()
	other.Node.Path, other.Node.Port = "/dev/video7", "1-4"
	_, events := run(t, &v4l2.Camera{System: system, Device: "8A2F"})
	require.Equal(t, "/dev/video0", next(t, events).Path)
	system.Unplug(device)
	system.Plug(other)
	require.ErrorIs(t, next(t, events).Err, unix.ENODEV)
	require.Equal(t, "/dev/video7", next(t, events).Path)
}

func TestCameraDrops(t *testing.T) {
	device, system := plugWebcam()
	camera := &v4l2.Camera{System: system, Device: "/dev/video0"}
	frames, events := run(t, camera)
	next(t, events)
	shoot := func(want uint32) {
		device.Shoot()
		require.Equal(t, want, next(t, frames).Sequence)
	}
	shoot(0)
	device.Skip(3)
	shoot(4)
	device.Damage()
	device.Shoot() // 5
	device.Fail(unix.EIO, unix.EAGAIN, unix.EIO)
	shoot(6)
	stats := camera.Stats()
	require.EqualValues(t, 3, stats.Frames)
	require.EqualValues(t, 3, stats.Dropped)
	require.EqualValues(t, 1, stats.Damaged)
	require.EqualValues(t, 2, stats.Errors)
	require.EqualValues(t, 1, stats.Opened)
}

// TestCameraSlow keeps a frame until the driver runs out of buffers.
func TestCameraSlow(t *testing.T) {
	device, system := plugWebcam()
	hold, held := make(chan struct{}), make(chan uint32, 10)
	camera := &v4l2.Camera{System: system, Device: "/dev/video0", Buffers: 3, Frame: func(f *v4l2.Frame) {
		held <- f.Sequence
		<-hold
		if n := v4l2test.Sequence(f.Format.FourCC, f.Data); n != f.Sequence {
			t.Errorf("the buffer of frame %d became that of %d while it was used", f.Sequence, n)
		}
	}}
	stop := capture(t, device, camera)
	device.Shoot()
	require.Zero(t, next(t, held))
	for range 10 {
		device.Shoot() // 1 and 2 are captured, 3 to 10 have no buffer
	}
	close(hold)
	require.EqualValues(t, 1, next(t, held))
	require.EqualValues(t, 2, next(t, held))
	device.Shoot()
	require.EqualValues(t, 11, next(t, held))
	stop()
	require.EqualValues(t, 8, camera.Stats().Dropped)
	require.False(t, camera.Status().Streaming)
	require.False(t, device.Streaming())
}

func TestCameraFailing(t *testing.T) {
	device, system := plugWebcam()
	camera := &v4l2.Camera{System: system, Device: "/dev/video0"}
	frames, events := run(t, camera)
	require.NoError(t, next(t, events).Err)
	failures := make([]unix.Errno, 16)
	for i := range failures {
		failures[i] = unix.EIO
	}
	device.Fail(failures...)
	require.ErrorIs(t, next(t, events).Err, unix.EIO)
	require.NoError(t, next(t, events).Err) // opened again
	device.Shoot()
	next(t, frames)
	require.EqualValues(t, 16, camera.Stats().Errors)
}

func TestCameraSilent(t *testing.T) {
	_, system := plugWebcam()
	_, events := run(t, &v4l2.Camera{System: system, Device: "/dev/video0", Silence: 20 * time.Millisecond})
	for range 2 {
		require.NoError(t, next(t, events).Err)
		require.EqualError(t, next(t, events).Err, "/dev/video0: capture: no frame came for 20ms")
	}
}

// TestCameraRate captures from a camera that sends frames by itself.
func TestCameraRate(t *testing.T) {
	device, system := plugWebcam()
	device.Manual = false
	frames, _ := run(t, &v4l2.Camera{System: system, Device: "/dev/video0"})
	last := next(t, frames)
	for range 5 {
		f := next(t, frames)
		frames := int64(f.Sequence - last.Sequence)
		require.InDelta(t, frames*int64(time.Second)/30, f.Stamp-last.Stamp, float64(10*time.Millisecond))
		last = f
	}
}

func TestCameraErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		camera *v4l2.Camera
		want   string
	}{
		{"not there", &v4l2.Camera{Device: "/dev/video9"}, "/dev/video9: open: no such file or directory" +
			"; it is not plugged in or has another name; ls -l /dev/v4l/by-id lists cameras"},
		{"no such serial", &v4l2.Camera{Device: "77"},
			`camera 77: no such camera; connected: 8A2F "HD Pro Webcam C920"`},
		{"metadata", &v4l2.Camera{Device: "/dev/video1"},
			`/dev/video1 captures metadata, not video: not a capture device; use another node of "HD Pro Webcam C920"`},
		{"pixel format", &v4l2.Camera{Device: "/dev/video0", FourCC: v4l2.RGB3},
			"/dev/video0: the camera does not offer RGB3, only YUYV and MJPG"},
		{"pixel format of a serial", &v4l2.Camera{Device: "8A2F", FourCC: v4l2.Z16},
			"8A2F: the camera does not offer Z16, only YUYV and MJPG"},
		{"size", &v4l2.Camera{Device: "/dev/video0", FourCC: v4l2.MJPG, Width: 1920, Height: 1080},
			"/dev/video0: the camera does not offer MJPG 1920x1080, only MJPG 64x48 and 128x96"},
		{"control", &v4l2.Camera{Device: "/dev/video0", Controls: []v4l2.Setting{{Control: "zoom", Value: "1"}}},
			"/dev/video0: no control zoom: the camera has brightness and auto_exposure"},
	} {
		t.Run(test.name, func(t *testing.T) {
			device, metadata := webcam()
			system := new(v4l2test.System)
			system.Plug(device)
			system.Plug(metadata)
			camera := test.camera
			camera.System = system
			_, events := run(t, camera)
			status := next(t, events)
			require.EqualError(t, status.Err, test.want)
			require.False(t, status.Streaming)
			require.EqualError(t, camera.Status().Err, test.want)
			select {
			case status := <-events:
				require.Fail(t, "said twice", "%v", status.Err)
			case <-time.After(20 * time.Millisecond): // many retries
			}
		})
	}
}

func TestCameraBusy(t *testing.T) {
	device, system := plugWebcam()
	stop := capture(t, device, &v4l2.Camera{System: system, Device: "/dev/video0", Frame: func(*v4l2.Frame) {}})
	_, events := run(t, &v4l2.Camera{System: system, Device: "/dev/video0"})
	require.EqualError(t, next(t, events).Err, "/dev/video0: set the format YUYV 64x48: device or resource busy"+
		"; another program uses the camera; fuser -v /dev/video0 shows which")
	stop()
	require.NoError(t, next(t, events).Err)
}

func TestCameraRateNotOffered(t *testing.T) {
	_, system := plugWebcam()
	_, events := run(t, &v4l2.Camera{System: system, Device: "/dev/video0", Rate: 60})
	status := next(t, events)
	require.EqualValues(t, 30, status.Rate)
	require.Equal(t, []v4l2.Rates{{Min: 30, Max: 30}, {Min: 15, Max: 15}}, status.Rates)
}

func TestAmbiguousCamera(t *testing.T) {
	_, system := plugWebcam()
	twin, _ := webcam()
	twin.Node.Path, twin.Node.Port = "/dev/video2", "1-3"
	system.Plug(twin)
	_, events := run(t, &v4l2.Camera{System: system, Device: "8A2F"})
	require.EqualError(t, next(t, events).Err,
		"camera 8A2F: /dev/video0 and /dev/video2 both match; name one by its path in /dev/v4l/by-path")
}

func TestCameraFields(t *testing.T) {
	frame := func(*v4l2.Frame) {}
	for _, test := range []struct {
		camera *v4l2.Camera
		want   string
	}{
		{&v4l2.Camera{Frame: frame}, "a camera needs a device: a path such as /dev/video0, or a serial number"},
		{&v4l2.Camera{Device: "/dev/video0"}, "camera /dev/video0: Frame is not set"},
		{&v4l2.Camera{Device: "a", Frame: frame, Retry: -1}, "camera a: invalid buffer count 0 or retry interval -1ns"},
		{&v4l2.Camera{Device: "a", Frame: frame, Width: 1 << 20}, "camera a: invalid size 1048576x0"},
		{&v4l2.Camera{Device: "a", Frame: frame, Rate: -1}, "camera a: invalid rate of -1 frames per second"},
	} {
		require.EqualError(t, test.camera.Run(t.Context()), test.want)
	}
}

// TestCameraAllocations checks that frames are passed without allocating.
func TestCameraAllocations(t *testing.T) {
	for _, format := range []v4l2.FourCC{v4l2.MJPG, v4l2.YUYV} {
		device, system := plugWebcam()
		frames := make(chan uint32)
		stop := capture(t, device, &v4l2.Camera{System: system, Device: "/dev/video0", FourCC: format,
			Frame: func(f *v4l2.Frame) { frames <- f.Sequence }})
		allocations := testing.AllocsPerRun(100, func() {
			device.Shoot()
			<-frames
		})
		stop()
		require.Zero(t, allocations, format)
	}
}
