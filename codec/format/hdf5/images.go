package hdf5

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"tapedeck/codec/format/hdf5/internal/h5"
	"tapedeck/codec/training/episode"
)

// survey reads the JPEGs and PNGs of all cameras, and returns an error if any is damaged. decoded reports that writing
// will decode JPEGs; then survey decodes them, too.
func survey(rows *episode.Rows, decoded bool) error {
	return episode.EachCamera(rows.Episode.Cameras, func(i int, c *episode.Camera) (episode.DamagedFrames, error) {
		indices := slices.Compact(slices.Clone(rows.Frames[i]))
		return c.EachWhole(indices, func(_ int, f *episode.Frame) error {
			if f == nil || !f.Compressed() {
				return nil
			}
			err := f.CheckWhole()
			if err == nil && decoded && f.Encoding == "jpeg" {
				_, err = f.Decode()
			}
			if err != nil {
				return &episode.DamagedError{Err: err}
			}
			return nil
		})
	})
}

// images writes the images of all cameras, and the index of each row's frame.
func (w *episodeWriter) images() error {
	e := w.rows.Episode
	images := map[string]string{} // by camera, the name of the dataset of its images
	taken := map[string]bool{}
	// The black images of a camera without frames have the size of another camera's images.
	black := size{640, 480}
	var missing []int
	for i, c := range e.Cameras {
		name := imageName(c.Name)
		if taken[name] || images[c.Name] != "" {
			return fmt.Errorf("two cameras have the name %s", name)
		}
		images[c.Name], taken[name] = name, true
		if !slices.ContainsFunc(w.rows.Frames[i], func(f int) bool { return f >= 0 }) {
			missing = append(missing, i)
			continue
		}
		var err error
		black, err = w.camera(i, name, black)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	for _, i := range missing {
		if _, err := w.camera(i, images[e.Cameras[i].Name], black); err != nil {
			return fmt.Errorf("%s: %w", e.Cameras[i].Name, err)
		}
	}
	for _, link := range slices.Sorted(maps.Keys(w.options.Links)) {
		target := images[w.options.Links[link]]
		if target == "" || taken[pathName(link)] {
			continue
		}
		for _, group := range []string{"/observations/images/", "/observations/images_depth/"} {
			if w.file.Type(w.root+group+target) == h5.None {
				continue
			}
			if err := w.file.LinkSoft(w.root+group+target, w.root+group+pathName(link)); err != nil {
				return err
			}
		}
	}
	return w.compressLen()
}

// compressLen writes the lengths of padded JPEGs as act-plus-plus does: a row for each camera, sorted by name.
func (w *episodeWriter) compressLen() error {
	if len(w.lengths) == 0 {
		return nil
	}
	var all []float32
	names := slices.Sorted(maps.Keys(w.lengths))
	for _, name := range names {
		for _, n := range w.lengths[name] {
			all = append(all, float32(n))
		}
	}
	path := w.root + "/compress_len"
	return errors.Join(h5.Put(w.file, path, all, len(names), w.n), w.file.SetAttribute(path, "cameras", marshal(names)))
}

// size is the size of an image in pixels.
type size struct{ width, height int }

// camera writes the images of a camera and returns their size.
func (w *episodeWriter) camera(i int, name string, black size) (size, error) {
	c, indices := w.rows.Episode.Cameras[i], w.rows.Frames[i]
	if err := w.indices(name, c, indices); err != nil {
		return size{}, err
	}
	p := painter{images: w.options.Images, swap: w.options.SwapRB, quality: w.options.Quality, size: black}
	if first := slices.IndexFunc(indices, func(f int) bool { return f >= 0 }); first >= 0 {
		err := c.EachFrame(indices[first:first+1], func(_ int, f *episode.Frame) error {
			if err := p.measure(f); err != nil {
				return fmt.Errorf("frame %d: %w", indices[first], err)
			}
			return nil
		})
		if err != nil {
			return size{}, err
		}
	}

	write, end, path, err := w.sink(name, &p)
	if err != nil {
		return size{}, err
	}
	err = c.Encode(indices, w.options.Workers, p.paint, write)
	err = errors.Join(err, end(err == nil))
	if err != nil {
		return size{}, err
	}
	add := w.lost.Of(cmp.Or(c.Topic, c.Name))
	p.lost.Each(add)
	if n := p.remade.Load(); n > 0 {
		add("pixels of images that become JPEGs, which --images raw keeps", uint64(n))
	}
	return p.size, setAttributes(w.file, path, map[string]any{
		"camera": c.Name, "topic": c.Topic, "device": string(c.Device), "encoding": p.encoding(), "color": p.color(),
		"order": int64(i), "width": int64(p.size.width), "height": int64(p.size.height),
	})
}

// indices writes the index and time of each row's frame.
func (w *episodeWriter) indices(name string, c *episode.Camera, frames []int) error {
	index, stamps, exact, valid := make([]int64, w.n), make([]float64, w.n), make([]int64, w.n), make([]uint8, w.n)
	distinct, last := 0, -1
	for i, f := range frames {
		index[i] = int64(f)
		if f < 0 {
			continue
		}
		if f != last {
			distinct, last = distinct+1, f
		}
		stamps[i], exact[i], valid[i] = seconds(c.Stamps[f]), c.Stamps[f], 1
	}
	w.written.cameras[c.Name] = distinct
	return errors.Join(putIn(w, "image_index/"+name, index), putIn(w, "image_timestamps/"+name, stamps),
		putIn(w, "image_timestamps_ns/"+name, exact), putIn(w, "image_valid/"+name, valid))
}

// putIn writes numbers in a group of the observations.
func putIn[T h5.Number](w *episodeWriter, name string, values []T) error {
	at := w.root + "/observations/" + name
	return errors.Join(w.file.MakeGroup(path.Dir(at)), h5.Put(w.file, at, values, len(values)))
}

// sink returns the path of a camera's images, a function that writes images, and a function that ends writing. ok
// reports whether all images were written.
func (w *episodeWriter) sink(name string, p *painter) (write func(at int, items [][]byte) error,
	end func(ok bool) error, path string, err error) {
	group := w.root + "/observations/images"
	if p.depth {
		group += "_depth"
		if err := w.file.MakeGroup(group); err != nil {
			return nil, nil, "", err
		}
	}
	path = group + "/" + name
	var set *h5.Dataset
	write = func(at int, items [][]byte) error {
		for i, item := range items {
			if err := set.WriteRow(at+i, item); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case p.depth:
		set, err = h5.CreateRows[uint16](w.file, path, true, w.n, p.size.height, p.size.width)
	case p.images == ImagesRaw:
		w.pixels = true
		set, err = h5.CreateRows[uint8](w.file, path, false, w.n, p.size.height, p.size.width, 3)
	case p.images == ImagesPadded:
		s, err := newSpool(w.file, path, func(lengths []int) { w.lengths[name] = lengths })
		return s.write, s.close, path, err
	default:
		set, err = w.file.CreateSequences(path, w.n)
		write = func(at int, items [][]byte) error { return set.WriteSequences(at, items) }
	}
	return write, func(bool) error { return set.Close() }, path, err
}

// spool keeps pictures in a temporary file until the length of the longest one is known, and then writes all pictures
// with padding.
type spool struct {
	file    *h5.File
	path    string
	on      *os.File
	buffer  *bufio.Writer
	lengths []int
	report  func(lengths []int) // called at the end with the lengths of all pictures
}

func newSpool(file *h5.File, path string, report func([]int)) (*spool, error) {
	on, err := os.CreateTemp(filepath.Dir(file.Path()), ".images-*")
	if err != nil {
		return nil, err
	}
	os.Remove(on.Name())
	return &spool{file: file, path: path, on: on, buffer: bufio.NewWriterSize(on, 1<<20), report: report}, nil
}

func (s *spool) write(_ int, items [][]byte) error {
	for _, item := range items {
		s.lengths = append(s.lengths, len(item))
		if _, err := s.buffer.Write(item); err != nil {
			return err
		}
	}
	return nil
}

func (s *spool) close(ok bool) error {
	defer s.on.Close()
	s.report(s.lengths)
	if !ok {
		return nil
	}
	if err := s.buffer.Flush(); err != nil {
		return err
	}
	if _, err := s.on.Seek(0, io.SeekStart); err != nil {
		return err
	}
	row := make([]byte, slices.Max(s.lengths))
	set, err := h5.CreateRows[uint8](s.file, s.path, false, len(s.lengths), len(row))
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.on, 1<<20)
	for i, n := range s.lengths {
		if _, err := io.ReadFull(in, row[:n]); err != nil {
			return err
		}
		clear(row[n:])
		if err := set.WriteRow(i, row); err != nil {
			return err
		}
	}
	return set.Close()
}
