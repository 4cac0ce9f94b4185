package v4l2_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
)

// realDevice returns the path of a camera to try.
func realDevice(t *testing.T) string {
	path := os.Getenv("V4L2_DEVICE")
	if path == "" {
		t.Skip("V4L2_DEVICE does not name a camera to try, such as /dev/video0; without one, modprobe vivid makes " +
			"one up")
	}
	return path
}

// TestDevice captures from a real device in each of its pixel formats.
func TestDevice(t *testing.T) {
	path := realDevice(t)
	c, err := v4l2.Open(nil, path)
	require.NoError(t, err)
	defer c.Close()
	t.Log(c.Card())
	nodes, err := v4l2.Kernel{}.Nodes()
	require.NoError(t, err)
	t.Logf("%+v", nodes)
	require.NotEmpty(t, nodes)
	formats, err := c.Formats()
	require.NoError(t, err)
	require.NotEmpty(t, formats)
	controls, err := c.Controls()
	require.NoError(t, err)
	for _, control := range controls {
		t.Logf("%+v", control)
	}
	unknown, err := v4l2.ParseFourCC("QQQQ")
	require.NoError(t, err)
	_, err = c.SetFormat(unknown, 0, 0)
	require.ErrorContains(t, err, "does not offer QQQQ")
	t.Log(err)

	for _, f := range formats {
		t.Run(f.FourCC.String(), func(t *testing.T) {
			sizes, err := c.Sizes(f.FourCC)
			require.NoError(t, err)
			var width, height int
			if len(sizes) > 0 {
				width, height = sizes[0].MinWidth, sizes[0].MinHeight
			}
			format, err := c.SetFormat(f.FourCC, width, height)
			if err != nil {
				t.Skip(err)
			}
			rates, err := c.Rates(f.FourCC, format.Width, format.Height)
			require.NoError(t, err)
			if len(rates) > 0 {
				rate, err := c.SetRate(30)
				require.NoError(t, err)
				require.Positive(t, rate)
			}
			t.Log(f.Description, format, format.BytesPerLine, format.Size, sizes, rates)
			var count v4l2.Counter
			capture, err := c.Start(4, &count)
			require.NoError(t, err)
			defer capture.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			frames := 0
			began := time.Now().UnixNano()
			var last v4l2.Frame
			require.ErrorIs(t, capture.Run(ctx, patience, func(frame *v4l2.Frame) {
				require.Equal(t, format, frame.Format)
				require.NotEmpty(t, frame.Data)
				if !f.FourCC.Compressed() && format.Size > 0 {
					require.Len(t, frame.Data, format.Size)
				}
				require.Greater(t, frame.Stamp, began-int64(time.Second))
				require.LessOrEqual(t, frame.Stamp, frame.Received)
				require.LessOrEqual(t, frame.Received, time.Now().UnixNano())
				if frames > 0 {
					require.GreaterOrEqual(t, frame.Sequence, last.Sequence) // vivid may count its first two as one
					require.Greater(t, frame.Stamp, last.Stamp)
				}
				last = *frame
				frames++
				if frames == 5 {
					cancel()
				}
			}), context.Canceled)
			require.NoError(t, capture.Close())
			t.Logf("stamped by %v; %+v", last.Clock, count.Take(time.Now()))
		})
	}
}

// TestVivid makes the kernel's virtual camera fail as real ones do.
func TestVivid(t *testing.T) {
	path := realDevice(t)
	c, err := v4l2.Open(nil, path)
	require.NoError(t, err)
	defer c.Close()
	if c.Card() != "vivid" {
		t.Skip("V4L2_DEVICE is not a device of vivid")
	}
	push := func(setting v4l2.Setting) {
		t.Helper()
		other, err := v4l2.Open(nil, path)
		require.NoError(t, err)
		require.NoError(t, other.Set([]v4l2.Setting{setting}))
		require.NoError(t, other.Close())
	}
	for _, setting := range []string{"integer_32_bits=-2147483648", "integer_64_bits=-9000000000000000000",
		"bitmask=0x80002000", "menu=menu item 3",
		"integer_menu=13", "boolean=false", "button=1"} {
		s, err := v4l2.ParseSetting(setting)
		require.NoError(t, err)
		push(s)
	}
	node := func(name string) v4l2.Camera {
		return v4l2.Camera{Device: name, FourCC: v4l2.YUYV, Width: 640, Height: 360, Rate: 30}
	}

	camera := node(path)
	camera.Controls = []v4l2.Setting{{Control: "timestamp_source", Value: "Start of Exposure"},
		{Control: "brightness", Value: "100"}}
	frames, events := run(t, &camera)
	require.NoError(t, next(t, events).Err)
	require.Equal(t, v4l2.StartOfExposure, next(t, frames).Clock)

	busy := node(path)
	_, others := run(t, &busy)
	require.ErrorIs(t, next(t, others).Err, unix.EBUSY)

	push(v4l2.Setting{Control: "percentage_of_dropped_buffers", Value: "50"})
	require.Eventually(t, func() bool { return camera.Stats().Dropped > 3 }, patience, 10*time.Millisecond)
	push(v4l2.Setting{Control: "percentage_of_dropped_buffers", Value: "0"})

	push(v4l2.Setting{Control: "inject_fatal_streaming_error", Value: "1"})
	lost := next(t, events)
	require.ErrorIs(t, lost.Err, unix.EIO)
	t.Log(lost.Err)
	// Either of them may get the device.
	for camera.Status().Err != nil && busy.Status().Err != nil {
		time.Sleep(time.Millisecond)
	}
	_ = c.Close()
	push(v4l2.Setting{Control: "disconnect", Value: "1"})
	gone := errors.New("nothing")
	for !errors.Is(gone, unix.ENODEV) {
		select {
		case status := <-events:
			gone = status.Err
		case status := <-others:
			gone = status.Err
		case <-time.After(patience):
			require.FailNow(t, "the disconnected device was not noticed")
		}
	}
	t.Log(gone)
	// vivid returns when it is closed everywhere.
	require.Eventually(t, func() bool { return camera.Status().Streaming || busy.Status().Streaming }, patience,
		time.Millisecond)
}
