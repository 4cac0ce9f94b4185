package pixel

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"

	"tapedeck/codec/text/plural"
)

// Image is an image in a message or a file: pixels, a JPEG or a PNG. The data of a JPEG or PNG contains its size, so
// its Width, Height and Step are 0.
type Image struct {
	Encoding string // "jpeg", "png", or an encoding of pixels: "rgb8", "bgr8", "mono8", "16UC1"
	Data     []byte
	Width    int // in pixels
	Height   int // in pixels
	Step     int // bytes from a row to the next; 0: rows without padding
}

// Compressed reports whether the image is a JPEG or PNG rather than pixels.
func (m *Image) Compressed() bool { return m.Encoding == "jpeg" || m.Encoding == "png" }

// step returns the bytes from a row to the next.
func (m *Image) step(e *Encoding) int {
	if m.Step > 0 {
		return m.Step
	}
	return m.Width * e.Bytes
}

// Row returns the bytes of a row without padding. The image must have been checked.
func (m *Image) Row(e *Encoding, y int) []byte { return m.Data[y*m.step(e):][:m.Width*e.Bytes] }

// check returns an error unless Data has all pixels. The padding of the last row may be missing.
func (m *Image) check(e *Encoding) error {
	if err := CheckSize(m.Width, m.Height); err != nil {
		return err
	}
	row, step := m.Width*e.Bytes, m.step(e)
	if (e.pairs() || e.family == yuv420) && m.Width%2 != 0 {
		return fmt.Errorf("odd width %d of a %s image, whose pixels come in pairs", m.Width, m.Encoding)
	}
	if m.Step < 0 || step < row || step > MaxStep {
		return fmt.Errorf("row of %s, want at least %d for %s of %s", plural.Count(m.Step, "byte"), row,
			plural.Count(m.Width, "pixel"), m.Encoding)
	}
	need := step*(m.Height-1) + row
	if e.family == yuv420 {
		need = step*(m.Height+(m.Height+1)/2-1) + row
	}
	if len(m.Data) < need {
		return fmt.Errorf("%s of data, want %d for %d×%d pixels of %s", plural.Count(len(m.Data), "byte"), need,
			m.Width, m.Height, m.Encoding)
	}
	return nil
}

// Config is the size and kind of an image, which are known without decoding it.
type Config struct {
	Width, Height int
	Gray          bool // 8 bits of brightness, and no colour
	Deep          bool // 16 bits of brightness, or distances
}

// Config returns the size and kind of an image. It fails if the size exceeds the limits, if pixels are missing, or if
// the header of a JPEG or PNG is invalid.
func (m *Image) Config() (c Config, err error) {
	switch m.Encoding {
	case "jpeg":
		c, _, err = jpegConfig(m.Data)
	case "png":
		var header image.Config
		header, err = png.DecodeConfig(bytes.NewReader(m.Data))
		model := header.ColorModel
		c = Config{header.Width, header.Height, model == color.GrayModel, model == color.Gray16Model}
	default:
		var e *Encoding
		e, err = decodable(m.Encoding)
		if err == nil {
			return Config{m.Width, m.Height, e.Gray(), e.Deep()}, m.check(e)
		}
	}
	if err == nil {
		err = CheckSize(c.Width, c.Height)
	}
	return c, err
}

// Decode returns the pixels of an image. Its type depends on the encoding:
//   - mono8: an *image.Gray that shares Data;
//   - mono16: an *image.Gray16;
//   - 32FC1: an *image.Gray16 of distances in mm;
//   - colours: an opaque *image.RGBA;
//   - JPEG and PNG: the result of image/jpeg or image/png.
func (m *Image) Decode() (image.Image, error) {
	if _, err := m.Config(); err != nil {
		return nil, err
	}
	switch m.Encoding {
	case "jpeg":
		return jpeg.Decode(bytes.NewReader(m.Data))
	case "png":
		return png.Decode(bytes.NewReader(m.Data))
	}
	e, bounds := Lookup(m.Encoding), image.Rect(0, 0, m.Width, m.Height)
	switch e.family {
	case gray:
		return &image.Gray{Pix: m.Data, Stride: m.step(e), Rect: bounds}, nil
	case gray16, meters:
		out := image.NewGray16(bounds)
		for y := range m.Height {
			e.deepRow()(out.Pix[y*out.Stride:][:2*m.Width], m.Row(e, y), nil)
		}
		return out, nil
	}
	out := image.NewRGBA(bounds)
	var rgb []byte
	if e.pairs() {
		rgb = make([]byte, 3*m.Width)
	}
	for y := range m.Height {
		row, to, size, red := m.Row(e, y), out.Pix[y*out.Stride:], e.Bytes, e.first
		if e.pairs() {
			yuvRow(rgb, row, e.first, 0)
			row, size, red = rgb, 3, 0
		}
		for x := range m.Width {
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = row[size*x+red], row[size*x+1], row[size*x+2-red], 255
		}
	}
	return out, nil
}

