package pixel

import (
	"encoding/binary"
	"image"
	"math"
	"sync/atomic"
)

// Losses is a set of properties that a conversion of an image does not keep.
type Losses uint8

// Properties that a conversion may lose.
const (
	LostTransparency Losses = 1 << iota
	LostShades              // colours of 16 bits became 8 bits
	LostChroma              // colours of YUV, which RGB rounds and clips
	LostDepths              // distances in m that mm of 16 bits cannot hold

	lossKinds = 4
)

// lossTexts describes each loss, indexed by the number of its bit in Losses.
var lossTexts = [lossKinds]string{
	"transparency",
	"shades of colours of 16 bits, which become 8 bits",
	"colours of YUV, which RGB rounds",
	"parts of millimetres, and distances of 65.535 m or more, as 16 bits have none",
}

// Each calls add with a description of each loss, and 1 for one image.
func (l Losses) Each(add func(what string, images uint64)) {
	for i, text := range lossTexts {
		if l&(1<<i) != 0 {
			add(text, 1)
		}
	}
}

// PNGLosses returns the losses of an image that PNGEncoder encodes. JPEGs and PNGs are copied and lose nothing.
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

// RGBLosses returns the losses of an image that becomes opaque colours of 8 bits or, if it has depths, mm of 16 bits.
// decoded is the result of Decode. A value that the result still implies, such as an opaque alpha, is no loss.
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
		if deep[0] != deep[1] { // both bytes are equal if the colour fits in 8 bits
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

// wholeMillimeters reports whether millimetersRow keeps all distances. Digits beyond the precision of float32 don't
// count, nor does the difference between 0 and NaN, which both mean unknown.
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

// LossCounter counts images by their losses. The zero value is ready to use. It is safe for concurrent use.
type LossCounter struct{ images [lossKinds]atomic.Uint64 }

// Add counts an image.
func (c *LossCounter) Add(lost Losses) {
	for i := range c.images {
		if lost&(1<<i) != 0 {
			c.images[i].Add(1)
		}
	}
}

// Each calls add with a description of each loss that occurred, and the number of images.
func (c *LossCounter) Each(add func(what string, images uint64)) {
	for i := range c.images {
		if n := c.images[i].Load(); n > 0 {
			add(lossTexts[i], n)
		}
	}
}
