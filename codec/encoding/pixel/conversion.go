package pixel

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Conversion converts pixels from one encoding to another, row by row and without padding.
type Conversion struct {
	From, To *Encoding

	// row converts one row. uv is the row of the colour plane, nil for encodings without such a plane.
	row func(dst, src, uv []byte)
}

// FindConversion returns the conversion between two encodings. YUV is ITU-R BT.601 in studio range, which V4L2 assumes
// for cameras.
func FindConversion(from, to string) (Conversion, error) {
	c := Conversion{From: Lookup(from), To: Lookup(to)}
	if c.From != nil && c.To != nil {
		c.row = c.find()
	}
	if c.row == nil {
		return c, fmt.Errorf("images of encoding %.40q cannot be converted to %.40q", from, to)
	}
	return c, nil
}

func (c *Conversion) find() func(dst, src, uv []byte) {
	from, to := c.From, c.To
	first, red := from.first, to.first
	switch {
	case from == to, from.family == yuv420 && to.family == gray:
		return copyRow
	case from.family == meters && to.family == gray16:
		return millimetersRow
	case from.family == yuv422 && to.family == gray:
		return func(dst, src, _ []byte) { lumaRow(dst, src, first) }
	case to.family != trueColor:
		return nil
	case from.family == yuv422 && to.Bytes == 3:
		return func(dst, src, _ []byte) { yuvRow(dst, src, first, red) }
	case from.family == yuv420 && to.Bytes == 3:
		return func(dst, src, uv []byte) { planesRow(dst, src, uv, red) }
	case from.family != trueColor:
		return nil
	case from.Bytes == 3 && to.Bytes == 3:
		return swapRow
	case from.Bytes == 4 && to.Bytes == 4:
		return swapRow4
	case from.Bytes == 4 && to.Bytes == 3:
		red ^= first
		return func(dst, src, _ []byte) { opaqueRow(dst, src, red) }
	}
	return nil
}

// Size returns the number of bytes of the converted image. It fails unless m has all its pixels.
func (c *Conversion) Size(m *Image) (int, error) {
	return m.Width * m.Height * c.To.Bytes, m.check(c.From)
}

// Convert writes the converted pixels of m to dst. Size must have checked m and returned len(dst).
func (c *Conversion) Convert(dst []byte, m *Image) {
	width, step := m.Width*c.To.Bytes, m.step(c.From)
	for y := range m.Height {
		var uv []byte
		if c.From.family == yuv420 {
			uv = m.Data[step*(m.Height+y/2):][:m.Width]
		}
		c.row(dst[y*width:][:width], m.Row(c.From, y), uv)
	}
}

// To returns the image in another encoding of pixels, without padding. It uses the memory of dst if dst is large
// enough.
func (m *Image) To(encoding string, dst []byte) (Image, error) {
	c, err := FindConversion(m.Encoding, encoding)
	if err != nil {
		return Image{}, err
	}
	size, err := c.Size(m)
	if err != nil {
		return Image{}, err
	}
	if cap(dst) < size {
		dst = make([]byte, size)
	}
	c.Convert(dst[:size], m)
	return Image{Encoding: encoding, Data: dst[:size], Width: m.Width, Height: m.Height}, nil
}

func copyRow(dst, src, _ []byte) { copy(dst, src) }

// millimetersRow converts distances in m to mm of 16 bits. NaN, infinity and negative distances become 0, which means
// unknown. Distances above 65.535 m become 65535.
func millimetersRow(dst, src, _ []byte) {
	for len(src) >= 4 && len(dst) >= 2 {
		m := float64(math.Float32frombits(binary.LittleEndian.Uint32(src)))
		var mm uint16
		if m > 0 && !math.IsInf(m, 1) {
			mm = uint16(min(m*1000+0.5, math.MaxUint16))
		}
		binary.LittleEndian.PutUint16(dst, mm)
		dst, src = dst[2:], src[4:]
	}
}

// swapBytes converts numbers of 16 bits from little-endian to big-endian.
func swapBytes(dst, src, _ []byte) {
	for i := 0; i+1 < len(src) && i+1 < len(dst); i += 2 {
		binary.BigEndian.PutUint16(dst[i:], binary.LittleEndian.Uint16(src[i:]))
	}
}

// swapRow swaps red and blue of pixels of 3 bytes.
func swapRow(dst, src, _ []byte) {
	for len(src) >= 3 && len(dst) >= 3 {
		dst[0], dst[1], dst[2] = src[2], src[1], src[0]
		dst, src = dst[3:], src[3:]
	}
}

// swapRow4 swaps red and blue of pixels of 4 bytes.
func swapRow4(dst, src, _ []byte) {
	for len(src) >= 4 && len(dst) >= 4 {
		dst[0], dst[1], dst[2], dst[3] = src[2], src[1], src[0], src[3]
		dst, src = dst[4:], src[4:]
	}
}

// opaqueRow drops the fourth byte of pixels. red is 0 to keep the order of colours, 2 to swap red and blue.
func opaqueRow(dst, src []byte, red int) {
	for len(src) >= 4 && len(dst) >= 3 {
		dst[red], dst[1], dst[2-red] = src[0], src[1], src[2]
		dst, src = dst[3:], src[4:]
	}
}

// lumaRow copies the brightness of pixels of yuv422. y0 is the offset of the first Y.
func lumaRow(dst, src []byte, y0 int) {
	for i := range dst {
		dst[i] = src[y0+2*i]
	}
}

// yuvRow converts pairs of pixels of yuv422 to 3 bytes a pixel. y0 is the offset of the first Y in src, red the offset
// of red in dst.
func yuvRow(dst, src []byte, y0, red int) {
	u := y0 ^ 1
	for len(src) >= 4 && len(dst) >= 6 {
		r, g, b := chroma(src[u], src[u+2])
		shade(dst, src[y0], r, g, b, red)
		shade(dst[3:], src[y0+2], r, g, b, red)
		dst, src = dst[6:], src[4:]
	}
}

// planesRow converts a row of luma and a row of U and V to 3 bytes a pixel. red is the offset of red in dst.
func planesRow(dst, src, uv []byte, red int) {
	for len(src) >= 2 && len(uv) >= 2 && len(dst) >= 6 {
		r, g, b := chroma(uv[0], uv[1])
		shade(dst, src[0], r, g, b, red)
		shade(dst[3:], src[1], r, g, b, red)
		dst, src, uv = dst[6:], src[2:], uv[2:]
	}
}

// chroma returns the contribution of U and V to each colour, times 256, by ITU-R BT.601 in studio range.
func chroma(u, v byte) (r, g, b int32) {
	cb, cr := int32(u)-128, int32(v)-128
	return 409*cr + 128, -100*cb - 208*cr + 128, 516*cb + 128
}

// shade sets a pixel from its brightness y and the contributions of chroma.
func shade(dst []byte, y byte, r, g, b int32, red int) {
	light := 298 * (int32(y) - 16)
	dst[red&2], dst[1], dst[2-red&2] = clamp(light+r), clamp(light+g), clamp(light+b)
}

// clamp returns v/256 as a byte.
func clamp(v int32) byte { return byte(min(max(v>>8, 0), 255)) }
