package v4l2_test

import (
	"bytes"
	"context"
	"image"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/v4l2test"
)

// BenchmarkCamera captures frames as fast as they are taken.
func BenchmarkCamera(b *testing.B) {
	for _, format := range []v4l2test.Format{
		{FourCC: v4l2.MJPG, Width: 1280, Height: 720},
		{FourCC: v4l2.YUYV, Width: 640, Height: 480},
	} {
		b.Run(format.FourCC.String(), func(b *testing.B) {
			device := &v4l2test.Camera{Node: v4l2.Node{Path: "/dev/video0"}, Formats: []v4l2test.Format{format},
				Manual: true}
			var system v4l2test.System
			system.Plug(device)
			c, err := v4l2.Open(&system, "/dev/video0")
			require.NoError(b, err)
			_, err = c.SetFormat(0, 0, 0)
			require.NoError(b, err)
			capture, err := c.Start(4, new(v4l2.Counter))
			require.NoError(b, err)
			ctx, cancel := context.WithCancel(context.Background())
			device.Shoot()
			b.ReportAllocs()
			n := 0
			require.ErrorIs(b, capture.Run(ctx, 0, func(*v4l2.Frame) {
				n++
				if n > b.N {
					cancel()
				}
				device.Shoot()
			}), context.Canceled)
			require.NoError(b, c.Close())
		})
	}
}

func BenchmarkTrimJPEG(b *testing.B) {
	picture := image.NewRGBA(image.Rect(0, 0, 1280, 720))
	for i := range picture.Pix {
		picture.Pix[i] = uint8(i * i >> 7)
	}
	var encoded bytes.Buffer
	require.NoError(b, jpeg.Encode(&encoded, picture, nil))
	b.SetBytes(int64(encoded.Len()))
	for b.Loop() {
		v4l2.TrimJPEG(encoded.Bytes())
	}
}
