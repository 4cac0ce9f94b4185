package lerobot

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/training/episode"
)

// picture has the properties of a frame as it is written. Depths of all encodings are written in mm.
type picture struct {
	pixel.Config
	encoding string
	layout   *pixel.Encoding // nil for JPEG and PNG
}

// inspect returns the properties of a frame that this package can write.
func inspect(f *episode.Frame) (picture, error) {
	p := picture{encoding: f.Encoding, layout: pixel.Lookup(f.Encoding)}
	if !f.Compressed() && (p.layout == nil || ffmpeg.Pixels[p.layout.Name] == "" && !p.layout.Deep()) {
		return p, fmt.Errorf("images of encoding %q are neither colours nor depths; leave the camera out", f.Encoding)
	}
	var err error
	p.Config, err = f.Config()
	if err == nil {
		err = f.CheckWhole()
	}
	if p.Deep {
		p.encoding, p.layout = mmEncoding, pixel.Lookup(mmEncoding)
	}
	return p, err
}

// histogram counts the pixels of each value of red, green and blue, or of depth in mm.
type histogram [][]int64

func newHistogram(deep bool) histogram {
	if deep {
		return histogram{make([]int64, 1<<16)}
	}
	return histogram{make([]int64, 256), make([]int64, 256), make([]int64, 256)}
}

// count adds every step-th pixel of every step-th row of an image.
func (h histogram) count(m image.Image, step int) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += step {
		for x := b.Min.X; x < b.Max.X; x += step {
			var red, green, blue uint8
			switch m := m.(type) {
			case *image.Gray16:
				h[0][m.Gray16At(x, y).Y]++
				continue
			case *image.YCbCr:
				c := m.YCbCrAt(x, y)
				red, green, blue = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			case *image.RGBA: // opaque
				c := m.RGBAAt(x, y)
				red, green, blue = c.R, c.G, c.B
			case *image.NRGBA:
				c := m.NRGBAAt(x, y)
				red, green, blue = c.R, c.G, c.B
			case *image.Gray:
				red = m.GrayAt(x, y).Y
				green, blue = red, red
			default:
				c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
				red, green, blue = c.R, c.G, c.B
			}
			h[0][red]++
			h[1][green]++
			h[2][blue]++
		}
	}
}

// stats returns the statistics of count images, for colours from 0 to 1.
func (h histogram) stats(count int) *stats {
	s, scale := newStats(count, true), 1.0/255
	if len(h) == 1 {
		scale = 1
	}
	values := make([]float64, len(h[0]))
	for i := range values {
		values[i] = float64(i)
	}
	for _, counts := range h {
		s.add(values, counts, scale)
	}
	return s
}

// encodePNG writes an image as a PNG of three channels.
func encodePNG(to io.Writer, m image.Image) error {
	b := m.Bounds()
	rgb := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	for y := range b.Dy() {
		for x := range b.Dx() {
			c := color.NRGBAModel.Convert(m.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			c.A = 0xff // package png writes an opaque image without alpha
			rgb.SetNRGBA(x, y, c)
		}
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	return encoder.Encode(to, rgb)
}
