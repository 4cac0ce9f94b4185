package lerobot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"tapedeck/codec/episode"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/pixel"
)

// picture is the properties of a frame. Depths are written as mm, whatever their encoding.
type picture struct {
	pixel.Config
	encoding string
	layout   *pixel.Encoding // nil for JPEG and PNG
}

// look returns the properties of a frame that this package can write.
func look(f *episode.Frame) (picture, error) {
	p := picture{encoding: f.Encoding, layout: pixel.Lookup(f.Encoding)}
	if !f.Compressed() && (p.layout == nil || ffmpeg.Pixels[p.layout.Name] == "" && !p.layout.Deep()) {
		return p, fmt.Errorf("images of encoding %q are neither colours nor depths; leave the camera out", f.Encoding)
	}
	var err error
	if p.Config, err = f.Config(); err == nil {
		err = f.CheckWhole()
	}
	if p.Deep {
		p.encoding, p.layout = mmEncoding, pixel.Lookup(mmEncoding)
	}
	return p, err
}

// histogram counts the pixels of each value of red, green and blue.
type histogram [3][256]int64

// count adds every step-th pixel of every step-th row.
func (h *histogram) count(m image.Image, step int) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += step {
		for x := b.Min.X; x < b.Max.X; x += step {
			var red, green, blue uint8
			switch m := m.(type) {
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
func (h *histogram) stats(count int) *stats {
	s := newStats(count, true)
	for c := range h {
		s.add(upTo(len(h[c])), h[c][:], 1.0/255)
	}
	return s
}

// upTo returns the numbers from 0 to n-1.
func upTo(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	return values
}

// encodePNG returns an image as a PNG of three channels.
func encodePNG(m image.Image) ([]byte, error) {
	b := m.Bounds()
	rgb := image.NewNRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	for y := range b.Dy() {
		for x := range b.Dx() {
			c := color.NRGBAModel.Convert(m.At(b.Min.X+x, b.Min.Y+y)).(color.NRGBA)
			c.A = 0xff // an opaque picture is written without alpha
			rgb.SetNRGBA(x, y, c)
		}
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	err := encoder.Encode(&out, rgb)
	return out.Bytes(), err
}
