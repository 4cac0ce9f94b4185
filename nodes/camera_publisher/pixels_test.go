package main

import (
	"fmt"
	"image/color"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tapedeck/bridge/v4l2"
)

// frameOf returns a frame of random pixels with so many bytes of padding behind each row, the last one's cut off, and the rows without.
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

// rgb is the colour of ITU-R BT.601 in studio range, in floating point.
func rgb(y, u, v byte) [3]float64 {
	l, cb, cr := float64(y)-16, float64(u)-128, float64(v)-128
	l *= 255.0 / 219
	clip := func(x float64) float64 { return min(max(x, 0), 255) }
	const k = 255.0 / 224
	return [3]float64{clip(l + 1.402*k*cr), clip(l - 0.344136*k*cb - 0.714136*k*cr), clip(l + 1.772*k*cb)}
}

func TestConversions(t *testing.T) {
	const width, height = 6, 4
	type pixel = func(rows [][]byte, x, y int) []float64
	raw := func(bytes int) pixel {
		return func(rows [][]byte, x, y int) (list []float64) {
			for _, b := range rows[y][x*bytes:][:bytes] {
				list = append(list, float64(b))
			}
			return list
		}
	}
	yuv := func(at func(rows [][]byte, x, y int) (l, u, v byte), order ...int) pixel {
		return func(rows [][]byte, x, y int) (list []float64) {
			l, u, v := at(rows, x, y)
			for _, i := range order {
				list = append(list, rgb(l, u, v)[i])
			}
			if order == nil {
				return []float64{float64(l)}
			}
			return list
		}
	}
	yuyv := func(rows [][]byte, x, y int) (l, u, v byte) {
		pair := rows[y][x/2*4:]
		return pair[x%2*2], pair[1], pair[3]
	}
	uyvy := func(rows [][]byte, x, y int) (l, u, v byte) {
		pair := rows[y][x/2*4:]
		return pair[1+x%2*2], pair[0], pair[2]
	}
	nv12 := func(rows [][]byte, x, y int) (l, u, v byte) {
		return rows[y][x], rows[height+y/2][x/2*2], rows[height+y/2][x/2*2+1]
	}
	swapped := func(rows [][]byte, x, y int) []float64 {
		p := rows[y][3*x:]
		return []float64{float64(p[2]), float64(p[1]), float64(p[0])}
	}
	opaque := func(order ...int) pixel {
		return func(rows [][]byte, x, y int) (list []float64) {
			for _, i := range order {
				list = append(list, float64(rows[y][4*x+i]))
			}
			return list
		}
	}
	code := func(s string) v4l2.FourCC {
		c, err := v4l2.ParseFourCC(s)
		require.NoError(t, err)
		return c
	}
	for i, test := range []struct {
		from     v4l2.FourCC
		asked    string
		encoding string
		in, out  int
		want     pixel
		off      float64 // by how much a value may be off: of integer arithmetic
	}{
		{v4l2.YUYV, "", "yuv422_yuy2", 2, 2, raw(2), 0},
		{v4l2.YUYV, "rgb8", "rgb8", 2, 3, yuv(yuyv, 0, 1, 2), 1.5},
		{v4l2.YUYV, "bgr8", "bgr8", 2, 3, yuv(yuyv, 2, 1, 0), 1.5},
		{v4l2.YUYV, "mono8", "mono8", 2, 1, yuv(yuyv), 0},
		{v4l2.UYVY, "", "yuv422", 2, 2, raw(2), 0},
		{v4l2.UYVY, "rgb8", "rgb8", 2, 3, yuv(uyvy, 0, 1, 2), 1.5},
		{v4l2.UYVY, "bgr8", "bgr8", 2, 3, yuv(uyvy, 2, 1, 0), 1.5},
		{v4l2.UYVY, "mono8", "mono8", 2, 1, yuv(uyvy), 0},
		{v4l2.NV12, "", "rgb8", 1, 3, yuv(nv12, 0, 1, 2), 1.5},
		{v4l2.NV12, "bgr8", "bgr8", 1, 3, yuv(nv12, 2, 1, 0), 1.5},
		{v4l2.NV12, "mono8", "mono8", 1, 1, raw(1), 0},
		{v4l2.RGB3, "", "rgb8", 3, 3, raw(3), 0},
		{v4l2.RGB3, "bgr8", "bgr8", 3, 3, swapped, 0},
		{v4l2.BGR3, "", "bgr8", 3, 3, raw(3), 0},
		{v4l2.BGR3, "rgb8", "rgb8", 3, 3, swapped, 0},
		{v4l2.GREY, "", "mono8", 1, 1, raw(1), 0},
		{v4l2.Y16, "", "mono16", 2, 2, raw(2), 0},
		{v4l2.Y16, "16UC1", "16UC1", 2, 2, raw(2), 0},
		{v4l2.Z16, "", "16UC1", 2, 2, raw(2), 0},
		{v4l2.Z16, "mono16", "mono16", 2, 2, raw(2), 0},
		{v4l2.MJPG, "rgb8", "rgb8", 4, 3, opaque(0, 1, 2), 0},
		{v4l2.JPEG, "bgr8", "bgr8", 4, 3, opaque(2, 1, 0), 0},
		{code("BA81"), "", "bayer_bggr8", 1, 1, raw(1), 0},
		{code("GBRG"), "", "bayer_gbrg8", 1, 1, raw(1), 0},
		{code("GRBG"), "", "bayer_grbg8", 1, 1, raw(1), 0},
		{code("RGGB"), "", "bayer_rggb8", 1, 1, raw(1), 0},
	} {
		for _, padding := range []int{0, 1, 10} {
			t.Run(fmt.Sprintf("%d %v to %s padded by %d", i, test.from, test.encoding, padding), func(t *testing.T) {
				c, err := findConversion(test.from, test.asked, 1)
				require.NoError(t, err)
				require.Equal(t, test.encoding, c.encoding)
				require.Equal(t, test.out, c.out, "bytes of a pixel, of which the step is made")
				f, rows := frameOf(test.from, width, height, test.in, padding)
				size, err := c.size(f)
				require.NoError(t, err)
				require.Equal(t, width*height*test.out, size)
				dst := make([]byte, size)
				c.convert(dst, f)
				for y := range height {
					for x := range width {
						for k, want := range test.want(rows, x, y) {
							require.InDelta(t, want, float64(dst[(y*width+x)*test.out+k]), test.off, "x %d y %d byte %d", x, y, k)
						}
					}
				}
				f.Data = f.Data[:len(f.Data)-1]
				_, err = c.size(f)
				require.ErrorContains(t, err, "pixels", "a byte is missing")
			})
		}
	}
}

