package picture

import (
	"image"
	"image/color"

	"tapedeck/codec/episode"
	"tapedeck/codec/pixel"
)

// decode returns the image in a frame, as eyes see it and with memory of its own: 16 bits are stretched from the
// darkest pixel to the brightest, and of YUV the brightness is shown.
func decode(f episode.Frame) (image.Image, error) {
	if c, err := pixel.FindConversion(f.Encoding, "mono8"); err == nil {
		size, err := c.Size(&f)
		if err != nil {
			return nil, err
		}
		luma := make([]byte, size)
		c.Convert(luma, &f)
		f.Encoding, f.Data, f.Step = "mono8", luma, 0
	}
	m, err := f.Decode()
	if deep, ok := m.(*image.Gray16); ok {
		return stretch(deep.Bounds(), func(x, y int) uint16 { return deep.Gray16At(x, y).Y }), err
	}
	return m, err
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
