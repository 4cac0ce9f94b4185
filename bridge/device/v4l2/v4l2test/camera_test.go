package v4l2test_test

import (
	"bytes"
	"image/jpeg"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"tapedeck/bridge/device/v4l2"
	"tapedeck/bridge/device/v4l2/v4l2test"
)

func TestPictures(t *testing.T) {
	for _, f := range []v4l2.FourCC{v4l2.MJPG, v4l2.JPEG, v4l2.YUYV, v4l2.RGB3, v4l2.GREY, v4l2.Z16, v4l2.NV12} {
		t.Run(f.String(), func(t *testing.T) {
			camera := &v4l2test.Camera{
				Node:    v4l2.Node{Path: "/dev/video0"},
				Formats: []v4l2test.Format{{FourCC: f, Width: 64, Height: 48, Padding: 2}},
				Manual:  true,
			}
			var system v4l2test.System
			system.Plug(camera)
			c, err := v4l2.Open(&system, "/dev/video0")
			require.NoError(t, err)
			format, err := c.SetFormat(0, 0, 0)
			require.NoError(t, err)
			require.Equal(t, f, format.FourCC)
			capture, err := c.Start(4, new(v4l2.Counter))
			require.NoError(t, err)
			camera.Shoot()
			camera.Skip(255)
			camera.Shoot()
			var sequences []uint32
			for range 2 {
				require.ErrorIs(t, capture.Run(t.Context(), 0, func(frame *v4l2.Frame) {
					sequences = append(sequences, v4l2test.Sequence(f, frame.Data))
					if f.Compressed() {
						picture, err := jpeg.Decode(bytes.NewReader(frame.Data))
						require.NoError(t, err)
						require.Equal(t, 64, picture.Bounds().Dx())
					} else {
						require.Len(t, frame.Data, format.Size)
					}
					camera.Fail(unix.EBADF)
				}), unix.EBADF)
			}
			require.Equal(t, []uint32{0, 256}, sequences)
			require.NoError(t, c.Close())
			require.Zero(t, v4l2test.Sequence(f, nil))
		})
	}
}
