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

// TestPNG decodes images of every encoding both directly and from a PNG, and compares.
func TestPNG(t *testing.T) {
	const width, height = 14, 5
	random := rand.New(rand.NewPCG(3, 4))
	var e PNGEncoder
	for i, name := range []string{"mono8", "8UC1", "mono16", "16UC1", "rgb8", "bgr8", "8UC3", "rgba8", "bgra8", "8UC4",
		"yuv422_yuy2", "yuyv", "yuv422", "uyvy"} {
		size := Lookup(name).Bytes
		step := width*size + i%3*5
		data := make([]byte, height*step)
		for j := range data {
			data[j] = byte(random.Uint32())
		}
		f := Image{Encoding: name, Data: data, Width: width, Height: height, Step: step}
		out, err := e.Encode(&f)
		require.NoError(t, err)
		file := Image{Encoding: "png", Data: out}
		m, err := file.Decode()
		require.NoError(t, err)
		require.Equal(t, image.Rect(0, 0, width, height), m.Bounds())
		direct, err := f.Decode()
		require.NoError(t, err)
		require.Equal(t, image.Rect(0, 0, width, height), direct.Bounds())
		at := func(x, y, b int) uint32 { return uint32(data[y*step+x*size+b]) }
		for y := range height {
			for x := range width {
				r, g, b, a := m.At(x, y).RGBA()
				got := [4]uint32{r >> 8, g >> 8, b >> 8, a >> 8}
				if m, ok := m.(*image.NRGBA); ok {
					v := m.NRGBAAt(x, y)
					got = [4]uint32{uint32(v.R), uint32(v.G), uint32(v.B), uint32(v.A)}
				}
				red, green, blue, _ := direct.At(x, y).RGBA()
				require.Equal(t, got[:3], []uint32{red >> 8, green >> 8, blue >> 8}, name)
				switch name {
				case "mono8", "8UC1":
					require.Equal(t, at(x, y, 0), got[0], name)
				case "mono16", "16UC1":
					require.Equal(t, at(x, y, 0)|at(x, y, 1)<<8, r, name)
				case "rgb8":
					require.Equal(t, [4]uint32{at(x, y, 0), at(x, y, 1), at(x, y, 2), 255}, got, name)
				case "bgr8", "8UC3":
					require.Equal(t, [4]uint32{at(x, y, 2), at(x, y, 1), at(x, y, 0), 255}, got, name)
				case "rgba8":
					require.Equal(t, [4]uint32{at(x, y, 0), at(x, y, 1), at(x, y, 2), at(x, y, 3)}, got, name)
				case "bgra8", "8UC4":
					require.Equal(t, [4]uint32{at(x, y, 2), at(x, y, 1), at(x, y, 0), at(x, y, 3)}, got, name)
				default:
					first := 0 // of luma
					if name == "uyvy" || name == "yuv422" {
						first = 1
					}
					even := x &^ 1
					l := (float64(at(x, y, first)) - 16) * 255 / 219
					u, v := (float64(at(even, y, 1-first))-128)*255/224, (float64(at(even+1, y, 1-first))-128)*255/224
					for k, v := range []float64{l + 1.402*v, l - 0.344136*u - 0.714136*v, l + 1.772*u} {
						require.InDelta(t, min(max(v, 0), 255), got[k], 2, "%s channel %d", name, k)
					}
				}
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for want, m := range map[string]Image{
		`unsupported image encoding "bayer_rggb8": want one of jpeg, png, mono8, mono16, ` +
			`32FC1, rgb8`: {Encoding: "bayer_rggb8",
			Width: 1, Height: 1},
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
		"invalid image size 65535×65535": {Encoding: "jpeg",
			Data: []byte("\xff\xd8\xff\xc0\x00\x11\x08\xff\xff\xff\xff\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00\xff" +
				"\xda")},
		"invalid image size 65536×65536": {Encoding: "png", Data: []byte(pngMagic + "\x00\x00\x00\x0dIHDR\x00\x01" +
			"\x00\x00\x00\x01\x00\x00\x08\x02\x00\x00\x00" + "\xe3\xe6\xa7\xb4")},
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
	_, err := FindConversion("rgb8", "bayer_rggb8")
	require.EqualError(t, err, `images of encoding "rgb8" cannot be converted to "bayer_rggb8"`)
}

// TestMeters converts distances in m to mm of 16 bits by Decode, by a Conversion and by PNGEncoder.
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
	for _, from := range []Image{m, {Encoding: "png", Data: file}} {
		got, err := from.Decode()
		require.NoError(t, err)
		for x, mm := range want {
			require.Equal(t, color.Gray16{Y: mm}, got.At(x, 0), meters[x])
		}
	}
	c, err := FindConversion("32FC1", "16UC1")
	require.NoError(t, err)
	size, err := c.Size(&m)
	require.NoError(t, err)
	out := make([]byte, size)
	c.Convert(out, &m)
	for x, mm := range want {
		require.Equal(t, mm, binary.LittleEndian.Uint16(out[2*x:]))
	}
}

// TestWhole checks complete, cut and changed images.
func TestWhole(t *testing.T) {
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
		"cut jpeg": {Image{Encoding: "jpeg", Data: jpeg[:len(jpeg)-9]},
			"the JPEG is cut off: its end is missing"},
		"jpeg of nothing": {Image{Encoding: "jpeg"}, "not a JPEG"},
		"png":             {Image{Encoding: "png", Data: png}, ""},
		"cut png":         {Image{Encoding: "png", Data: png[:len(png)-9]}, "the PNG is cut off: its end is missing"},
		"changed png": {Image{Encoding: "png", Data: changed},
			`the checksum of its chunk "IDAT" at byte 33 is wrong`},
		"pixels":     {f, ""},
		"cut pixels": {Image{Encoding: "rgb8", Width: 64, Height: 48, Data: f.Data[1:]}, "9215 bytes of data"},
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

// scene returns an image like a camera's, with shapes, shades and sensor noise.
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

// BenchmarkPNG encodes PNGs on one processor.
func BenchmarkPNG(b *testing.B) {
	f := scene(640, 480)
	b.Run("ours", func(b *testing.B) {
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
