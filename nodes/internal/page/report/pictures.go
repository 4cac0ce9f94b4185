package report

import (
	"cmp"
	"image"
	"image/color"
	"math"

	"golang.org/x/image/draw"

	"tapedeck/codec"
	"tapedeck/codec/encoding/cdr"
	"tapedeck/codec/encoding/pixel"
)

const (
	thumbWidth         = 192 // pixels of the longer side
	maxThumbsPerCamera = 24
	maxThumbs          = 240 // of a recording
	thumbQuality       = 70  // JPEG quality
	maxCameras         = 32
)

// camera collects small pictures of a topic, evenly over time.
type camera struct {
	Camera
	builder *builder
	locator *pixel.Locator
	next    int // first slot of the time without a picture
}

// camera returns a sink for pictures, nil for other types.
func (b *builder) camera(c *codec.Channel, s *cdr.Schema) sink {
	locator, err := pixel.NewLocator(s)
	if err != nil || len(b.cameras) == maxCameras {
		return nil
	}
	camera := &camera{Camera: Camera{Topic: c.Topic}, builder: b, locator: locator}
	b.cameras = append(b.cameras, camera)
	return camera
}

// add adds a picture if its slot of the time has none. at is its time on the page, in s from the start.
func (c *camera) add(m *codec.Message, at float64) error {
	b, slots := c.builder, maxThumbsPerCamera
	if !b.live {
		slots = min(maxThumbsPerCamera, maxThumbs/len(b.cameras))
	}
	slot := min(int(b.density.at(m.LogTime)*float64(slots)), slots-1)
	if slot < c.next && !b.latest {
		return nil
	}
	thumb := Thumb{At: at, since: b.now}
	f, err := c.locator.Image(m.Data)
	if err == nil {
		thumb.JPEG, err = c.thumb(&f)
	}
	if b.live {
		c.Latest = &thumb
	}
	if slot >= c.next {
		c.next = slot + 1
		c.Thumbs = append(c.Thumbs, thumb)
	}
	return err
}

// thumb returns a small JPEG of a picture, and sets the camera's size and kind.
func (c *Camera) thumb(f *pixel.Image) ([]byte, error) {
	thinned := *f // with fewer rows if the small picture does not need all
	e := pixel.Lookup(f.Encoding)
	if every := max(f.Width, f.Height) / thumbWidth / 2; every > 1 && e != nil && e.Rows() {
		thinned.Step, thinned.Height = every*cmp.Or(f.Step, f.Width*e.Bytes), f.Height/every
	}
	m, err := visible(thinned)
	if err != nil {
		return nil, err
	}
	size := m.Bounds().Size()
	c.Width, c.Height, c.Kind = cmp.Or(f.Width, size.X), cmp.Or(f.Height, size.Y), f.Encoding
	size = image.Pt(c.Width, c.Height)
	scale := min(1, float64(thumbWidth)/float64(max(size.X, size.Y)))
	small := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(size.X)*scale)), max(1, int(float64(size.Y)*scale))))
	draw.ApproxBiLinear.Scale(small, small.Bounds(), m, m.Bounds(), draw.Src, nil)
	return pixel.AppendJPEG(nil, small, thumbQuality)
}

// visible returns an image to look at. It colours depth images, and halves the size of images with a Bayer mosaic.
func visible(f pixel.Image) (image.Image, error) {
	if m, err := f.Mosaic(); m != nil || err != nil {
		return m, err
	}
	if f.Encoding == "nv12" { // Decode does not support it
		rgb, err := f.To("rgb8", nil)
		if err != nil {
			return nil, err
		}
		f = rgb
	}
	m, err := f.Decode()
	if err != nil {
		return nil, err
	}
	if depth, ok := m.(*image.Gray16); ok {
		return colours(depth), nil
	}
	return m, nil
}

// colours returns a coloured depth image: yellow is near, blue is far. Unknown depths, 0, are black.
func colours(depth *image.Gray16) image.Image {
	low, high := uint16(math.MaxUint16), uint16(0)
	b := depth.Bounds()
	each := func(do func(x, y int, v uint16)) {
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				if v := depth.Gray16At(x, y).Y; v > 0 {
					do(x, y, v)
				}
			}
		}
	}
	each(func(_, _ int, v uint16) { low, high = min(low, v), max(high, v) })
	out := image.NewRGBA(b)
	draw.Draw(out, b, image.Black, image.Point{}, draw.Src)
	each(func(x, y int, v uint16) {
		far := float64(v-low) / max(float64(high)-float64(low), 1)
		out.SetRGBA(x, y, color.RGBA{uint8(253 - 185*far), uint8(231 - 230*far*far), uint8(37 + 100*far), 255})
	})
	return out
}
