package v4l2test

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/jpeg"

	"tapedeck/bridge/device/v4l2"
)

// jpegHead is the beginning of a JPEG: start of image, and a comment of 4 bytes, the frame number.
var jpegHead = []byte{0xff, 0xd8, 0xff, 0xfe, 0, 6}

// Sequence returns the frame number in an image of a Camera: from the first four bytes of a raw image, or from the
// comment of a JPEG. It is 0 for other images.
func Sequence(format v4l2.FourCC, picture []byte) uint32 {
	if format.Compressed() {
		number, ok := bytes.CutPrefix(picture, jpegHead)
		if !ok || len(number) < 4 {
			return 0
		}
		return binary.LittleEndian.Uint32(number)
	}
	if len(picture) < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(picture)
}

// fill writes an image into a buffer and returns its length. A buffer that already contains the image of Sequence only
// gets a new number, which costs little.
func (c *Camera) fill(index int, sequence uint32) int {
	buffer := c.memory[index]
	if c.Fill != nil {
		return c.Fill(c.format.laidOut(), sequence, buffer)
	}
	if c.picture == nil {
		c.picture = c.format.picture()
	}
	if !c.pictured[index] {
		copy(buffer, c.picture)
		c.pictured[index] = true
	}
	number := buffer
	if c.format.FourCC.Compressed() {
		number = buffer[len(jpegHead):]
	}
	binary.LittleEndian.PutUint32(number, sequence)
	return len(c.picture)
}

// picture returns a JPEG from black to white, or a grey raw image.
func (f Format) picture() []byte {
	if !f.FourCC.Compressed() {
		return bytes.Repeat([]byte{0x80}, f.laidOut().Size)
	}
	grey := image.NewGray(image.Rect(0, 0, f.Width, f.Height))
	for y := range f.Height {
		for x := range f.Width {
			grey.SetGray(x, y, color.Gray{Y: uint8(256 * x / f.Width)})
		}
	}
	var b bytes.Buffer
	b.Write(jpegHead)
	b.Write(make([]byte, 4))
	start := b.Len()
	if err := jpeg.Encode(&b, grey, nil); err != nil {
		panic(err) // a picture without rows or columns
	}
	return append(b.Bytes()[:start:start], b.Bytes()[start+2:]...) // its start of image is in jpegHead
}

// laidOut returns the format with a driver's layout.
func (f Format) laidOut() v4l2.Format {
	format := v4l2.Format{FourCC: f.FourCC, Width: f.Width, Height: f.Height}
	switch f.FourCC {
	case v4l2.MJPG, v4l2.JPEG:
		format.Size = max(4096, 2*f.Width*f.Height)
		return format
	case v4l2.YUYV, v4l2.UYVY, v4l2.Y16, v4l2.Z16:
		format.BytesPerLine = 2 * f.Width
	case v4l2.RGB3, v4l2.BGR3:
		format.BytesPerLine = 3 * f.Width
	default:
		format.BytesPerLine = f.Width
	}
	format.BytesPerLine += f.Padding
	format.Size = format.BytesPerLine * f.Height
	if f.FourCC == v4l2.NV12 || f.FourCC == v4l2.YU12 {
		format.Size = format.Size * 3 / 2
	}
	return format
}
