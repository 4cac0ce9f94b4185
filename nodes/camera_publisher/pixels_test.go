package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/v4l2"
)

// frameOf returns a frame of random pixels, with padding after each row but the last, and the rows without padding.
func frameOf(code v4l2.FourCC, width, height, bytes, padding int) (f *v4l2.Frame, rows [][]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	line := width*bytes + padding
	f = &v4l2.Frame{Format: v4l2.Format{FourCC: code, Width: width, Height: height, BytesPerLine: line}}
	if code == v4l2.NV12 {
		height += (height + 1) / 2
	}
	for range line*height - padding {
		f.Data = append(f.Data, byte(random.Uint32()))
	}
	for y := range height {
		rows = append(rows, f.Data[y*line:][:width*bytes])
	}
	return f, rows
}

func TestDepthScale(t *testing.T) {
	c, err := findConversion(v4l2.Z16, "", 0.125)
	require.NoError(t, err)
	f := &v4l2.Frame{Format: v4l2.Format{FourCC: v4l2.Z16, Width: 4, Height: 1},
		Data: []byte{0, 0, 8, 0, 0xff, 0xff, 3, 0}}
	dst := make([]byte, 8)
	c.convert(dst, f)
	require.Equal(t, []byte{0, 0, 1, 0, 0, 0x20, 0, 0}, dst)
	c, err = findConversion(v4l2.Z16, "", 10)
	require.NoError(t, err)
	c.convert(dst, f)
	require.Equal(t, []byte{0, 0, 80, 0, 0xff, 0xff, 30, 0}, dst, "what is farther than the numbers reach")
}

func TestConversionErrors(t *testing.T) {
	_, err := findConversion(v4l2.H264, "", 1)
	require.ErrorContains(t, err, "pixel format H264 cannot be published; choose one of YUYV, UYVY, NV12")
	_, err = findConversion(v4l2.YUYV, "mono16", 1)
	require.EqualError(t, err, "pixel format YUYV cannot be published as mono16, only as yuv422_yuy2, rgb8, bgr8, "+
		"mono8; choose another encoding or format")
	_, err = findConversion(v4l2.JPEG, "mono8", 1)
	require.EqualError(t, err, "pixel format JPEG cannot be published as mono8, only as rgb8, bgr8; choose another "+
		"encoding or format")
}

// TestFormats checks the default encoding of each pixel format.
func TestFormats(t *testing.T) {
	for code, want := range map[string]string{
		"YUYV": "yuv422_yuy2", "UYVY": "yuv422", "NV12": "rgb8", "RGB3": "rgb8", "BGR3": "bgr8", "GREY": "mono8",
		"Y16": "mono16",
		"Z16": "16UC1", "MJPG": "rgb8", "JPEG": "rgb8",
		"BA81": "bayer_bggr8", "GBRG": "bayer_gbrg8", "GRBG": "bayer_grbg8", "RGGB": "bayer_rggb8",
	} {
		from, err := v4l2.ParseFourCC(code)
		require.NoError(t, err)
		c, err := findConversion(from, "", 1)
		require.NoError(t, err, code)
		require.Equal(t, want, c.encoding, code)
	}
	for _, f := range formats {
		for _, encoding := range f.encodings {
			_, err := findConversion(f.code, encoding, 1)
			require.NoError(t, err)
		}
	}
}