// Mosaic returns the colours of a Bayer image at half its size, one pixel for each cell of four. It returns nil for
// other encodings.
func (m *Image) Mosaic() (*image.RGBA, error) {
	e := Lookup(m.Encoding)
	if e == nil || e.family != bayer {
		return nil, nil
	}
	if err := m.check(e); err != nil {
		return nil, err
	}
	out := image.NewRGBA(image.Rect(0, 0, m.Width/2, m.Height/2))
	for y := range m.Height / 2 {
		above, below, to := m.Row(e, 2*y), m.Row(e, 2*y+1), out.Pix[y*out.Stride:]
		for x := range m.Width / 2 {
			cell := [4]uint8{above[2*x], above[2*x+1], below[2*x], below[2*x+1]}
			blue, red := cell[e.first], cell[3-e.first]
			sum := int(cell[0]) + int(cell[1]) + int(cell[2]) + int(cell[3])
			to[4*x], to[4*x+1], to[4*x+2], to[4*x+3] = red, uint8((sum-int(red)-int(blue))/2), blue, 255
		}
	}
	return out, nil
}

// RGBA returns m as an *image.RGBA. It returns m itself if that is its type; otherwise it draws m on canvas, or on a
// new image if canvas is nil or has another size.
func RGBA(m image.Image, canvas *image.RGBA) *image.RGBA {
	if rgba, ok := m.(*image.RGBA); ok {
		return rgba
	}
	size := m.Bounds().Size()
	if canvas == nil || canvas.Rect.Size() != size {
		canvas = image.NewRGBA(image.Rectangle{Max: size})
	}
	draw.Draw(canvas, canvas.Rect, m, m.Bounds().Min, draw.Src)
	return canvas
}

// AppendDeep appends the pixels of m as little-endian numbers, row by row and without padding.
func AppendDeep(dst []byte, m *image.Gray16) []byte {
	size := m.Bounds().Size()
	for y := range size.Y {
		row := m.Pix[y*m.Stride:][:2*size.X]
		for x := 0; x < len(row); x += 2 {
			dst = append(dst, row[x+1], row[x])
		}
	}
	return dst
}

// Black returns a black image.
func Black(width, height int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Rect, image.Black, image.Point{}, draw.Src)
	return m
}

// CheckWhole returns an error if the image is incomplete, as far as it can tell without decoding. After Config, it
// checks that a JPEG or PNG has its end marker, and that the chunks of a PNG match their checksums.
func (m *Image) CheckWhole() error {
	if _, err := m.Config(); err != nil {
		return err
	}
	switch m.Encoding {
	case "jpeg":
		_, rest, _ := jpegConfig(m.Data)
		if bytes.LastIndex(rest, []byte("\xff\xd9")) < 0 {
			return errors.New("the JPEG is cut off: its end is missing")
		}
	case "png":
		return checkPNG(m.Data)
	}
	return nil
}

const pngMagic = "\x89PNG\r\n\x1a\n"

// Detect returns "jpeg" or "png" if data begins like such a file, otherwise "".
func Detect(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte(pngMagic)):
		return "png"
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		return "jpeg"
	}
	return ""
}

var errJPEG = errors.New("not a JPEG, or cut off before its first pixel")

// AppendJPEG appends an image as a JPEG with a quality from 1 to 100.
func AppendJPEG(dst []byte, m image.Image, quality int) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	err := jpeg.Encode(out, m, &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}

// jpegConfig reads the frame header, SOF of ITU-T T.81. It also reads kinds of JPEG that image/jpeg cannot decode. rest
// is the data after the frame header.
func jpegConfig(data []byte) (c Config, rest []byte, err error) {
	if len(data) < 4 || data[0] != 0xff || data[1] != 0xd8 {
		return c, nil, errJPEG
	}
	for data = data[2:]; len(data) >= 4 && data[0] == 0xff; {
		marker := data[1]
		if marker == 0xff { // fill
			data = data[1:]
			continue
		}
		if marker == 0x01 || marker >= 0xd0 && marker <= 0xd8 {
			data = data[2:]
			continue
		}
		length := int(data[2])<<8 | int(data[3])
		if length < 2 || 2+length > len(data) {
			break
		}
		if marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc {
			if length < 8 {
				break
			}
			return Config{Width: int(data[7])<<8 | int(data[8]), Height: int(data[5])<<8 | int(data[6]),
				Gray: data[9] == 1}, data[2+length:], nil
		}
		data = data[2+length:]
	}
	return c, nil, errJPEG
}
