package lerobot

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"

	"tapedeck/codec/episode"
)

// maxPixels is how many a picture has at most.
const maxPixels = 1 << 26

// pixelLayout is where the colours are in a pixel.
type pixelLayout struct {
	bytes, r, g, b int
	ffmpeg         string // what ffmpeg calls it
}

var pixelLayouts = map[string]pixelLayout{
	"rgb8": {3, 0, 1, 2, "rgb24"}, "bgr8": {3, 2, 1, 0, "bgr24"}, "8UC3": {3, 2, 1, 0, "bgr24"},
	"rgba8": {4, 0, 1, 2, "rgba"}, "bgra8": {4, 2, 1, 0, "bgra"}, "8UC4": {4, 2, 1, 0, "bgra"},
	"mono8": {1, 0, 0, 0, "gray"}, "8UC1": {1, 0, 0, 0, "gray"},
}

// picture is what there is to know of a frame without its pixels.
type picture struct {
	encoding      string // "jpeg", "png", or a key of pixelLayouts
	width, height int
	gray          bool
}

// look finds out what a frame is.
func look(f *episode.Frame) (picture, error) {
	p := picture{encoding: f.Encoding, width: f.Width, height: f.Height}
	var config image.Config
	var err error
	switch f.Encoding {
	case "jpeg":
		config, err = jpeg.DecodeConfig(bytes.NewReader(f.Data))
	case "png":
		config, err = png.DecodeConfig(bytes.NewReader(f.Data))
	default:
		layout, ok := pixelLayouts[f.Encoding]
		if !ok {
			return p, fmt.Errorf("pictures of encoding %q are not those of a colour camera; leave the camera out", f.Encoding)
		}
		if p.width <= 0 || p.height <= 0 || p.width > maxPixels/p.height || f.Step < p.width*layout.bytes || len(f.Data) < f.Step*(p.height-1)+p.width*layout.bytes {
			return p, fmt.Errorf("%d bytes are no picture of %d×%d pixels", len(f.Data), p.width, p.height)
		}
		p.gray = layout.bytes == 1
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("no %s: %w", f.Encoding, err)
	}
	p.width, p.height = config.Width, config.Height
	switch config.ColorModel {
	case color.Gray16Model:
		return p, errors.New("pictures of 16 bits are not those of a colour camera; leave the camera out")
	case color.GrayModel:
		p.gray = true
	}
	if p.width <= 0 || p.height <= 0 || p.width > maxPixels/p.height {
		return p, fmt.Errorf("a picture of %d×%d pixels", p.width, p.height)
	}
	return p, nil
}

// decode returns the pixels of a frame.
func decode(f *episode.Frame) (image.Image, error) {
	switch f.Encoding {
	case "jpeg":
		return jpeg.Decode(bytes.NewReader(f.Data))
	case "png":
		return png.Decode(bytes.NewReader(f.Data))
	}
	layout := pixelLayouts[f.Encoding]
	m := image.NewNRGBA(image.Rect(0, 0, f.Width, f.Height))
	for y := range f.Height {
		row, to := f.Data[y*f.Step:], m.Pix[y*m.Stride:]
		for x := range f.Width {
			p := row[x*layout.bytes:]
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = p[layout.r], p[layout.g], p[layout.b], 0xff
		}
	}
	return m, nil
}

// histogram counts of each colour the pixels of each value.
type histogram [3][256]int64

// count adds one of so many pixels in a row and a column.
func (h *histogram) count(m image.Image, step int) {
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y += step {
		for x := b.Min.X; x < b.Max.X; x += step {
			var red, green, blue uint8
			switch m := m.(type) {
			case *image.YCbCr:
				c := m.YCbCrAt(x, y)
				red, green, blue = color.YCbCrToRGB(c.Y, c.Cb, c.Cr)
			case *image.NRGBA:
				c := m.NRGBAAt(x, y)
				red, green, blue = c.R, c.G, c.B
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

// stats returns those of as many pictures, of colours from 0 to 1.
func (h *histogram) stats(count int) *stats {
	s := newStats(count, true)
	values := make([]float64, 256)
	for i := range values {
		values[i] = float64(i)
	}
	for c := range h {
		s.add(values, h[c][:], 1.0/255)
	}
	return s
}

// encodePNG returns pixels as a PNG of three colours.
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

// encodeJPEG returns pixels as a JPEG.
func encodeJPEG(m image.Image) ([]byte, error) {
	var out bytes.Buffer
	err := jpeg.Encode(&out, m, &jpeg.Options{Quality: 95})
	return out.Bytes(), err
}