// TestRowsOfUnevenHeight has colours for the last row of an odd number.
func TestRowsOfUnevenHeight(t *testing.T) {
	f, rows := frameOf(v4l2.NV12, 4, 3, 1, 2)
	c, err := findConversion(v4l2.NV12, "rgb8", 1)
	require.NoError(t, err)
	size, err := c.size(f)
	require.NoError(t, err)
	require.Equal(t, 4*3*3, size)
	dst := make([]byte, size)
	c.convert(dst, f)
	require.InDelta(t, rgb(rows[2][3], rows[4][2], rows[4][3])[0], float64(dst[len(dst)-3]), 1.5)
}

// TestColours compares with what everybody knows: grey is grey, and colours have their names.
func TestColours(t *testing.T) {
	for name, test := range map[string]struct {
		yuv  [3]byte
		want color.RGBA
	}{
		"black":      {[3]byte{16, 128, 128}, color.RGBA{0, 0, 0, 0}},
		"white":      {[3]byte{235, 128, 128}, color.RGBA{255, 255, 255, 0}},
		"red":        {[3]byte{81, 90, 240}, color.RGBA{255, 0, 0, 0}},
		"green":      {[3]byte{145, 54, 34}, color.RGBA{0, 255, 1, 0}},
		"blue":       {[3]byte{41, 240, 110}, color.RGBA{0, 0, 255, 0}},
		"below":      {[3]byte{0, 128, 128}, color.RGBA{0, 0, 0, 0}},
		"above them": {[3]byte{255, 128, 128}, color.RGBA{255, 255, 255, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			dst := make([]byte, 6)
			yuvRow(dst, []byte{test.yuv[0], test.yuv[1], test.yuv[0], test.yuv[2]}, 0, 1, 3, 0)
			require.Equal(t, []byte{test.want.R, test.want.G, test.want.B, test.want.R, test.want.G, test.want.B}, dst)
		})
	}
}

func TestDepthScale(t *testing.T) {
	c, err := findConversion(v4l2.Z16, "", 0.125)
	require.NoError(t, err)
	f := &v4l2.Frame{Format: v4l2.Format{FourCC: v4l2.Z16, Width: 4, Height: 1}, Data: []byte{0, 0, 8, 0, 0xff, 0xff, 3, 0}}
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
	require.ErrorContains(t, err, "pictures of format H264 cannot be published, but those of YUYV, UYVY, NV12")
	_, err = findConversion(v4l2.YUYV, "mono16", 1)
	require.EqualError(t, err, "pictures of format YUYV cannot be published as mono16, but as yuv422_yuy2, rgb8, bgr8, mono8; choose another encoding or format")
	_, err = findConversion(v4l2.JPEG, "mono8", 1)
	require.EqualError(t, err, "pictures of format JPEG cannot be published as mono8, but as rgb8, bgr8; choose another encoding or format")
	c, err := findConversion(v4l2.YUYV, "", 1)
	require.NoError(t, err)
	for want, format := range map[string]v4l2.Format{
		"0×4 pixels are no picture":                          {Height: 4},
		"4×-1 pixels are no picture":                         {Width: 4, Height: -1},
		"1000000×4 pixels are no picture":                    {Width: 1000000, Height: 4},
		"3 pixels YUYV cannot be a row, they come in pairs":  {Width: 3, Height: 4},
		"rows of 4 pixels YUYV have 8 bytes, not 7":          {Width: 4, Height: 4, BytesPerLine: 7},
		"rows of 4 pixels YUYV have 8 bytes, not 1073741824": {Width: 4, Height: 4, BytesPerLine: 1 << 30},
		"a picture of 4×4 pixels YUYV has 38 bytes, not 20":  {Width: 4, Height: 4, BytesPerLine: 10},
	} {
		_, err := c.size(&v4l2.Frame{Format: format, Data: make([]byte, 20)})
		require.EqualError(t, err, want)
	}
}

func TestConversionsDoNotAllocate(t *testing.T) {
	for i := range conversions {
		c := &conversions[i]
		f, _ := frameOf(c.from, 8, 4, c.in, 0)
		size, err := c.size(f)
		require.NoError(t, err)
		dst := make([]byte, size)
		require.Zero(t, testing.AllocsPerRun(5, func() { c.convert(dst, f) }), c.encoding)
	}
}

func BenchmarkYUYVToRGB(b *testing.B) {
	c, _ := findConversion(v4l2.YUYV, "rgb8", 1)
	f, _ := frameOf(v4l2.YUYV, 640, 480, 2, 0)
	dst := make([]byte, 640*480*3)
	b.SetBytes(640 * 480 * 3)
	for b.Loop() {
		c.convert(dst, f)
	}
}
