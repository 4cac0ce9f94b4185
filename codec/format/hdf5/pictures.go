package hdf5

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// pictures are the images of a camera in a file.
type pictures struct {
	source *source
	root   string // group of the episode
	path   string // path of the dataset
	name   string // name of the dataset
	label  string // name of the camera
	order  int64  // place among the cameras
	raw    bool   // episode.Camera.Raw
}

// depthGroup is the group of depths in an episode.
const depthGroup = "/observations/images_depth/"

// pictures finds the images of all cameras.
func (s *source) pictures(root string, lengths map[string]int) ([]*pictures, error) {
	var all []*pictures
	for _, group := range []string{"/observations/images/", depthGroup} {
		if s.file.Type(root+group) != h5.Group {
			continue
		}
		names, err := s.file.List(root + group)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			p := &pictures{source: s, root: root, path: root + group + name, name: name, label: cameraName(name),
				order: 1 << 32}
			switch s.file.Type(p.path) {
			case h5.Set:
			case h5.None:
				s.Damage = append(s.Damage, &episode.MissingError{Path: s.path + ":" + p.path, Camera: p.label,
					Err: errDangling})
				continue
			default:
				continue
			}
			if label := s.text(p.path, "camera"); label != "" {
				p.label = label
			}
			if order, ok := s.file.Attribute(p.path, "order").(int64); ok {
				p.order = order
			}
			n, err := p.readable()
			if s.file.Err() != nil {
				return nil, err
			}
			if n == 0 && err == nil {
				err = errors.New("it has no images")
			}
			if err != nil {
				s.leave(p.path, "cameras", err)
				continue
			}
			lengths[p.path] = n
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b *pictures) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(number(a.label), number(b.label)),
			cmp.Compare(a.label, b.label))
	})
	return all, nil
}

// cameraName is the reverse of imageName.
func cameraName(image string) string {
	number, ok := strings.CutPrefix(image, "cam_")
	switch {
	case image == "cam_wrist":
		return "camera_0"
	case ok && number != "" && strings.Trim(number, "0123456789") == "":
		return "camera_" + number
	}
	return image
}

// readable returns the number of rows up to the last readable one. It sets raw. A writer that was killed may not have
// written all rows.
func (p *pictures) readable() (int, error) {
	f, err := p.open()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := f.set.Len()
	good := func(i int) bool {
		image, err := f.stored(i)
		if err == nil {
			p.raw = !image.Compressed() || f.swapped(&image)
		}
		return err == nil
	}
	if n == 0 || good(n-1) {
		return n, nil
	}
	readable := sort.Search(n, func(i int) bool { return !good(i) })
	if readable == 0 {
		_, err := f.stored(0)
		return 0, err
	}
	p.source.Damage = append(p.source.Damage, fmt.Errorf("read %s: %s is unreadable from row %d of %d on",
		p.source.path, p.path, readable, n))
	return readable, nil
}

// camera returns the camera, and the index of its frame in each row, -1 for none. The camera has a frame for each row
// that image_index names, or for all rows if there is no image_index.
func (p *pictures) camera(stamps []int64, devices map[string]json.RawMessage) (c *episode.Camera, frames []int,
	err error) {
	s := p.source
	c = &episode.Camera{Track: align.Track{Name: p.label, Topic: s.text(p.path, "topic")}, Device: devices[p.label],
		Raw: p.raw}
	if device := object(s.text(p.path, "device")); device != nil {
		c.Device = device
	}
	var index []int64
	if path := p.root + "/observations/image_index/" + p.name; s.file.Type(path) == h5.Set {
		index, err = integers(s.file, path)
		if err != nil {
			return nil, nil, err
		}
	}
	taken, err := s.times(p.root + "/observations/image_timestamps/" + p.name)
	if err != nil {
		return nil, nil, err
	}
	if index != nil && len(index) < len(stamps) || taken != nil && len(taken) < len(stamps) {
		return nil, nil, fmt.Errorf("%s: %d indices and %s of images for %s", p.path, len(index),
			plural.Count(len(taken), "time"), plural.Count(len(stamps), "row"))
	}
	var rows []int
	last := int64(-1)
	for i, t := range stamps {
		if index != nil && index[i] < 0 {
			frames = append(frames, -1)
			continue
		}
		if index == nil || index[i] != last {
			if taken != nil {
				t = taken[i]
			}
			rows, c.Stamps = append(rows, i), append(c.Stamps, t)
		}
		if index != nil {
			last = index[i]
		}
		frames = append(frames, len(rows)-1)
	}
	c.Open = func() (episode.Frames, error) {
		f, err := p.open()
		if err != nil {
			return nil, err
		}
		f.rows = rows
		return f, nil
	}
	return c, frames, nil
}

