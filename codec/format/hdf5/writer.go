package hdf5

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"tapedeck/codec"
	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// layoutVersion is EasyTeleop's version of the layout.
const layoutVersion = "1.0"

// Writer writes a file. Until Close, the file's name has the suffix .part.
type Writer struct {
	file    *child.Writer // nil after Close
	path    string        // path after Close
	options Options       // with defaults instead of zero values

	episodes []*writtenEpisode
	summary  summary
	lost     codec.LossCounts
	err      error // first error of Write, or the error of Abort
}

// writtenEpisode is the expected content of a written episode. Writer.verify compares the file with it.
type writtenEpisode struct {
	rows   int
	frames map[string]int // number of frames by name of the camera
}

// Create begins to write a file at path. It overwrites path+".part". An existing file at path is an error.
func Create(path string, o Options) (*Writer, error) {
	if err := cmp.Or(o.Check(), child.Available()); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	o.Images, o.JointUnit, o.Quality = cmp.Or(o.Images, ImagesVLen), cmp.Or(o.JointUnit, JointRad),
		cmp.Or(o.Quality, 95)
	if o.Links == nil {
		o.Links = defaultLinks
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("create %s: %w; name another output or use --overwrite", path, fs.ErrExist)
	}
	file, err := child.Create(path + ".part")
	if err != nil {
		return nil, err
	}
	return &Writer{file: file, path: path, options: o, lost: codec.LossCounts{}}, nil
}

// Losses returns the losses of images that were stored as JPEGs, pixels or depths.
func (w *Writer) Losses() []codec.Loss { return w.lost.Losses() }

// Write appends an episode. Rows without a frame get a black image. After an error other than episode.DamagedFrames,
// nothing more can be written.
func (w *Writer) Write(rows *episode.Rows) error {
	if w.err != nil {
		return w.err
	}
	err := checkImages(rows, w.options.Images == ImagesRaw || w.options.SwapRB)
	if errors.As(err, new(episode.DamagedFrames)) {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	if err == nil {
		err = w.write(rows)
	}
	if err != nil {
		w.err = fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.err
}

// write appends an episode whose images are not damaged.
func (w *Writer) write(rows *episode.Rows) error {
	e := &episodeWriter{
		file: w.file, options: &w.options, rows: rows, n: len(rows.Stamps),
		root: fmt.Sprintf("/episodes/episode_%d", len(w.episodes)), written: &writtenEpisode{frames: map[string]int{}},
		lengths: map[string][]int{}, lost: w.lost,
	}
	if e.n == 0 {
		return errors.New("no rows")
	}
	if err := e.write(); err != nil {
		return err
	}
	if len(w.episodes) == 0 {
		if err := w.writeRoot(e); err != nil {
			return err
		}
	}
	w.episodes = append(w.episodes, e.written)
	w.summary.add(rows.Episode, rows.Stamps[0], e.n)
	return nil
}

// summary is the content of /metadata and /info, which describe the episodes of a file.
type summary struct {
	cameras []string  // JSON descriptions of cameras, in order
	robots  []string  // JSON descriptions of arms, in order
	starts  []float64 // start of each episode in s
	frames  int64     // number of rows of all episodes
	arms    int       // greatest number of arms of an episode
}

// add adds an episode of a number of rows to the summary. start is the time of the first row in ns.
func (s *summary) add(e *episode.Episode, start int64, rows int) {
	s.starts, s.frames = append(s.starts, seconds(start)), s.frames+int64(rows)
	for i, c := range e.Cameras {
		s.cameras = appendNew(s.cameras, describe(imageName(c.Name), c.Name, c.Topic, c.Device), i)
	}
	for i, a := range e.Arms {
		s.robots = appendNew(s.robots, describe(a.Name, a.Name, "", a.Device), i)
	}
	s.arms = max(s.arms, len(e.Arms))
}

// appendNew appends the description of the i-th device of an episode to the list, unless the list has that description.
func appendNew(list []string, text string, i int) []string {
	if i < len(list) && list[i] == text || slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// describe returns the JSON description of a camera or arm. name is its name in the file, source is its recorded name.
func describe(name, source, topic string, device json.RawMessage) string {
	return marshal(struct {
		Name   string          `json:"name"`
		Source string          `json:"source"`
		Topic  string          `json:"topic,omitempty"`
		Device json.RawMessage `json:"device,omitempty"`
	}{name, source, topic, device})
}

// writeRoot adds links to the objects of the first episode to the root group, and the options as attributes.
func (w *Writer) writeRoot(e *episodeWriter) error {
	for _, name := range []string{"/observations", "/action", "/actions", "/compress_len"} {
		if w.file.Type(e.root+name) == h5type.NoObject {
			continue
		}
		if err := w.file.LinkSoft(e.root+name, name); err != nil {
			return err
		}
	}
	attributes := map[string]any{"sim": false, "compress": w.options.Images != ImagesRaw && !e.pixels}
	for name, value := range e.rows.Options.Attributes() {
		attributes["alignment/"+name] = value
	}
	return setAttributes(w.file, "/", attributes)
}

// Close completes the file, reads it back to verify it, and renames it to its path. After an error of Write, or if no
// episode was written, it removes the file.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	err := w.err
	if err == nil && len(w.episodes) == 0 {
		err = fmt.Errorf("write %s: no episodes", w.path)
	}
	if err == nil {
		err = w.summary.write(w.file)
	}
	closeErr := w.file.Close()
	if err == nil {
		err = closeErr
	}
	w.file = nil
	part := w.path + ".part"
	if err == nil {
		err = w.verify(part)
		if err != nil {
			err = fmt.Errorf("verify %s: %w", part, err)
		}
	}
	if err == nil {
		err = publish(part, w.path)
	}
	if err != nil {
		os.Remove(part)
	}
	return err
}

// Abort stops writing and removes the file.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errors.New("aborted")
	}
	w.Close()
}

