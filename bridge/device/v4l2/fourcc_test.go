package v4l2_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/device/v4l2"
)

func TestFourCC(t *testing.T) {
	for text, want := range map[string]v4l2.FourCC{
		"MJPG": 0x47504a4d, "YUYV": 0x56595559, "Z16": 0x2036315a, "Y16": v4l2.Y16, "RGB3": v4l2.RGB3,
		"BGR3": v4l2.BGR3,
		"GREY": v4l2.GREY, "UYVY": v4l2.UYVY, "NV12": v4l2.NV12, "YU12": v4l2.YU12, "Y16-BE": 0xa0363159,
		"Y16 -BE": 0xa0363159, "JPEG": v4l2.JPEG, "H264": v4l2.H264, "HEVC": v4l2.HEVC,
	} {
		f, err := v4l2.ParseFourCC(text)
		require.NoError(t, err)
		require.Equal(t, want, f, text)
		again, err := v4l2.ParseFourCC(f.String())
		require.NoError(t, err)
		require.Equal(t, f, again)
	}
	require.Equal(t, "Z16", v4l2.Z16.String())
	padded, err := v4l2.ParseFourCC("Z16 ")
	require.NoError(t, err)
	require.Equal(t, v4l2.Z16, padded)
	require.Equal(t, "0x00000001", v4l2.FourCC(1).String())
	require.Equal(t, "0x80000001", v4l2.FourCC(0x80000001).String())
	require.Equal(t, "0x00000041", v4l2.FourCC('A').String())
	for text, want := range map[string]string{
		"":      `pixel format "": want up to four characters, such as MJPG, YUYV or Z16`,
		"mjpeg": `pixel format "mjpeg": want up to four characters, such as MJPG, YUYV or Z16`,
		"\x00":  `pixel format "\x00": want printable characters, such as MJPG, YUYV or Z16`,
	} {
		_, err := v4l2.ParseFourCC(text)
		require.EqualError(t, err, want)
	}
	require.True(t, v4l2.MJPG.Compressed())
	require.False(t, v4l2.YUYV.Compressed())
}
