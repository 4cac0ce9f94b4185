package report

import (
	"encoding/binary"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/codec/encoding/pixel"
)

// Pictures of all encodings are shown in colours, depth images in false colours.
func TestVisible(t *testing.T) {
	const width, height = 4, 2
	// pixels returns the bytes of so many cells.
	cells := func(n int, cell ...byte) (all []byte) {
		for range n {
			all = append(all, cell...)
		}
		return all
	}
	rows := func(above, below []byte) []byte { return append(cells(2, above...), cells(2, below...)...) }
	metres := func(list ...float32) (all []byte) {
		for _, v := range list {
			all = binary.LittleEndian.AppendUint32(all, math.Float32bits(v))
		}
		return all
	}
	const r, g, b = 200, 100, 50
	red := color.RGBA{r, g, b, 255}
	near, far, black := color.RGBA{253, 231, 37, 255}, color.RGBA{68, 1, 137, 255}, color.RGBA{0, 0, 0, 255}
	for _, test := range []struct {
		encoding    string
		data        []byte
		first, last color.RGBA
	}{
		{"rgb8", cells(8, r, g, b), red, red},
		{"bgra8", cells(8, b, g, r, 0), red, red},
		{"mono8", cells(8, g), color.RGBA{g, g, g, 255}, color.RGBA{g, g, g, 255}},
		{"bayer_rggb8", rows([]byte{r, g}, []byte{g, b}), red, red},
		{"bayer_bggr8", rows([]byte{b, g}, []byte{g, r}), red, red},
		{"bayer_gbrg8", rows([]byte{g, b}, []byte{r, g}), red, red},
		{"bayer_grbg8", rows([]byte{g, r}, []byte{b, g}), red, red},
		{"yuyv", cells(4, 81, 90, 81, 240), color.RGBA{254, 0, 0, 255}, color.RGBA{254, 0, 0, 255}},
		{"uyvy", cells(4, 90, 81, 240, 81), color.RGBA{254, 0, 0, 255}, color.RGBA{254, 0, 0, 255}},
		{"nv12", append(cells(8, 81), 90, 240, 90, 240), color.RGBA{254, 0, 0, 255}, color.RGBA{254, 0, 0, 255}},
		{"16UC1", append([]byte{232, 3, 0, 0}, cells(6, 16, 39)...), near, far},
		{"32FC1", metres(1, 0, 10, 10, 10, 10, 10, 10), near, far},
	} {
		f := pixel.Image{Encoding: test.encoding, Data: test.data, Width: width, Height: height}
		m, err := visible(f)
		require.NoError(t, err, test.encoding)
		size := m.Bounds().Size()
		at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(m.At(x, y)).(color.RGBA) }
		for i, want := range []color.RGBA{test.first, test.last} {
			got := at(i*(size.X-1), i*(size.Y-1))
			for j, pair := range [][2]uint8{{want.R, got.R}, {want.G, got.G}, {want.B, got.B}, {want.A, got.A}} {
				require.InDelta(t, pair[0], pair[1], 2, "%s %d %d", test.encoding, i, j)
			}
		}
		if test.last == far {
			require.Equal(t, black, at(1, 0), test.encoding)
		}
		var c Camera
		_, err = c.thumb(&f)
		require.NoError(t, err, test.encoding)
		require.Equal(t, Camera{Width: width, Height: height, Kind: test.encoding}, c)
		f.Data = f.Data[:1]
		_, err = visible(f)
		require.Error(t, err, test.encoding)
	}
	_, err := visible(pixel.Image{Encoding: "h264", Data: []byte{1}, Width: width, Height: height})
	require.ErrorContains(t, err, "h264")
}
