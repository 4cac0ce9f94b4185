package pixel

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// rgbaFunc returns red, green, blue and alpha of the pixel at x in a row of an image, from 0 to 0xffff.
type rgbaFunc func(row []byte, x int) [4]uint16

// to16 scales a channel from 8 to 16 bits, as color.Color does.
func to16(channel byte) uint16 { return uint16(channel) * 0x101 }

func rgbaOfGray8(row []byte, x int) [4]uint16 {
	v := to16(row[x])
	return [4]uint16{v, v, v, 0xffff}
}

func rgbaOfGray16(row []byte, x int) [4]uint16 {
	v := binary.LittleEndian.Uint16(row[2*x:])
	return [4]uint16{v, v, v, 0xffff}
}

// rgbaOfColors is for pixels of size bytes, with the channels at the given offsets. Without an offset of alpha, pixels
// are opaque.
func rgbaOfColors(size int, offsets ...int) rgbaFunc {
	return func(row []byte, x int) [4]uint16 {
		rgba := [4]uint16{3: 0xffff}
		for i, offset := range offsets {
			rgba[i] = to16(row[x*size+offset])
		}
		return rgba
	}
}

// rgbaOfYUV is for pairs of pixels that share U and V. luma is the offset of Y in the two bytes of a pixel.
func rgbaOfYUV(luma int) rgbaFunc {
	return func(row []byte, x int) [4]uint16 {
		pair := row[x/2*4:]
		rgba := [4]uint16{3: 0xffff}
		for i, v := range rgb(row[2*x+luma], pair[1-luma], pair[3-luma]) {
			rgba[i] = uint16(v * 0x101)
		}
		return rgba
	}
}

// rgbaAt returns red, green, blue and alpha of a pixel. The colours are not multiplied by alpha.
func rgbaAt(m image.Image, x, y int) [4]uint16 {
	if m, ok := m.(*image.NRGBA); ok {
		c := m.NRGBAAt(x, y)
		return [4]uint16{to16(c.R), to16(c.G), to16(c.B), to16(c.A)}
	}
	r, g, b, a := m.At(x, y).RGBA()
	return [4]uint16{uint16(r), uint16(g), uint16(b), uint16(a)}
}

// TestPNG encodes random pixels as PNGs. It compares the PNGs with the pixels and with the result of Image.Decode.
func TestPNG(t *testing.T) {
	const width, height = 14, 5
	var e PNGEncoder
	for i, c := range []struct {
		encoding string
		want     rgbaFunc
	}{
		{"mono8", rgbaOfGray8}, {"8UC1", rgbaOfGray8},
		{"mono16", rgbaOfGray16}, {"16UC1", rgbaOfGray16},
		{"rgb8", rgbaOfColors(3, 0, 1, 2)},
		{"bgr8", rgbaOfColors(3, 2, 1, 0)}, {"8UC3", rgbaOfColors(3, 2, 1, 0)},
		{"rgba8", rgbaOfColors(4, 0, 1, 2, 3)},
		{"bgra8", rgbaOfColors(4, 2, 1, 0, 3)}, {"8UC4", rgbaOfColors(4, 2, 1, 0, 3)},
		{"yuv422_yuy2", rgbaOfYUV(0)}, {"yuyv", rgbaOfYUV(0)},
		{"yuv422", rgbaOfYUV(1)}, {"uyvy", rgbaOfYUV(1)},
	} {
		t.Run(c.encoding, func(t *testing.T) {
			layout := Lookup(c.encoding)
			raw, rows := frameOf(c.encoding, width, height, layout.Bytes, i%3*5)
			file, err := e.Encode(raw)
			require.NoError(t, err)
			decoded, err := (&Image{Encoding: "png", Data: file}).Decode()
			require.NoError(t, err)
			require.Equal(t, image.Rect(0, 0, width, height), decoded.Bounds())
			direct, err := raw.Decode()
			require.NoError(t, err)
			require.Equal(t, image.Rect(0, 0, width, height), direct.Bounds())
			tolerance := 0
			if layout.pairs() {
				tolerance = 2 * 0x101 // because colours are converted in integers
			}
			for y, row := range rows {
				for x := range width {
					got, want, opaque := rgbaAt(decoded, x, y), c.want(row, x), rgbaAt(direct, x, y)
					for k := range got {
						require.InDelta(t, want[k], got[k], float64(tolerance), "channel %d at (%d, %d)", k, x, y)
					}
					require.Equal(t, opaque[:3], got[:3], "Image.Decode and the PNG differ at (%d, %d)", x, y)
				}
			}
		})
	}
}

// scene returns an image that compresses like a camera's: it has shapes, shades and sensor noise.
func scene(width, height int) Image {
	random := rand.New(rand.NewPCG(1, 2))
	f := Image{Encoding: "rgb8", Width: width, Height: height, Data: make([]byte, width*height*3)}
	for y := range height {
		for x := range width {
			shade := 110 + 60*math.Sin(float64(x)/70) + 40*math.Cos(float64(y)/50)
			if (x/80+y/60)%3 == 0 {
				shade /= 2
			}
			for c := range 3 {
				f.Data[(y*width+x)*3+c] = byte(min(max(shade*(1-0.15*float64(c))+random.NormFloat64()*2, 0), 255))
			}
		}
	}
	return f
}

// BenchmarkPNG compares PNGEncoder with image/png, on one processor.
func BenchmarkPNG(b *testing.B) {
	f := scene(640, 480)
	b.Run("PNGEncoder", func(b *testing.B) {
		var e PNGEncoder
		var data []byte
		for b.Loop() {
			data, _ = e.Encode(&f)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		b.ReportMetric(float64(len(data)), "bytes/frame")
	})
	b.Run("image/png", func(b *testing.B) {
		m := image.NewRGBA(image.Rect(0, 0, f.Width, f.Height))
		for i := range f.Width * f.Height {
			m.SetRGBA(i%f.Width, i/f.Width, color.RGBA{f.Data[3*i], f.Data[3*i+1], f.Data[3*i+2], 255})
		}
		e := png.Encoder{CompressionLevel: png.BestSpeed}
		var out bytes.Buffer
		for b.Loop() {
			out.Reset()
			if err := e.Encode(&out, m); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
		b.ReportMetric(float64(out.Len()), "bytes/frame")
	})
}
