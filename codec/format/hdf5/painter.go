package hdf5

import (
	"errors"
	"fmt"
	"image"
	"sync/atomic"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/episode"
)

// painter converts the frames of a camera to the images of the file. All images have the size of the first one.
type painter struct {
	images  string
	swap    bool
	quality int
	size    size
	depth   bool // images are depths of 16 bits

	remade atomic.Int64 // images whose pixels JPEG changed
	lost   pixel.LossCounter
}

// measure takes the size and kind of the images from a frame.
func (p *painter) measure(f *episode.Frame) error {
	c, err := f.Config()
	p.size, p.depth = size{c.Width, c.Height}, c.Deep
	if p.images == ImagesKeep && f.Encoding != "jpeg" && !c.Deep {
		p.images = ImagesRaw
	}
	return err
}

// encoding returns the encoding of images in the file.
func (p *painter) encoding() string {
	switch {
	case p.depth:
		return "16UC1"
	case p.images == ImagesRaw:
		return p.color() + "8"
	}
	return "jpeg"
}

// color returns the order of colours of pixels in the file.
func (p *painter) color() string {
	switch {
	case p.depth:
		return "depth"
	case p.swap:
		return "bgr"
	}
	return "rgb"
}

// paint implements episode.Encoder. It returns the image for the file.
func (p *painter) paint(dst []byte, f *episode.Frame, again bool) ([]byte, error) {
	if f == nil {
		return p.black(dst)
	}
	c, err := f.Config()
	if err != nil {
		return nil, err
	}
	if c.Deep != p.depth {
		return nil, errors.New("it and frames before are not both colours or both depths")
	}
	if (size{c.Width, c.Height}) != p.size {
		return nil, fmt.Errorf("image size %d×%d, want %d×%d as before", c.Width, c.Height, p.size.width, p.size.height)
	}
	if f.Encoding == "jpeg" && p.images != ImagesRaw && !p.swap {
		return f.Data, nil
	}
	picture, err := f.Decode()
	if err != nil {
		return nil, err
	}
	if !again {
		p.lost.Add(f.RGBLosses(picture))
	}
	if !again && !p.depth && p.images != ImagesRaw {
		p.remade.Add(1)
	}
	return p.encode(dst, picture)
}

func (p *painter) black(dst []byte) ([]byte, error) {
	if p.depth {
		return append(dst, make([]byte, 2*p.size.width*p.size.height)...), nil
	}
	return p.encode(dst, pixel.Black(p.size.width, p.size.height))
}

// encode converts an image to the image for the file.
func (p *painter) encode(dst []byte, picture image.Image) ([]byte, error) {
	if g, ok := picture.(*image.Gray16); ok && p.depth {
		return pixel.AppendDeep(dst, g), nil
	}
	if gray, ok := picture.(*image.Gray); ok && p.images != ImagesRaw {
		return pixel.AppendJPEG(dst, gray, p.quality)
	}
	rgba := pixel.RGBA(picture, nil)
	if p.swap {
		for i := 0; i+3 < len(rgba.Pix); i += 4 {
			rgba.Pix[i], rgba.Pix[i+2] = rgba.Pix[i+2], rgba.Pix[i]
		}
	}
	if p.images != ImagesRaw {
		return pixel.AppendJPEG(dst, rgba, p.quality)
	}
	for i := 0; i+3 < len(rgba.Pix); i += 4 {
		dst = append(dst, rgba.Pix[i], rgba.Pix[i+1], rgba.Pix[i+2])
	}
	return dst, nil
}
