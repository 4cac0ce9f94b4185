package v4l2_test

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/internal/kernel"
	"tapedeck/bridge/device/v4l2/v4l2test"
)

// answers maps ioctl requests to functions that replace the driver's usual answers.
type answers map[uint32]func(argument unsafe.Pointer, usual func() error) error

// errno answers with an error.
func errno(err unix.Errno) func(unsafe.Pointer, func() error) error {
	return func(unsafe.Pointer, func() error) error { return err }
}

// modify returns an answer: the usual one, modified by change.
func modify[T any](change func(*T)) func(unsafe.Pointer, func() error) error {
	return func(argument unsafe.Pointer, usual func() error) error {
		err := usual()
		change((*T)(argument))
		return err
	}
}

// openWith opens a camera whose driver gives the answers in own.
func openWith(camera *v4l2test.Camera, own answers) (*v4l2.CaptureDevice, error) {
	camera.Node.Path = "/dev/video0"
	camera.Driver = func(request uint32, argument unsafe.Pointer, usual func() error) error {
		if answer := own[request]; answer != nil {
			return answer(argument, usual)
		}
		return usual()
	}
	var system v4l2test.System
	system.Plug(camera)
	return v4l2.Open(&system, "/dev/video0")
}

// failingSystem is a system that cannot open a device.
type failingSystem struct {
	v4l2test.System
	err error
}

func (s *failingSystem) Open(string) (v4l2.Device, error) { return nil, s.err }

func TestOpenErrors(t *testing.T) {
	for err, want := range map[unix.Errno]string{
		unix.ENOENT: "no such file or directory; it is not plugged in or has another name; " +
			"ls -l /dev/v4l/by-id lists cameras",
		unix.EACCES: "permission denied; cameras need membership of a group, usually video: " +
			"usermod -aG video USER, then log in again",
		unix.EBUSY: "device or resource busy; another program uses the camera; fuser -v /dev/video0 shows which",
	} {
		_, opened := v4l2.Open(&failingSystem{err: err}, "/dev/video0")
		require.EqualError(t, opened, "/dev/video0: open: "+want)
		require.ErrorIs(t, opened, err)
	}
	withCapabilities := func(capabilities uint32) func(unsafe.Pointer, func() error) error {
		return modify(func(c *kernel.Capability) { c.Capabilities, c.DeviceCaps = capabilities|1<<31, capabilities })
	}
	for want, own := range map[string]answers{
		" is not a video device: inappropriate ioctl for device": {kernel.VIDIOC_QUERYCAP: errno(unix.ENOTTY)},
		": query capabilities: no such device; it was unplugged or its driver failed": {
			kernel.VIDIOC_QUERYCAP: errno(unix.ENODEV),
		},
		" does not capture video: not a capture device; its capabilities are 0x04000002": {
			kernel.VIDIOC_QUERYCAP: withCapabilities(0x04000002),
		},
		" cannot stream: not a capture device; its capabilities are " +
			"0x01000001": {kernel.VIDIOC_QUERYCAP: withCapabilities(0x01000001)},
	} {
		_, err := openWith(&v4l2test.Camera{}, own)
		require.EqualError(t, err, "/dev/video0"+want)
	}
}

