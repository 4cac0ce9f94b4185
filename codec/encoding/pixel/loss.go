package pixel

import (
	"encoding/binary"
	"image"
	"math"
	"sync/atomic"
)

// Losses is a set of what a conversion of an image does not keep.
type Losses uint8

// What a conversion may not keep.
const (
	LostTransparency Losses = 1 << iota
	LostShades              // of colours of 16 bits, in 8 bits
	LostChroma              // colours of YUV, which RGB rounds and clips
	LostDepths              // distances in m that 16 bits of mm do not have

	lossKinds = 4
)

// lossTexts describe Losses, by the number of their bit.
var lossTexts = [lossKinds]string{
	"transparency",
	"shades of colours of 16 bits, which become 8 bits",
	"colours of YUV, which RGB rounds",
	"parts of millimetres, and distances of 65.535 m or more, as 16 bits have none",
}

// Each calls add with each loss of an image, in words.
func (l Losses) Each(add func(what string, images uint64)) {
	for i, text := range lossTexts {
		if l&(1<<i) != 0 {
			add(text, 1)
		}
	}
}

// PNGLosses returns what PNGEncoder does not keep of an image. JPEGs and PNGs, which are copied, lose nothing.
func (m *Image) PNGLosses() Losses {
	e := Lookup(m.Encoding)
	switch {
	case e == nil:
	case e.family == yuv422, e.family == yuv420:
		return LostChroma
	case e.family == meters && !m.wholeMillimeters(e):
		return LostDepths
	}
	return 0
}

// RGBLosses returns what an image that Decode decoded loses as opaque colours of 8 bits or, if it has depths, as 16
// bits of mm. Values that are equal afterwards, such as an opaque alpha, are no loss.
func (m *Image) RGBLosses(decoded image.Image) Losses {
	lost := m.PNGLosses()
	if e := Lookup(m.Encoding); e != nil {
		if e.family == trueColor && e.Bytes == 4 && !m.opaque(e) {
			lost |= LostTransparency
		}
		return lost
	}
	if o, ok := decoded.(interface{ Opaque() bool }); ok && !o.Opaque() {
		lost |= LostTransparency
	}
	var deep []byte
	switch p := decoded.(type) {
	case *image.RGBA64:
		deep = p.Pix
	case *image.NRGBA64:
		deep = p.Pix
	}
	for ; len(deep) >= 2; deep = deep[2:] {
		if deep[0] != deep[1] { // 16 bits of a colour of 8 bits repeat it
			return lost | LostShades
		}
	}
	return lost
}

// opaque reports whether the fourth byte of all pixels is 255.
func (m *Image) opaque(e *Encoding) bool {
	for y := range m.Height {
		for row := m.Row(e, y); len(row) >= 4; row = row[4:] {
			if row[3] != 255 {
				return false
			}
		}
	}
	return true
}

// wholeMillimeters reports whether millimetersRow keeps all distances, but for the digits that float32 does not have,
// and that 0 and NaN are both unknown.
func (m *Image) wholeMillimeters(e *Encoding) bool {
	const digits = 1.0 / (1 << 22)
	for y := range m.Height {
		for row := m.Row(e, y); len(row) >= 4; row = row[4:] {
			mm := 1000 * float64(math.Float32frombits(binary.LittleEndian.Uint32(row)))
			if whole := math.Round(mm); mm == mm && (mm < 0 || whole > math.MaxUint16 ||
				math.Abs(mm-whole) > whole*digits) {
				return false
			}
		}
	}
	return true
}

// LossCounter counts images by what they lose. The zero value has none. It may be used by several goroutines at a time.
type LossCounter struct{ images [lossKinds]atomic.Uint64 }

// Add counts an image.
func (c *LossCounter) Add(lost Losses) {
	for i := range c.images {
		if lost&(1<<i) != 0 {
			c.images[i].Add(1)
		}
	}
}

// Each calls add with each loss that occurred, in words, and the number of images.
func (c *LossCounter) Each(add func(what string, images uint64)) {
	for i := range c.images {
		if n := c.images[i].Load(); n > 0 {
			add(lossTexts[i], n)
		}
	}
}
