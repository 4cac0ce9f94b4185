package pixel

import (
	"bytes"
	"encoding/binary"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Config, Decode and PNGEncoder return the same error for an invalid image.
func TestInvalidImages(t *testing.T) {
	for want, m := range map[string]Image{
		`unsupported image encoding "bayer_rggb8": want one of jpeg, png, mono8, mono16, 32FC1, rgb8`: {
			Encoding: "bayer_rggb8", Width: 1, Height: 1},
		"invalid image size 0×4":                               {Encoding: "rgb8", Height: 4},
		"invalid image size 4×-1":                              {Encoding: "rgb8", Width: 4, Height: -1},
		"invalid image size 1000000×4":                         {Encoding: "rgb8", Width: 1000000, Height: 4},
		"odd width 3 of a yuyv image":                          {Encoding: "yuyv", Width: 3, Height: 4},
		"row of 7 bytes, want at least 8 for 4 pixels of yuyv": {Encoding: "yuyv", Width: 4, Height: 4, Step: 7},
		"row of 1073741824 bytes":                              {Encoding: "yuyv", Width: 4, Height: 4, Step: 1 << 30},
		"20 bytes of data, want 38 for 4×4 pixels of yuyv": {Encoding: "yuyv", Width: 4, Height: 4, Step: 10,
			Data: make([]byte, 20)},
		"not a JPEG, or cut off before its first pixel": {Encoding: "jpeg", Data: []byte("GIF89a")},
		"unexpected EOF": {Encoding: "png", Data: []byte("GIF89a")},
		"invalid image size 65535×65535": {Encoding: "jpeg", Data: []byte("\xff\xd8" + // SOI, SOF0 and SOS
			"\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00" + "\xff\xda")},
		"invalid image size 65536×65536": {Encoding: "png", Data: []byte(pngMagic + "\x00\x00\x00\x0dIHDR" +
			"\x00\x01\x00\x00\x00\x01\x00\x00\x08\x02\x00\x00\x00" + "\xe3\xe6\xa7\xb4")},
	} {
		_, err := m.Config()
		require.ErrorContains(t, err, want)
		_, err = m.Decode()
		require.ErrorContains(t, err, want)
		if !m.Compressed() {
			_, err = new(PNGEncoder).Encode(&m)
			require.ErrorContains(t, err, want)
		}
	}
}

// Decode, PNGEncoder and Conversion convert distances in m (float32) to mm (uint16).
func TestMeters(t *testing.T) {
	meters := []float32{0, 0.0004, 0.0005, 1.2345, 65.535, 70, -1, float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1))}
	want := []uint16{0, 0, 1, 1235, 65535, 65535, 0, 0, 0, 0}
	m := Image{Encoding: "32FC1", Width: len(meters), Height: 1}
	for _, v := range meters {
		m.Data = binary.LittleEndian.AppendUint32(m.Data, math.Float32bits(v))
	}
	config, err := m.Config()
	require.NoError(t, err)
	require.True(t, config.Deep)
	file, err := new(PNGEncoder).Encode(&m)
	require.NoError(t, err)
	for _, encoded := range []Image{m, {Encoding: "png", Data: file}} {
		got, err := encoded.Decode()
		require.NoError(t, err)
		for x, mm := range want {
			require.Equal(t, color.Gray16{Y: mm}, got.At(x, 0), "%s: %v m", encoded.Encoding, meters[x])
		}
	}
	c, err := FindConversion("32FC1", "16UC1")
	require.NoError(t, err)
	size, err := c.Size(&m)
	require.NoError(t, err)
	out := make([]byte, size)
	c.Convert(out, &m)
	for x, mm := range want {
		require.Equal(t, mm, binary.LittleEndian.Uint16(out[2*x:]), "Conversion: %v m", meters[x])
	}
}

// CheckWhole accepts complete images, and returns an error for truncated and changed images.
func TestCheckWhole(t *testing.T) {
	f := scene(64, 48)
	picture, err := f.Decode()
	require.NoError(t, err)
	jpeg, err := AppendJPEG(nil, picture, 90)
	require.NoError(t, err)
	png, err := new(PNGEncoder).Encode(&f)
	require.NoError(t, err)
	changed := bytes.Clone(png)
	changed[len(png)/2]++
	for name, c := range map[string]struct {
		image Image
		want  string
	}{
		"jpeg":        {Image{Encoding: "jpeg", Data: jpeg}, ""},
		"padded jpeg": {Image{Encoding: "jpeg", Data: append(bytes.Clone(jpeg), 0, 0)}, ""},
		"truncated jpeg": {Image{Encoding: "jpeg", Data: jpeg[:len(jpeg)-9]},
			"the JPEG is cut off: its end is missing"},
		"empty jpeg":    {Image{Encoding: "jpeg"}, "not a JPEG"},
		"png":           {Image{Encoding: "png", Data: png}, ""},
		"truncated png": {Image{Encoding: "png", Data: png[:len(png)-9]}, "the PNG is cut off: its end is missing"},
		"changed png": {Image{Encoding: "png", Data: changed},
			`the checksum of its chunk "IDAT" at byte 33 is wrong`},
		"pixels":           {f, ""},
		"truncated pixels": {Image{Encoding: "rgb8", Width: 64, Height: 48, Data: f.Data[1:]}, "9215 bytes of data"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.image.CheckWhole(); c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}