func TestDriverErrors(t *testing.T) {
	row := func(bytes uint32) func(unsafe.Pointer, func() error) error {
		return modify(func(f *kernel.Format) { f.Pix.BytesPerLine = bytes })
	}
	buffers := func(count uint32) func(unsafe.Pointer, func() error) error {
		return modify(func(r *kernel.RequestBuffers) {
			if r.Count > 0 {
				r.Count = count
			}
		})
	}
	const busy = "device or resource busy; another program uses the camera; fuser -v /dev/video0 shows which"
	for want, own := range map[string]answers{
		"set the format GREY 8x4: " + busy: {kernel.VIDIOC_S_FMT: errno(unix.EBUSY)},
		"the driver reports an invalid format: GREY 8x4 with 7 bytes per row": {
			kernel.VIDIOC_S_FMT: row(7),
		},
		"the driver reports an invalid format: GREY 8x4 with 600000 bytes per row": {
			kernel.VIDIOC_S_FMT: row(600000),
		},
		"get the format: input/output error":           {kernel.VIDIOC_G_FMT: errno(unix.EIO)},
		"set the rate 30: input/output error":          {kernel.VIDIOC_S_PARM: errno(unix.EIO)},
		"list pixel formats: input/output error":       {kernel.VIDIOC_ENUM_FMT: errno(unix.EIO)},
		"list controls: input/output error":            {kernel.VIDIOC_QUERY_EXT_CTRL: errno(unix.EIO)},
		"list the menu mode: input/output error":       {kernel.VIDIOC_QUERYMENU: errno(unix.EIO)},
		"request 2 buffers: " + busy:                   {kernel.VIDIOC_REQBUFS: errno(unix.EBUSY)},
		"the driver allocated 1 of 2 buffers":          {kernel.VIDIOC_REQBUFS: buffers(1)},
		"the driver allocated 4000000000 of 2 buffers": {kernel.VIDIOC_REQBUFS: buffers(4000000000)},
		"buffer 0 of the driver has 31 bytes, but an image in GREY 8x4 has 32": {
			kernel.VIDIOC_QUERYBUF: modify(func(b *kernel.Buffer) { b.Length = 31 }),
		},
		"the driver filled unknown buffer 2": {kernel.VIDIOC_DQBUF: modify(func(b *kernel.Buffer) { b.Index = 2 })},
		"start the stream of GREY 8x4: no space left on device; the USB bus has no bandwidth left: " +
			"use a smaller size, a lower rate, MJPG, or another USB port": {kernel.VIDIOC_STREAMON: errno(unix.ENOSPC)},
	} {
		t.Run(want, func(t *testing.T) {
			c, err := openWith(&v4l2test.Camera{
				Formats: []v4l2test.Format{{FourCC: v4l2.GREY, Width: 8, Height: 4, Rates: []float64{1000}}},
				Controls: []v4l2.Control{{ID: 1, Label: "Mode", Name: "mode", Type: v4l2.MenuControl, Max: 1,
					Menu: []v4l2.MenuItem{{Index: 1, Text: "One"}}}},
			}, own)
			require.NoError(t, err)
			_, err = c.Formats()
			if err == nil {
				_, err = c.Controls()
			}
			if err == nil {
				_, err = c.Start(2, new(v4l2.Counter))
				require.EqualError(t, err, "/dev/video0: set a format before capturing, and start only one capture")
				_, err = c.SetFormat(v4l2.GREY, 8, 4)
			}
			if err == nil {
				_, err = c.SetRate(30)
			}
			var capture *v4l2.Capture
			if err == nil {
				capture, err = c.Start(2, new(v4l2.Counter))
			}
			if err == nil {
				err = capture.Run(t.Context(), patience, func(*v4l2.Frame) {})
			}
			require.EqualError(t, err, "/dev/video0: "+want)
			require.NoError(t, c.Close())
		})
	}
}

func TestSetRate(t *testing.T) {
	for _, test := range []struct {
		rate          float64
		asked, answer kernel.Fract // seconds per frame
		want          float64
	}{
		{25, kernel.Fract{Numerator: 1, Denominator: 25}, kernel.Fract{Numerator: 1, Denominator: 20}, 20},
		{59.94, kernel.Fract{Numerator: 1001, Denominator: 60000}, kernel.Fract{Numerator: 1001, Denominator: 60000},
			60000.0 / 1001},
		{0.2, kernel.Fract{Numerator: 5, Denominator: 1}, kernel.Fract{Numerator: 5, Denominator: 1}, 0.2},
		{7.5, kernel.Fract{Numerator: 1000, Denominator: 7500}, kernel.Fract{Numerator: 1000, Denominator: 7500}, 7.5},
		{30, kernel.Fract{Numerator: 1, Denominator: 30}, kernel.Fract{Denominator: 30}, 0},
	} {
		c, err := openWith(&v4l2test.Camera{Formats: []v4l2test.Format{{FourCC: v4l2.GREY, Width: 8, Height: 4}}},
			answers{
				kernel.VIDIOC_S_PARM: func(argument unsafe.Pointer, _ func() error) error {
					p := (*kernel.StreamParm)(argument)
					require.Equal(t, test.asked, p.TimePerFrame)
					p.Capability, p.TimePerFrame = kernel.V4L2_CAP_TIMEPERFRAME, test.answer
					return nil
				},
			})
		require.NoError(t, err)
		rate, err := c.SetRate(test.rate)
		require.NoError(t, err)
		require.InDelta(t, test.want, rate, 1e-9)
	}
	c, err := openWith(&v4l2test.Camera{Formats: []v4l2test.Format{{FourCC: v4l2.GREY, Width: 8, Height: 4}}}, answers{
		kernel.VIDIOC_S_PARM: errno(unix.ENOTTY), kernel.VIDIOC_G_PARM: errno(unix.EINVAL),
	})
	require.NoError(t, err)
	for _, unknown := range []float64{30, 0} {
		rate, err := c.SetRate(unknown)
		require.NoError(t, err)
		require.Zero(t, rate)
	}
	_, err = c.SetRate(-3)
	require.EqualError(t, err, "/dev/video0: invalid rate of -3 frames per second; want a number such as 30")
}