func (p *pictures) open() (*frames, error) {
	file := p.source.file
	if err := file.Acquire(); err != nil {
		return nil, err
	}
	set, err := file.Dataset(p.path)
	if err != nil {
		file.Release()
		return nil, err
	}
	f := &frames{set: set, file: file, bgr: p.source.text(p.path, "color") == "bgr"}
	rank := len(set.Dims)
	switch {
	case set.Kind == h5.Bytes && rank == 1, set.Kind == h5.Opaque && rank == 1,
		set.Kind == h5.String && rank == 1 && !set.Variable:
	case set.Kind == h5.Integer && set.Size == 1 && rank == 2:
	case set.Kind == h5.Integer && set.Size == 1 && rank == 4 && set.Dims[3] == 3:
		f.pixels = "rgb8"
		if f.bgr {
			f.pixels = "bgr8"
		}
	case set.Kind == h5.Integer && set.Size == 1 && rank == 3:
		f.pixels = "mono8"
	case set.Kind == h5.Integer && set.Size == 2 && rank == 3:
		f.pixels = "16UC1"
	default:
		f.Close()
		return nil, fmt.Errorf("%s: %v elements of %s are no known kind of images", p.path, set.Dims,
			plural.Count(set.Size, "byte"))
	}
	return f, nil
}

// frames reads frames of a dataset.
type frames struct {
	set    *child.Dataset
	file   *child.File // acquired until Close
	rows   []int       // by frame, its row
	pixels string      // encoding of pixels; "" for JPEGs and PNGs
	bgr    bool
	buffer []byte
}

// Frame implements episode.Frames.
func (f *frames) Frame(i int) (episode.Frame, error) {
	if i < 0 || i >= len(f.rows) {
		return episode.Frame{}, fmt.Errorf("%s: no frame %d", f.set.Path(), i)
	}
	return f.picture(f.rows[i])
}

// Close implements episode.Frames.
func (f *frames) Close() error {
	defer f.file.Release()
	return f.set.Close()
}

// picture returns the image of a row. A JPEG with its colours swapped is decoded.
func (f *frames) picture(row int) (episode.Frame, error) {
	image, err := f.stored(row)
	if err != nil && f.file.Err() == nil { // other images can be read
		err = &episode.DamagedError{Err: err}
	}
	if err != nil {
		return image, err
	}
	if !f.swapped(&image) {
		return image, nil
	}
	picture, err := image.Decode()
	if err != nil {
		return episode.Frame{}, &episode.DamagedError{Err: fmt.Errorf("%s: row %d: %w", f.set.Path(), row, err)}
	}
	rgba := pixel.RGBA(picture, nil)
	size := rgba.Bounds().Size()
	return episode.Frame{Encoding: "bgra8", Data: rgba.Pix, Width: size.X, Height: size.Y, Step: rgba.Stride}, nil
}

// swapped reports whether a stored image is a JPEG of blue, green and red.
func (f *frames) swapped(image *episode.Frame) bool { return f.bgr && image.Encoding == "jpeg" }

// stored returns the image of a row as the file has it.
func (f *frames) stored(row int) (image episode.Frame, err error) {
	if f.set.Kind == h5.Bytes {
		f.buffer, err = f.set.Sequence(row, f.buffer[:0])
	} else {
		f.buffer, err = f.set.Row(row, f.buffer[:0])
	}
	if err != nil {
		return image, err
	}
	if f.pixels != "" {
		height, width := f.set.Dims[1], f.set.Dims[2]
		return episode.Frame{Encoding: f.pixels, Data: f.buffer, Width: width, Height: height,
			Step: len(f.buffer) / max(height, 1)}, nil
	}
	switch {
	case bytes.HasPrefix(f.buffer, []byte("\x89PNG")):
		return episode.Frame{Encoding: "png", Data: f.buffer}, nil
	case bytes.HasPrefix(f.buffer, []byte("\xff\xd8")):
		return episode.Frame{Encoding: "jpeg", Data: bytes.TrimRight(f.buffer, "\x00")}, nil
	case len(f.buffer) == 0:
		err = errors.New("no image")
	default:
		err = fmt.Errorf("neither JPEG nor PNG, it begins with %x", f.buffer[:min(len(f.buffer), 8)])
	}
	return image, fmt.Errorf("%s: row %d: %w", f.set.Path(), row, err)
}
