// Package picture draws what is in recordings and episodes, for a person to see at a glance whether they are good. A
// page is laid out as a list of shapes first, a Drawing, which becomes an image then.
package picture

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"strings"
)

// MaxSize is how wide and how high a Drawing may be, in pixels.
const MaxSize = 16384

// Size is that of a page in pixels.
type Size struct {
	Width  int
	Height int // 0 is as high as it takes
}

// Drawing is a page: shapes, each over those before.
type Drawing struct {
	Size
	Shapes []Shape
	fonts  *fonts
}

// Shape is one thing that is drawn. Its text says all of it, but for what is in pictures.
type Shape interface {
	fmt.Stringer
	draw(*canvas)
}

// Box is where a shape is, in pixels from the upper left corner.
type Box struct{ X, Y, W, H int }

func (b Box) rectangle() image.Rectangle { return image.Rect(b.X, b.Y, b.X+b.W, b.Y+b.H) }

// The shapes.
type (
	// Rect is a filled rectangle.
	Rect struct {
		Box
		Color color.NRGBA
	}
	// Hatch is a rectangle of slanted lines.
	Hatch struct {
		Box
		Color color.NRGBA
	}
	// Frame is the outline of a rectangle, one pixel wide.
	Frame struct {
		Box
		Color color.NRGBA
	}
	// Heat is a bar in which each column of pixels has a level of the palette; 0 is nothing.
	Heat struct {
		Box
		Levels []uint8
	}
	// Path is a line through points, or, if it is Filled, what is inside.
	Path struct {
		Points []Point
		Width  float32
		Color  color.NRGBA
		Filled bool
	}
	// Text is a line of it. X and Y are where its baseline begins.
	Text struct {
		X, Y  int
		Font  Font
		Color color.NRGBA
		Text  string
	}
	// Picture is an image, made as large as its box.
	Picture struct {
		Box
		Image image.Image
	}
)

// Point is a place, in pixels from the upper left corner.
type Point struct{ X, Y float32 }

func (s Rect) String() string  { return fmt.Sprintf("rect %v %s", s.Box, hex(s.Color)) }
func (s Hatch) String() string { return fmt.Sprintf("hatch %v %s", s.Box, hex(s.Color)) }
func (s Frame) String() string { return fmt.Sprintf("frame %v %s", s.Box, hex(s.Color)) }
func (s Text) String() string {
	return fmt.Sprintf("text {%d %d} %v %s %q", s.X, s.Y, s.Font, hex(s.Color), s.Text)
}
func (s Picture) String() string { return fmt.Sprintf("picture %v", s.Box) }

// String writes levels that follow each other as "3×120".
func (s Heat) String() string {
	var runs strings.Builder
	for i := 0; i < len(s.Levels); {
		n := 1
		for i+n < len(s.Levels) && s.Levels[i+n] == s.Levels[i] {
			n++
		}
		fmt.Fprintf(&runs, " %d×%d", s.Levels[i], n)
		i += n
	}
	return fmt.Sprintf("heat %v%s", s.Box, runs.String())
}

func (s Path) String() string {
	kind := fmt.Sprintf("line %.1f", s.Width)
	if s.Filled {
		kind = "area"
	}
	var points strings.Builder
	for _, p := range s.Points {
		fmt.Fprintf(&points, " %.1f,%.1f", p.X, p.Y)
	}
	return fmt.Sprintf("%s %s%s", kind, hex(s.Color), points.String())
}

func hex(c color.NRGBA) string {
	if c.A == 255 {
		return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)
	}
	return fmt.Sprintf("#%02x%02x%02x/%02x", c.R, c.G, c.B, c.A)
}

// String lists the shapes, one a line.
func (d *Drawing) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "page %d×%d\n", d.Width, d.Height)
	for _, s := range d.Shapes {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

func newDrawing(s Size) (*Drawing, error) {
	fonts, err := newFonts()
	return &Drawing{Size: s, fonts: fonts}, err
}

func (d *Drawing) add(shapes ...Shape) { d.Shapes = append(d.Shapes, shapes...) }

// text writes a line that begins at x.
func (d *Drawing) text(x, y int, f Font, c color.NRGBA, s string) {
	if s != "" {
		d.add(Text{x, y, f, c, s})
	}
}

// right writes a line that ends at x.
func (d *Drawing) right(x, y int, f Font, c color.NRGBA, s string) {
	d.text(x-d.fonts.width(f, s), y, f, c, s)
}

// centre writes a line in the middle of which x is.
func (d *Drawing) centre(x, y int, f Font, c color.NRGBA, s string) {
	d.text(x-d.fonts.width(f, s)/2, y, f, c, s)
}

// Image draws the page.
func (d *Drawing) Image() *image.RGBA {
	c := newCanvas(d)
	for _, s := range d.Shapes {
		s.draw(c)
	}
	return c.RGBA
}

// WritePNG writes the page as a PNG.
func (d *Drawing) WritePNG(w io.Writer) error {
	return (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, d.Image())
}