// publish syncs the file at part to disk and renames it to path.
func publish(part, path string) error {
	if err := codec.SyncFile(part); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	return codec.OS{}.SyncFolder(filepath.Dir(path))
}

// write writes /metadata and /info.
func (s *summary) write(f *child.Writer) error {
	if err := errors.Join(f.MakeGroup("/metadata"), f.MakeGroup("/info")); err != nil {
		return err
	}
	err := errors.Join(f.PutStrings("/metadata/cameras", s.cameras), f.PutStrings("/metadata/robots", s.robots),
		child.Put(f, "/metadata/timestamps", s.starts, len(s.starts)),
		f.PutStrings("/info/version", []string{layoutVersion}))
	numbers := map[string]int64{"total_episodes": int64(len(s.starts)), "total_frames": s.frames,
		"num_cameras": int64(len(s.cameras)), "num_arms": int64(s.arms)}
	for _, name := range slices.Sorted(maps.Keys(numbers)) {
		err = errors.Join(err, child.Put(f, "/info/"+name, []int64{numbers[name]}, 1))
	}
	return err
}

// verify compares the numbers of rows, cameras and frames of a file with the written episodes, and reads the last frame
// of each camera.
func (w *Writer) verify(path string) error {
	source, err := open(nil, path)
	if err != nil {
		return err
	}
	defer source.Close()
	episodes, err := source.readEpisodes()
	if err != nil {
		return err
	}
	if len(episodes) != len(w.episodes) {
		return fmt.Errorf("%s, want %d", plural.Count(len(episodes), "episode"), len(w.episodes))
	}
	for i, e := range episodes {
		want := w.episodes[i]
		if e.rows != want.rows || len(e.Cameras) != len(want.frames) {
			return fmt.Errorf("%s: %s, want %d; %s, want %d", e.group, plural.Count(e.rows, "row"), want.rows,
				plural.Count(len(e.Cameras), "camera"), len(want.frames))
		}
		for _, c := range e.Cameras {
			n, ok := want.frames[c.Name]
			if !ok || len(c.Stamps) != n {
				return fmt.Errorf("%s: %s of %s, want %d", e.group, plural.Count(len(c.Stamps), "frame"), c.Name, n)
			}
			if err := c.EachFrame([]int{n - 1}, func(int, *episode.Frame) error { return nil }); err != nil {
				return fmt.Errorf("%s: %w", e.group, err)
			}
		}
	}
	return nil
}

// setAttributes sets attributes of the object at path, in the order of names.
func setAttributes(f *child.Writer, path string, attributes map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := f.SetAttribute(path, name, attributes[name]); err != nil {
			return err
		}
	}
	return nil
}

// seconds returns the float64 that is nearest to a number of ns in s. float64(ns) / 1e9 is not always the nearest one,
// because ns has more digits than a float64.
func seconds(ns int64) float64 {
	s, _ := strconv.ParseFloat(strconv.FormatInt(ns, 10)+"e-9", 64)
	return s
}

// units returns the common unit of columns, or a JSON array of the units of all columns if the units differ.
func units(columns []align.Column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.Unit
	}
	if len(slices.Compact(slices.Clone(list))) <= 1 {
		if len(list) == 0 {
			return ""
		}
		return list[0]
	}
	return marshal(list)
}

// marshal returns a value as JSON, or null if it cannot be JSON.
func marshal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "null"
	}
	return string(text)
}

// float32s returns the products of values and a factor.
func float32s(values []float64, factor float64) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v * factor)
	}
	return out
}
