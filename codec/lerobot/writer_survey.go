package lerobot

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"tapedeck/codec/episode"
	"tapedeck/codec/pixel"
)

// camera is the images of a camera in an episode.
type camera struct {
	feature string
	camera  *episode.Camera
	frames  []int // of each row; -1 is none
	picture picture
	stats   *stats
	black   episode.Frame // for rows without a frame
}

// survey reads all frames, so that errors occur before anything is written.
func survey(cameras []*camera, size func(feature string) (width, height int)) error {
	errs := make([]error, len(cameras))
	var group sync.WaitGroup
	for i, c := range cameras {
		group.Go(func() {
			if err := c.survey(size(c.feature)); err != nil {
				errs[i] = fmt.Errorf("%s: %w", c.camera.Name, err)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// survey reads all frames, which must have a size; 0 by 0 is that of the first one.
func (c *camera) survey(width, height int) error {
	wanted := sampled(len(c.frames))
	var counted histogram
	black, known := 0, false
	err := c.camera.EachFrame(c.frames, func(row int, f *episode.Frame) error {
		n := 0 // how often the frame counts
		for ; len(wanted) > 0 && wanted[0] == row; wanted = wanted[1:] {
			n++
		}
		if f == nil {
			black += n
			return nil
		}
		p, err := look(f)
		if err != nil {
			return fmt.Errorf("frame %d: %w", c.frames[row], err)
		}
		if width == 0 {
			width, height = p.Width, p.Height
		}
		if p.Width != width || p.Height != height {
			return fmt.Errorf("frame %d has %d×%d pixels, others have %d×%d: all images of a feature must have one "+
				"size",
				c.frames[row], p.Width, p.Height, width, height)
		}
		if !known {
			c.picture, known = p, true
		}
		if p.encoding != c.picture.encoding {
			return fmt.Errorf("frame %d is of encoding %s, others are of %s", c.frames[row], p.encoding,
				c.picture.encoding)
		}
		if n == 0 {
			return nil
		}
		m, err := f.Decode()
		if err != nil {
			return fmt.Errorf("frame %d: %w", c.frames[row], err)
		}
		for range n {
			counted.count(m, every(p.Width, p.Height))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if width == 0 {
		return errors.New("no row has a frame of it")
	}
	c.stats = c.statistics(&counted, black, width, height)
	if !known {
		c.picture = picture{encoding: "png", Config: pixel.Config{Width: width, Height: height}}
	}
	if slices.Contains(c.frames, -1) {
		return c.paintBlack()
	}
	return nil
}

// statistics returns the statistics of a histogram and of a number of black images.
func (c *camera) statistics(h *histogram, black, width, height int) *stats {
	step := every(width, height)
	pixels := int64((width+step-1)/step) * int64((height+step-1)/step) * int64(black)
	for colour := range h {
		h[colour][0] += pixels
	}
	return h.stats(len(sampled(len(c.frames))))
}

// paintBlack makes the image of rows without a frame, in the encoding of the others.
func (c *camera) paintBlack() (err error) {
	p := &c.picture
	f := &c.black
	f.Encoding, f.Width, f.Height = p.encoding, p.Width, p.Height
	switch p.encoding {
	case "jpeg":
		f.Data, err = pixel.AppendJPEG(nil, pixel.Black(p.Width, p.Height), 95)
	case "png":
		f.Data, err = encodePNG(pixel.Black(p.Width, p.Height))
	default:
		f.Step = p.Width * p.layout.Bytes
		f.Data = make([]byte, f.Step*p.Height)
	}
	return err
}

// each calls do with the frame of each row, in their order.
func (c *camera) each(do func(row int, f *episode.Frame) error) error {
	err := c.camera.EachFrame(c.frames, func(row int, f *episode.Frame) error {
		if f == nil {
			f = &c.black
		}
		if err := do(row, f); err != nil {
			return fmt.Errorf("row %d: %w", row, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.camera.Name, err)
	}
	return nil
}
