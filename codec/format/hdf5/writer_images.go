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

	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/training/episode"
)

// checkImages returns an error if a JPEG or PNG of any camera is damaged. If decode, checkImages also decodes JPEGs,
// because writing will decode them.
func checkImages(rows *episode.Rows, decode bool) error {
	return episode.EachCamera(rows.Episode.Cameras, func(i int, c *episode.Camera) (episode.DamagedFrames, error) {
		indices := slices.Compact(slices.Clone(rows.Frames[i]))
		return c.EachWhole(indices, func(_ int, f *episode.Frame) error {
			if f == nil || !f.Compressed() {
				return nil
			}
			err := f.CheckWhole()
			if err == nil && decode && f.Encoding == "jpeg" {
				_, err = f.Decode()
			}
			if err != nil {
				return &episode.DamagedError{Err: err}
			}
			return nil
		})
	})
}

// writeImages writes the images of all cameras, and the index of each row's frame.
func (w *episodeWriter) writeImages() error {
	e := w.rows.Episode
	datasets := map[string]string{} // names of the datasets of images, by camera
	used := map[string]bool{}       // names of the datasets in datasets
	// The black images of a camera without frames have the size of another camera's images, or this size.
	black := size{640, 480}
	var frameless []int // indices of cameras without frames
	for i, c := range e.Cameras {
		name := imageName(c.Name)
		if used[name] || datasets[c.Name] != "" {
			return fmt.Errorf("two cameras have the name %s", name)
		}
		datasets[c.Name], used[name] = name, true
		if !slices.ContainsFunc(w.rows.Frames[i], func(f int) bool { return f >= 0 }) {
			frameless = append(frameless, i)
			continue
		}
		var err error
		black, err = w.writeCamera(i, name, black)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	for _, i := range frameless {
		if _, err := w.writeCamera(i, datasets[e.Cameras[i].Name], black); err != nil {
			return fmt.Errorf("%s: %w", e.Cameras[i].Name, err)
		}
	}
	if err := w.writeLinks(datasets, used); err != nil {
		return err
	}
	return w.writeCompressLen()
}

// writeLinks writes the links of the options. datasets are the names of the datasets of images, by camera. A link with
// the name of a dataset, which is in used, is omitted.
func (w *episodeWriter) writeLinks(datasets map[string]string, used map[string]bool) error {
	for _, link := range slices.Sorted(maps.Keys(w.options.Links)) {
		target := datasets[w.options.Links[link]]
		if target == "" || used[pathName(link)] {
			continue
		}
		for _, group := range []string{"/observations/images/", depthGroup} {
			if w.file.Type(w.root+group+target) == h5type.NoObject {
				continue
			}
			if err := w.file.LinkSoft(w.root+group+target, w.root+group+pathName(link)); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeCompressLen writes the lengths of padded JPEGs in act-plus-plus's dataset compress_len. It has a row for each
// camera, sorted by the name of the dataset of images.
func (w *episodeWriter) writeCompressLen() error {
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
	return errors.Join(child.Put(w.file, path, all, len(names), w.n),
		w.file.SetAttribute(path, "cameras", marshal(names)))
}

// size is the size of an image in pixels.
type size struct{ width, height int }

// writeCamera writes the images of camera i to the dataset with the given name, and returns the size of an image. black
// is the size of images if the camera has no frames.
func (w *episodeWriter) writeCamera(i int, name string, black size) (size, error) {
	c, indices := w.rows.Episode.Cameras[i], w.rows.Frames[i]
	if err := w.writeFrameIndices(name, c, indices); err != nil {
		return size{}, err
	}
	encoder := imageEncoder{images: w.options.Images, swap: w.options.SwapRB, quality: w.options.Quality, size: black}
	if first := slices.IndexFunc(indices, func(f int) bool { return f >= 0 }); first >= 0 {
		err := c.EachFrame(indices[first:first+1], func(_ int, f *episode.Frame) error {
			if err := encoder.configure(f); err != nil {
				return fmt.Errorf("frame %d: %w", indices[first], err)
			}
			return nil
		})
		if err != nil {
			return size{}, err
		}
	}

	dataset, err := w.createImages(name, &encoder)
	if err != nil {
		return size{}, err
	}
	err = c.Encode(indices, w.options.Workers, encoder.encodeFrame, dataset.write)
	err = errors.Join(err, dataset.close(err == nil))
	if err != nil {
		return size{}, err
	}
	add := w.lost.Of(cmp.Or(c.Topic, c.Name))
	encoder.lost.Each(add)
	if n := encoder.recompressed.Load(); n > 0 {
		add("pixels of images that become JPEGs, which --images raw keeps", uint64(n))
	}
	return encoder.size, setAttributes(w.file, dataset.path, map[string]any{
		"camera": c.Name, "topic": c.Topic, "device": string(c.Device),
		"encoding": encoder.encoding(), "color": encoder.color(), "order": int64(i),
		"width": int64(encoder.size.width), "height": int64(encoder.size.height),
	})
}

// writeFrameIndices writes the index and the time of each row's frame. A row without a frame has the index -1.
func (w *episodeWriter) writeFrameIndices(name string, c *episode.Camera, frames []int) error {
	index, stamps, stampsNS, valid := make([]int64, w.n), make([]float64, w.n), make([]int64, w.n), make([]uint8, w.n)
	distinct, last := 0, -1
	for i, f := range frames {
		index[i] = int64(f)
		if f < 0 {
			continue
		}
		if f != last {
			distinct, last = distinct+1, f
		}
		stamps[i], stampsNS[i], valid[i] = seconds(c.Stamps[f]), c.Stamps[f], 1
	}
	w.written.frames[c.Name] = distinct
	return errors.Join(
		putObservation(w, "image_index/"+name, index),
		putObservation(w, "image_timestamps/"+name, stamps),
		putObservation(w, "image_timestamps_ns/"+name, stampsNS),
		putObservation(w, "image_valid/"+name, valid))
}

// putObservation writes a dataset of numbers in the group of observations. name is the dataset's path in this group.
func putObservation[T h5type.Number](w *episodeWriter, name string, values []T) error {
	dataset := w.root + "/observations/" + name
	return errors.Join(w.file.MakeGroup(path.Dir(dataset)), child.Put(w.file, dataset, values, len(values)))
}

// imageWriter writes a dataset of images.
type imageWriter struct {
	path  string                                 // path of the dataset
	write func(start int, images [][]byte) error // writes images, the first one to row start
	close func(complete bool) error              // complete reports whether all images were written
}

// createImages creates the dataset of a camera's images.
func (w *episodeWriter) createImages(name string, e *imageEncoder) (imageWriter, error) {
	group := w.root + "/observations/images"
	if e.depth {
		group += "_depth"
		if err := w.file.MakeGroup(group); err != nil {
			return imageWriter{}, err
		}
	}
	path := group + "/" + name
	var set *child.NewDataset // nil for padded JPEGs
	var err error
	write := func(start int, images [][]byte) error {
		for i, image := range images {
			if err := set.WriteRow(start+i, image); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case e.depth:
		set, err = child.CreateRows[uint16](w.file, path, true, w.n, e.size.height, e.size.width)
	case e.images == ImagesRaw:
		w.pixels = true
		set, err = child.CreateRows[uint8](w.file, path, false, w.n, e.size.height, e.size.width, 3)
	case e.images == ImagesPadded:
		s, err := newSpool(w.file, path, func(lengths []int) { w.lengths[name] = lengths })
		return imageWriter{path, s.write, s.close}, err
	default:
		set, err = w.file.CreateSequences(path, w.n)
		write = func(start int, images [][]byte) error { return set.WriteSequences(start, images) }
	}
	return imageWriter{path, write, func(bool) error { return set.Close() }}, err
}

// spool keeps images in a temporary file until the length of the longest one is known, and then writes all images with
// padding to a dataset.
type spool struct {
	file       *child.Writer
	path       string   // path of the dataset in file
	temporary  *os.File // images one after the other; the file has no name
	buffer     *bufio.Writer
	lengths    []int               // bytes of each image
	setLengths func(lengths []int) // receives lengths when the spool is closed
}

func newSpool(file *child.Writer, path string, setLengths func([]int)) (*spool, error) {
	temporary, err := os.CreateTemp(filepath.Dir(file.Path()), ".images-*")
	if err != nil {
		return nil, err
	}
	os.Remove(temporary.Name())
	return &spool{file: file, path: path, temporary: temporary, buffer: bufio.NewWriterSize(temporary, 1<<20),
		setLengths: setLengths}, nil
}

// write appends images to the temporary file.
func (s *spool) write(_ int, images [][]byte) error {
	for _, image := range images {
		s.lengths = append(s.lengths, len(image))
		if _, err := s.buffer.Write(image); err != nil {
			return err
		}
	}
	return nil
}

// close writes the dataset if all images were written to the spool.
func (s *spool) close(complete bool) error {
	defer s.temporary.Close()
	s.setLengths(s.lengths)
	if !complete {
		return nil
	}
	if err := s.buffer.Flush(); err != nil {
		return err
	}
	if _, err := s.temporary.Seek(0, io.SeekStart); err != nil {
		return err
	}
	row := make([]byte, slices.Max(s.lengths))
	set, err := child.CreateRows[uint8](s.file, s.path, false, len(s.lengths), len(row))
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.temporary, 1<<20)
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
