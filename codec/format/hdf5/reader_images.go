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
	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// imageDataset is the dataset of a camera's images in a file.
type imageDataset struct {
	source *source
	root   string // prefix of the paths of the episode's objects
	path   string
	name   string // last element of path
	camera string // name of the camera
	order  int64  // position among the cameras of the episode; 1 << 32 if unknown
	raw    bool   // value of episode.Camera.Raw
}

// depthGroup is the group of depth images in an episode.
const depthGroup = "/observations/images_depth/"

// findImages returns the readable images of all cameras, in the order of the cameras. It adds their numbers of rows to
// r.lengths.
func (r *episodeReader) findImages() ([]*imageDataset, error) {
	var all []*imageDataset
	for _, group := range []string{"/observations/images/", depthGroup} {
		if r.file.Type(r.root+group) != h5type.GroupObject {
			continue
		}
		names, err := r.file.List(r.root + group)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			d, err := r.openImages(group, name)
			if err != nil {
				return nil, err
			}
			if d != nil {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *imageDataset) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(trailingNumber(a.camera), trailingNumber(b.camera)),
			cmp.Compare(a.camera, b.camera))
	})
	return all, nil
}

// openImages returns the dataset of images with a name in a group, or nil if there is none. It omits an unreadable
// dataset. It returns the error that ended the reading process.
func (r *episodeReader) openImages(group, name string) (*imageDataset, error) {
	d := &imageDataset{source: r.source, root: r.root, path: r.root + group + name, name: name,
		camera: cameraName(name), order: 1 << 32}
	switch r.file.Type(d.path) {
	case h5type.DatasetObject:
	case h5type.NoObject:
		r.Damage = append(r.Damage, &episode.MissingFileError{Path: r.path + ":" + d.path, Camera: d.camera,
			Err: errBrokenLink})
		return nil, nil
	default:
		return nil, nil
	}
	if camera := r.text(d.path, "camera"); camera != "" {
		d.camera = camera
	}
	if order, ok := r.file.Attribute(d.path, "order").(int64); ok {
		d.order = order
	}
	n, err := d.countReadable()
	if failed := r.file.Err(); failed != nil {
		return nil, failed
	}
	if n == 0 && err == nil {
		err = errors.New("the dataset has no images")
	}
	if err != nil {
		r.omit(d.path, "cameras", err)
		return nil, nil
	}
	r.lengths[d.path] = n
	return d, nil
}

// uniqueName returns a name for the camera that no other camera of the episode has. In files of other tools, the colour
// and depth images of a camera often have one name.
func (d *imageDataset) uniqueName(others []*episode.Camera) string {
	names := []string{d.camera, d.name}
	if strings.Contains(d.path, depthGroup) {
		names = append(names, d.name+"_depth")
	}
	for i := 0; ; i++ {
		if i >= len(names) {
			names = append(names, fmt.Sprintf("%s_%d", d.name, i))
		}
		if !slices.ContainsFunc(others, func(c *episode.Camera) bool { return c.Name == names[i] }) {
			return names[i]
		}
	}
}

// cameraName returns the name of the camera for which imageName returns image.
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

// countReadable returns the number of readable rows, and sets d.raw. The last rows are unreadable if the writer was
// killed before it wrote them.
func (d *imageDataset) countReadable() (int, error) {
	f, err := d.open()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n := f.set.Len()
	ok := func(i int) bool {
		image, err := f.storedImage(i)
		if err == nil {
			d.raw = !image.Compressed() || f.isBGRJPEG(&image)
		}
		return err == nil
	}
	if n == 0 || ok(n-1) {
		return n, nil
	}
	readable := sort.Search(n, func(i int) bool { return !ok(i) })
	if readable == 0 {
		_, err := f.storedImage(0)
		return 0, err
	}
	d.source.Damage = append(d.source.Damage, fmt.Errorf("read %s: %s is unreadable from row %d of %d on",
		d.source.path, d.path, readable, n))
	return readable, nil
}

