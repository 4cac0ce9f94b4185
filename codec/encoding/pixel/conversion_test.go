package pixel

import (
	"fmt"
	"image/color"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// frameOf returns an image of random pixels with padding bytes after each row but the last, and its rows without
// padding.
func frameOf(encoding string, width, height, bytes, padding int) (f *Image, rows [][]byte) {
	random := rand.New(rand.NewPCG(1, 2))
	line := width*bytes + padding
	f = &Image{Encoding: encoding, Width: width, Height: height, Step: line}
	if encoding == "nv12" {
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

// rgb converts a colour by ITU-R BT.601 in studio range, in floating point.
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
	for i, test := range []struct {
		from, to string
		in, out  int
		want     pixel
		off      float64 // largest error of integer arithmetic
	}{
		{"yuv422_yuy2", "yuv422_yuy2", 2, 2, raw(2), 0},
		{"yuv422_yuy2", "rgb8", 2, 3, yuv(yuyv, 0, 1, 2), 1.5},
		{"yuv422_yuy2", "bgr8", 2, 3, yuv(yuyv, 2, 1, 0), 1.5},
		{"yuv422_yuy2", "mono8", 2, 1, yuv(yuyv), 0},
		{"yuv422", "yuv422", 2, 2, raw(2), 0},
		{"yuv422", "rgb8", 2, 3, yuv(uyvy, 0, 1, 2), 1.5},
		{"yuv422", "bgr8", 2, 3, yuv(uyvy, 2, 1, 0), 1.5},
		{"yuv422", "mono8", 2, 1, yuv(uyvy), 0},
		{"nv12", "rgb8", 1, 3, yuv(nv12, 0, 1, 2), 1.5},
		{"nv12", "bgr8", 1, 3, yuv(nv12, 2, 1, 0), 1.5},
		{"nv12", "mono8", 1, 1, raw(1), 0},
		{"rgb8", "rgb8", 3, 3, raw(3), 0},
		{"rgb8", "bgr8", 3, 3, swapped, 0},
		{"bgr8", "bgr8", 3, 3, raw(3), 0},
		{"bgr8", "rgb8", 3, 3, swapped, 0},
		{"mono8", "mono8", 1, 1, raw(1), 0},
		{"mono16", "mono16", 2, 2, raw(2), 0},
		{"mono16", "16UC1", 2, 2, raw(2), 0},
		{"16UC1", "16UC1", 2, 2, raw(2), 0},
		{"16UC1", "mono16", 2, 2, raw(2), 0},
		{"rgba8", "rgb8", 4, 3, opaque(0, 1, 2), 0},
		{"rgba8", "bgr8", 4, 3, opaque(2, 1, 0), 0},
		{"bayer_bggr8", "bayer_bggr8", 1, 1, raw(1), 0},
		{"bayer_gbrg8", "bayer_gbrg8", 1, 1, raw(1), 0},
		{"bayer_grbg8", "bayer_grbg8", 1, 1, raw(1), 0},
		{"bayer_rggb8", "bayer_rggb8", 1, 1, raw(1), 0},
	} {
		for _, padding := range []int{0, 1, 10} {
			t.Run(fmt.Sprintf("%d %s to %s padded by %d", i, test.from, test.to, padding), func(t *testing.T) {
				c, err := FindConversion(test.from, test.to)
				require.NoError(t, err)
				require.Equal(t, test.out, c.To.Bytes)
				f, rows := frameOf(test.from, width, height, test.in, padding)
				size, err := c.Size(f)
				require.NoError(t, err)
				require.Equal(t, width*height*test.out, size)
				dst := make([]byte, size)
				c.Convert(dst, f)
				for y := range height {
					for x := range width {
						for k, want := range test.want(rows, x, y) {
							require.InDelta(t, want, float64(dst[(y*width+x)*test.out+k]), test.off,
								"x %d y %d byte %d", x, y, k)
						}
					}
				}
				require.Zero(t, testing.AllocsPerRun(5, func() { c.Convert(dst, f) }))
				f.Data = f.Data[:len(f.Data)-1]
				_, err = c.Size(f)
				require.ErrorContains(t, err, "pixels", "a byte is missing")
			})
		}
	}
}

// TestRowsOfUnevenHeight checks the colours of the last row of an odd number of rows.
func TestRowsOfUnevenHeight(t *testing.T) {
	f, rows := frameOf("nv12", 4, 3, 1, 2)
	c, err := FindConversion("nv12", "rgb8")
	require.NoError(t, err)
	size, err := c.Size(f)
	require.NoError(t, err)
	require.Equal(t, 4*3*3, size)
	dst := make([]byte, size)
	c.Convert(dst, f)
	require.InDelta(t, rgb(rows[2][3], rows[4][2], rows[4][3])[0], float64(dst[len(dst)-3]), 1.5)
}

// TestColours checks well-known YUV values of black, white and the primary colours.
func TestColours(t *testing.T) {
	for name, test := range map[string]struct {
		yuv  [3]byte
		want color.RGBA
	}{
		"black":       {[3]byte{16, 128, 128}, color.RGBA{0, 0, 0, 0}},
		"white":       {[3]byte{235, 128, 128}, color.RGBA{255, 255, 255, 0}},
		"red":         {[3]byte{81, 90, 240}, color.RGBA{255, 0, 0, 0}},
		"green":       {[3]byte{145, 54, 34}, color.RGBA{0, 255, 1, 0}},
		"blue":        {[3]byte{41, 240, 110}, color.RGBA{0, 0, 255, 0}},
		"below range": {[3]byte{0, 128, 128}, color.RGBA{0, 0, 0, 0}},
		"above range": {[3]byte{255, 128, 128}, color.RGBA{255, 255, 255, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			dst := make([]byte, 6)
			yuvRow(dst, []byte{test.yuv[0], test.yuv[1], test.yuv[0], test.yuv[2]}, 0, 0)
			require.Equal(t, []byte{test.want.R, test.want.G, test.want.B, test.want.R, test.want.G, test.want.B}, dst)
		})
	}
}

func TestUnsupportedConversion(t *testing.T) {
	_, err := FindConversion("rgb8", "bayer_rggb8")
	require.EqualError(t, err, `images of encoding "rgb8" cannot be converted to "bayer_rggb8"`)
}

func BenchmarkYUYVToRGB(b *testing.B) {
	c, _ := FindConversion("yuyv", "rgb8")
	f, _ := frameOf("yuyv", 640, 480, 2, 0)
	dst := make([]byte, 640*480*3)
	b.SetBytes(640 * 480 * 3)
	for b.Loop() {
		c.Convert(dst, f)
	}
}
