package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	scale "golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// canvas is the image that shapes are drawn on.
type canvas struct {
	*image.RGBA
	fonts *fonts
}

func newCanvas(d *Drawing) *canvas {
	c := &canvas{image.NewRGBA(image.Rect(0, 0, d.Width, d.Height)), d.fonts}
	draw.Draw(c, c.Bounds(), image.White, image.Point{}, draw.Src)
	return c
}

func (c *canvas) fill(r image.Rectangle, with color.Color) {
	draw.Draw(c, r, image.NewUniform(with), image.Point{}, draw.Over)
}

func (s Rect) draw(c *canvas) { c.fill(s.rectangle(), s.Color) }

func (s Frame) draw(c *canvas) {
	r := s.rectangle()
	c.fill(image.Rect(r.Min.X, r.Min.Y, r.Max.X, r.Min.Y+1), s.Color)
	c.fill(image.Rect(r.Min.X, r.Max.Y-1, r.Max.X, r.Max.Y), s.Color)
	c.fill(image.Rect(r.Min.X, r.Min.Y+1, r.Min.X+1, r.Max.Y-1), s.Color)
	c.fill(image.Rect(r.Max.X-1, r.Min.Y+1, r.Max.X, r.Max.Y-1), s.Color)
}

func (s Hatch) draw(c *canvas) {
	const period = 6
	r := s.rectangle().Intersect(c.Bounds())
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if (x+y)%period < 2 {
				c.fill(image.Rect(x, y, x+1, y+1), s.Color)
			}
		}
	}
}

func (s Heat) draw(c *canvas) {
	for i, level := range s.Levels {
		if level > 0 {
			c.fill(image.Rect(s.X+i, s.Y, s.X+i+1, s.Y+s.H), palette[level])
		}
	}
}

func (s Text) draw(c *canvas) {
	d := font.Drawer{Dst: c, Src: image.NewUniform(s.Color), Face: c.fonts.face(s.Font), Dot: fixed.P(s.X, s.Y)}
	d.DrawString(s.Text)
}

func (s Picture) draw(c *canvas) {
	scale.BiLinear.Scale(c, s.rectangle(), s.Image, s.Image.Bounds(), scale.Over, nil)
}

// draw fills the line piece by piece, each a rectangle around two points: pieces are drawn as one, so that a colour
// that is not opaque covers once.
func (s Path) draw(c *canvas) {
	if len(s.Points) == 0 {
		return
	}
	// The rasterizer gets no more of the page than there is of the line.
	low, high := s.Points[0], s.Points[0]
	for _, p := range s.Points {
		low, high = Point{min(low.X, p.X), min(low.Y, p.Y)}, Point{max(high.X, p.X), max(high.Y, p.Y)}
	}
	margin := s.Width + 1
	box := image.Rect(int(low.X-margin), int(low.Y-margin), int(high.X+margin)+1,
		int(high.Y+margin)+1).Intersect(c.Bounds())
	if box.Empty() {
		return
	}
	r := vector.NewRasterizer(box.Dx(), box.Dy())
	at := func(p Point) (x, y float32) { return p.X - float32(box.Min.X), p.Y - float32(box.Min.Y) }
	if s.Filled {
		r.MoveTo(at(s.Points[0]))
		for _, p := range s.Points[1:] {
			r.LineTo(at(p))
		}
		r.ClosePath()
	}
	for i := 1; i < len(s.Points) && !s.Filled; i++ {
		a, b := s.Points[i-1], s.Points[i]
		length := float32(math.Hypot(float64(b.X-a.X), float64(b.Y-a.Y)))
		if length == 0 {
			continue
		}
		// Along the line, and across it; a little more at the ends closes the joints.
		ax, ay := (b.X-a.X)/length*s.Width/2, (b.Y-a.Y)/length*s.Width/2
		r.MoveTo(at(Point{a.X - ax/2 - ay, a.Y - ay/2 + ax}))
		r.LineTo(at(Point{b.X + ax/2 - ay, b.Y + ay/2 + ax}))
		r.LineTo(at(Point{b.X + ax/2 + ay, b.Y + ay/2 - ax}))
		r.LineTo(at(Point{a.X - ax/2 + ay, a.Y - ay/2 - ax}))
		r.ClosePath()
	}
	r.Draw(c, box, image.NewUniform(s.Color), image.Point{})
}
