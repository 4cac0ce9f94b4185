package hdf5

import (
	"errors"
	"fmt"
	"image"
	"sync/atomic"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/episode"
)

// imageEncoder converts the frames of a camera to the images of the file. All images have one size.
type imageEncoder struct {
	images  string // Options.Images
	swap    bool   // Options.SwapRB
	quality int    // Options.Quality
	size    size   // size of all images
	depth   bool   // images are depths of 16 bits

	recompressed atomic.Int64      // images whose pixels JPEG changed
	lost         pixel.LossCounter // losses of the conversion to RGB
}

// configure sets the size and kind of all images from the camera's first frame.
func (e *imageEncoder) configure(f *episode.Frame) error {
	c, err := f.Config()
	e.size, e.depth = size{c.Width, c.Height}, c.Deep
	if e.images == ImagesKeep && f.Encoding != "jpeg" && !c.Deep {
		e.images = ImagesRaw
	}
	return err
}

// encoding returns the encoding of images in the file.
func (e *imageEncoder) encoding() string {
	switch {
	case e.depth:
		return "16UC1"
	case e.images == ImagesRaw:
		return e.color() + "8"
	}
	return "jpeg"
}

// color returns the order of the colours of pixels in the file, or "depth".
func (e *imageEncoder) color() string {
	switch {
	case e.depth:
		return "depth"
	case e.swap:
		return "bgr"
	}
	return "rgb"
}

// encodeFrame implements episode.Encoder. It returns the file's image for f, or a black image if f is nil. again
// reports whether f was also encoded for the row before; the losses of a frame count once.
func (e *imageEncoder) encodeFrame(dst []byte, f *episode.Frame, again bool) ([]byte, error) {
	if f == nil {
		return e.encodeBlack(dst)
	}
	c, err := f.Config()
	if err != nil {
		return nil, err
	}
	if c.Deep != e.depth {
		return nil, errors.New("the camera has both colour and depth images")
	}
	if (size{c.Width, c.Height}) != e.size {
		return nil, fmt.Errorf("image size %d×%d, want %d×%d as in earlier frames", c.Width, c.Height,
			e.size.width, e.size.height)
	}
	if f.Encoding == "jpeg" && e.images != ImagesRaw && !e.swap {
		return f.Data, nil
	}
	picture, err := f.Decode()
	if err != nil {
		return nil, err
	}
	if !again {
		e.lost.Add(f.RGBLosses(picture))
	}
	if !again && !e.depth && e.images != ImagesRaw {
		e.recompressed.Add(1)
	}
	return e.encodeImage(dst, picture)
}

// encodeBlack returns the image for a row without a frame.
func (e *imageEncoder) encodeBlack(dst []byte) ([]byte, error) {
	if e.depth {
		return append(dst, make([]byte, 2*e.size.width*e.size.height)...), nil
	}
	return e.encodeImage(dst, pixel.Black(e.size.width, e.size.height))
}

// encodeImage converts a decoded image to the image for the file.
func (e *imageEncoder) encodeImage(dst []byte, picture image.Image) ([]byte, error) {
	if g, ok := picture.(*image.Gray16); ok && e.depth {
		return pixel.AppendDeep(dst, g), nil
	}
	if gray, ok := picture.(*image.Gray); ok && e.images != ImagesRaw {
		return pixel.AppendJPEG(dst, gray, e.quality)
	}
	rgba := pixel.RGBA(picture, nil)
	if e.swap {
		for i := 0; i+3 < len(rgba.Pix); i += 4 {
			rgba.Pix[i], rgba.Pix[i+2] = rgba.Pix[i+2], rgba.Pix[i]
		}
	}
	if e.images != ImagesRaw {
		return pixel.AppendJPEG(dst, rgba, e.quality)
	}
	for i := 0; i+3 < len(rgba.Pix); i += 4 {
		dst = append(dst, rgba.Pix[i], rgba.Pix[i+1], rgba.Pix[i+2])
	}
	return dst, nil
}
