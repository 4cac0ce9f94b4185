package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg" // frames are
	_ "image/png"  // likewise

	"tapedeck/codec/episode"
)

const mostPixels = 1 << 26 // of a frame

// decode returns the picture in a frame, as eyes see it: what has 16 bits is stretched from its darkest to its brightest.
func decode(f episode.Frame) (image.Image, error) {
	if f.Encoding == "jpeg" || f.Encoding == "png" {
		c, _, err := image.DecodeConfig(bytes.NewReader(f.Data))
		if err != nil {
			return nil, err
		}
		if c.Width <= 0 || c.Height <= 0 || c.Width > mostPixels/c.Height {
			return nil, fmt.Errorf("%d × %d pixels are too many", c.Width, c.Height)
		}
		picture, _, err := image.Decode(bytes.NewReader(f.Data))
		if deep, ok := picture.(*image.Gray16); ok {
			return stretch(deep.Bounds(), func(x, y int) uint16 { return deep.Gray16At(x, y).Y }), err
		}
		return picture, err
	}
	return pixels(f)
}

// pixels returns the picture of pixels as they are.
func pixels(f episode.Frame) (image.Image, error) {
	var bytes int
	var at func(p []byte) color.RGBA
	switch f.Encoding {
	case "mono8", "8UC1":
		bytes, at = 1, func(p []byte) color.RGBA { return color.RGBA{p[0], p[0], p[0], 255} }
	case "rgb8":
		bytes, at = 3, func(p []byte) color.RGBA { return color.RGBA{p[0], p[1], p[2], 255} }
	case "bgr8", "8UC3":
		bytes, at = 3, func(p []byte) color.RGBA { return color.RGBA{p[2], p[1], p[0], 255} }
	case "rgba8":
		bytes, at = 4, func(p []byte) color.RGBA { return color.RGBA{p[0], p[1], p[2], 255} }
	case "bgra8", "8UC4":
		bytes, at = 4, func(p []byte) color.RGBA { return color.RGBA{p[2], p[1], p[0], 255} }
	case "mono16", "16UC1":
		bytes = 2
	case "yuv422_yuy2", "yuyv": // the brightness is enough to see what it is
		bytes, at = 2, func(p []byte) color.RGBA { return color.RGBA{p[0], p[0], p[0], 255} }
	case "yuv422", "uyvy":
		bytes, at = 2, func(p []byte) color.RGBA { return color.RGBA{p[1], p[1], p[1], 255} }
	default:
		return nil, fmt.Errorf("pixels of the encoding %.40q are not known", f.Encoding)
	}
	if f.Width <= 0 || f.Height <= 0 || f.Width > mostPixels/f.Height || f.Step < f.Width*bytes || f.Step > len(f.Data)/f.Height {
		return nil, fmt.Errorf("%d × %d pixels are not in %d bytes", f.Width, f.Height, len(f.Data))
	}
	if bytes == 2 && at == nil {
		return stretch(image.Rect(0, 0, f.Width, f.Height), func(x, y int) uint16 {
			p := f.Data[y*f.Step+2*x:]
			return uint16(p[0]) | uint16(p[1])<<8
		}), nil
	}
	picture := image.NewRGBA(image.Rect(0, 0, f.Width, f.Height))
	for y := range f.Height {
		for x := range f.Width {
			picture.SetRGBA(x, y, at(f.Data[y*f.Step+x*bytes:]))
		}
	}
	return picture, nil
}

// stretch returns a picture that is black where a deep one is darkest, and white where it is brightest.
func stretch(b image.Rectangle, at func(x, y int) uint16) image.Image {
	low, high := uint16(65535), uint16(0)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			low, high = min(low, at(x, y)), max(high, at(x, y))
		}
	}
	picture := image.NewGray(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			picture.SetGray(x, y, color.Gray{uint8(uint32(at(x, y)-low) * 255 / max(uint32(high)-uint32(low), 1))})
		}
	}
	return picture
}