// readCamera returns the camera, and for each row the index of a frame of the camera, or -1. Consecutive rows with
// equal numbers in image_index have one frame. Without image_index, each row has a frame.
func (d *imageDataset) readCamera(stamps []int64, devices map[string]json.RawMessage) (c *episode.Camera, frames []int,
	err error) {
	s := d.source
	c = &episode.Camera{Track: align.Track{Name: d.camera, Topic: s.text(d.path, "topic")}, Device: devices[d.camera],
		Raw: d.raw}
	if device := jsonObject(s.text(d.path, "device")); device != nil {
		c.Device = device
	}
	var index []int64
	if path := d.root + "/observations/image_index/" + d.name; s.file.Type(path) == h5type.DatasetObject {
		index, err = integers(s.file, path)
		if err != nil {
			return nil, nil, err
		}
	}
	captured, err := s.times(d.root + "/observations/image_timestamps/" + d.name)
	if err != nil {
		return nil, nil, err
	}
	if index != nil && len(index) < len(stamps) || captured != nil && len(captured) < len(stamps) {
		return nil, nil, fmt.Errorf("%s: %d indices and %s of images for %s", d.path, len(index),
			plural.Count(len(captured), "time"), plural.Count(len(stamps), "row"))
	}
	var rows []int // row of each frame
	last := int64(-1)
	for i, t := range stamps {
		if index != nil && index[i] < 0 {
			frames = append(frames, -1)
			continue
		}
		if index == nil || index[i] != last {
			if captured != nil {
				t = captured[i]
			}
			rows, c.Stamps = append(rows, i), append(c.Stamps, t)
		}
		if index != nil {
			last = index[i]
		}
		frames = append(frames, len(rows)-1)
	}
	c.Open = func() (episode.Frames, error) {
		f, err := d.open()
		if err != nil {
			return nil, err
		}
		f.rows = rows
		return f, nil
	}
	return c, frames, nil
}

// open opens the dataset, and checks that its elements can be images.
func (d *imageDataset) open() (*frameReader, error) {
	file := d.source.file
	if err := file.Acquire(); err != nil {
		return nil, err
	}
	set, err := file.Dataset(d.path)
	if err != nil {
		file.Release()
		return nil, err
	}
	f := &frameReader{set: set, file: file, bgr: d.source.text(d.path, "color") == "bgr"}
	rank := len(set.Dims)
	switch {
	case set.Kind == h5type.Bytes && rank == 1, set.Kind == h5type.Opaque && rank == 1,
		set.Kind == h5type.String && rank == 1 && !set.Variable:
	case set.Kind == h5type.Integer && set.Size == 1 && rank == 2:
	case set.Kind == h5type.Integer && set.Size == 1 && rank == 4 && set.Dims[3] == 3:
		f.pixels = "rgb8"
		if f.bgr {
			f.pixels = "bgr8"
		}
	case set.Kind == h5type.Integer && set.Size == 1 && rank == 3:
		f.pixels = "mono8"
	case set.Kind == h5type.Integer && set.Size == 2 && rank == 3:
		f.pixels = "16UC1"
	default:
		f.Close()
		return nil, fmt.Errorf("%s: not images: a dataset of shape %v with elements of %s", d.path, set.Dims,
			plural.Count(set.Size, "byte"))
	}
	return f, nil
}

// frameReader reads the frames of a camera from a dataset.
type frameReader struct {
	set    *child.Dataset
	file   *child.File // acquired until Close
	rows   []int       // row of each frame in the dataset
	pixels string      // encoding of pixels; "" for JPEGs and PNGs
	bgr    bool        // pixels and JPEGs have red and blue swapped
	buffer []byte      // memory of the last image
}

// Frame implements episode.Frames.
func (f *frameReader) Frame(i int) (episode.Frame, error) {
	if i < 0 || i >= len(f.rows) {
		return episode.Frame{}, fmt.Errorf("%s: no frame %d", f.set.Path(), i)
	}
	return f.image(f.rows[i])
}

// Close implements episode.Frames.
func (f *frameReader) Close() error {
	defer f.file.Release()
	return f.set.Close()
}

// image returns the image of a row. It decodes a JPEG with red and blue swapped, to swap them back.
func (f *frameReader) image(row int) (episode.Frame, error) {
	image, err := f.storedImage(row)
	if err != nil && f.file.Err() == nil { // only this image is unreadable
		err = &episode.DamagedError{Err: err}
	}
	if err != nil {
		return image, err
	}
	if !f.isBGRJPEG(&image) {
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

// isBGRJPEG reports whether a stored image is a JPEG with red and blue swapped.
func (f *frameReader) isBGRJPEG(image *episode.Frame) bool { return f.bgr && image.Encoding == "jpeg" }

// storedImage returns the image of a row as the file stores it.
func (f *frameReader) storedImage(row int) (image episode.Frame, err error) {
	if f.set.Kind == h5type.Bytes {
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
		err = fmt.Errorf("neither a JPEG nor a PNG: the image begins with %x", f.buffer[:min(len(f.buffer), 8)])
	}
	return image, fmt.Errorf("%s: row %d: %w", f.set.Path(), row, err)
}