// TestPlanes captures through the multi-planar interface, as used by systems on chip.
func TestPlanes(t *testing.T) {
	const size = 64 * 16 * 3 / 2
	plane := func(b *kernel.Buffer) *kernel.Plane { return *(**kernel.Plane)(unsafe.Pointer(&b.M)) }
	format := func(argument unsafe.Pointer, _ func() error) error {
		f := (*kernel.Format)(argument).PixMP()
		f.Width, f.Height, f.NumPlanes = 32, 16, 1
		if f.PixelFormat == 0 {
			f.PixelFormat = uint32(v4l2.NV12)
		}
		if v4l2.FourCC(f.PixelFormat) != v4l2.NV12 {
			f.NumPlanes = 2
		}
		f.PlaneFmt[0] = kernel.PlanePixFormat{BytesPerLine: 64, SizeImage: size}
		return nil
	}
	dequeued := 0
	layout := v4l2test.Format{FourCC: v4l2.NV12, Width: 32, Height: 16, Padding: 32, Rates: []float64{1000}}
	c, err := openWith(&v4l2test.Camera{Formats: []v4l2test.Format{layout}}, answers{
		kernel.VIDIOC_QUERYCAP: modify(func(c *kernel.Capability) {
			c.DeviceCaps = kernel.V4L2_CAP_VIDEO_CAPTURE_MPLANE | kernel.V4L2_CAP_STREAMING
		}),
		kernel.VIDIOC_G_FMT: format, kernel.VIDIOC_S_FMT: format,
		kernel.VIDIOC_QUERYBUF: func(argument unsafe.Pointer, _ func() error) error {
			b := (*kernel.Buffer)(argument)
			plane(b).Length, plane(b).M = size, uintptr(b.Index)<<12
			return nil
		},
		kernel.VIDIOC_DQBUF: func(argument unsafe.Pointer, usual func() error) error {
			if dequeued == 2 {
				return unix.EBADF
			}
			err := usual()
			b := (*kernel.Buffer)(argument)
			// A header in the second plane leaves no room for its image.
			plane(b).BytesUsed, plane(b).DataOffset = size, uint32(64*dequeued)
			b.BytesUsed, b.Length, b.Flags = 0, 1, kernel.V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC
			dequeued++
			return err
		},
	})
	require.NoError(t, err)
	separate, err := v4l2.ParseFourCC("NM12")
	require.NoError(t, err)
	_, err = c.SetFormat(separate, 32, 16)
	require.EqualError(t, err,
		"/dev/video0: frames of NM12 32x16 are in 2 separate planes, but only one can be captured; "+
			"ask for a format such as NV12, not NM12")
	got, err := c.SetFormat(v4l2.NV12, 32, 16)
	require.NoError(t, err)
	require.Equal(t, v4l2.Format{FourCC: v4l2.NV12, Width: 32, Height: 16, BytesPerLine: 64, Size: size}, got)
	var count v4l2.Counter
	capture, err := c.Start(2, &count)
	require.NoError(t, err)
	frames := 0
	require.ErrorIs(t, capture.Run(t.Context(), time.Second, func(f *v4l2.Frame) {
		frames++
		require.Len(t, f.Data, size)
		require.Equal(t, v4l2.EndOfFrame, f.Clock)
	}), unix.EBADF)
	require.Equal(t, 1, frames)
	require.EqualValues(t, 1, count.Take(time.Now()).Damaged)
	require.NoError(t, c.Close())
}

// TestDriverWithoutLists uses a driver without device_caps, which does not list its sizes.
func TestDriverWithoutLists(t *testing.T) {
	c, err := openWith(&v4l2test.Camera{Formats: []v4l2test.Format{{FourCC: v4l2.YU12, Width: 4, Height: 2}}}, answers{
		kernel.VIDIOC_QUERYCAP: modify(func(c *kernel.Capability) {
			c.Capabilities, c.DeviceCaps = kernel.V4L2_CAP_VIDEO_CAPTURE|kernel.V4L2_CAP_STREAMING, 0
		}),
		kernel.VIDIOC_S_FMT: errno(unix.EINVAL), kernel.VIDIOC_ENUM_FRAMESIZES: errno(unix.ENOTTY),
	})
	require.NoError(t, err)
	_, err = c.SetFormat(0, 600, 0)
	require.EqualError(t, err, "/dev/video0: the camera does not offer YU12 600x2")
}
