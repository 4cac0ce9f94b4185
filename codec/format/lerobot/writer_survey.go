package lerobot

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/training/episode"
)

// camera is a camera of an episode that will be written.
type camera struct {
	feature string // key of the feature
	camera  *episode.Camera
	frames  []int   // by row, the index of its frame; -1: none
	picture picture // properties of all frames
	stats   *stats
	encoder *ffmpeg.Encoder // encoder of the video
	black   episode.Frame   // image for rows without a frame
}

// survey reads all frames of all cameras, so that errors occur before anything is written. like returns the dataset's
// feature of a name, nil before the first episode.
func survey(cameras []*camera, like func(feature string) *feature) error {
	list := make([]*episode.Camera, len(cameras))
	for i, c := range cameras {
		list[i] = c.camera
	}
	return episode.EachCamera(list, func(i int, _ *episode.Camera) (episode.DamagedFrames, error) {
		return cameras[i].survey(like(cameras[i].feature))
	})
}

// survey reads all frames and returns the damaged ones. All frames must have the size and kind of the feature like, or
// of the first frame if like is nil.
func (c *camera) survey(like *feature) (episode.DamagedFrames, error) {
	var width, height int
	var deep bool
	if like != nil {
		width, height, deep = like.Shape[1], like.Shape[0], like.isDepth()
	}
	wanted := sampleIndices(len(c.frames))
	var counted histogram
	black, known := 0, false
	damaged, err := c.camera.EachWhole(c.frames, func(row int, f *episode.Frame) error {
		n := 0 // how often the frame counts in the statistics
		for ; len(wanted) > 0 && wanted[0] == row; wanted = wanted[1:] {
			n++
		}
		if f == nil {
			black += n
			return nil
		}
		p, err := inspect(f)
		if err != nil && f.Compressed() {
			return &episode.DamagedError{Err: err}
		}
		if err != nil {
			return fmt.Errorf("frame %d: %w", c.frames[row], err)
		}
		if width == 0 {
			width, height, deep = p.Width, p.Height, p.Deep
		}
		if p.Width != width || p.Height != height {
			return fmt.Errorf("frame %d has %d×%d pixels, others have %d×%d: all images of a feature must have one "+
				"size", c.frames[row], p.Width, p.Height, width, height)
		}
		if p.Deep != deep {
			return fmt.Errorf("frame %d is of encoding %s: all images of a feature must be colours, or all depths",
				c.frames[row], f.Encoding)
		}
		if !known {
			c.picture, counted, known = p, newHistogram(deep), true
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
			return &episode.DamagedError{Err: err}
		}
		for range n {
			counted.count(m, sampleStep(p.Width, p.Height))
		}
		return nil
	})
	if err != nil || damaged != nil {
		return damaged, err
	}
	if width == 0 {
		return nil, errors.New("no row has a frame of this camera")
	}
	if !known {
		c.picture, counted = picture{encoding: "png"}, newHistogram(deep)
		if deep {
			c.picture = picture{encoding: mmEncoding, layout: pixel.Lookup(mmEncoding)}
		}
		c.picture.Config = pixel.Config{Width: width, Height: height, Deep: deep}
	}
	c.stats = c.statistics(counted, black)
	if slices.Contains(c.frames, -1) {
		return nil, c.paintBlack()
	}
	return nil, nil
}

// statistics returns the statistics of a histogram and of a number of black images.
func (c *camera) statistics(h histogram, black int) *stats {
	width, height := c.picture.Width, c.picture.Height
	step := sampleStep(width, height)
	pixels := int64((width+step-1)/step) * int64((height+step-1)/step) * int64(black)
	for _, counts := range h {
		counts[0] += pixels
	}
	return h.stats(len(sampleIndices(len(c.frames))))
}

// paintBlack makes the image for rows without a frame, in the encoding of the other images.
func (c *camera) paintBlack() (err error) {
	p := &c.picture
	f := &c.black
	f.Encoding, f.Width, f.Height = p.encoding, p.Width, p.Height
	switch p.encoding {
	case "jpeg":
		f.Data, err = pixel.AppendJPEG(nil, pixel.Black(p.Width, p.Height), 95)
	case "png":
		var out bytes.Buffer
		err = encodePNG(&out, pixel.Black(p.Width, p.Height))
		f.Data = out.Bytes()
	default:
		f.Step = p.Width * p.layout.Bytes
		f.Data = make([]byte, f.Step*p.Height)
	}
	return err
}

// each calls do with the frame of each row, in order.
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
