package lerobot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tapedeck/codec"
	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/episode"
)

// chunkFiles is the number of files in a folder.
var chunkFiles = 1000

// partSuffix is the end of the folder's name while a dataset is written.
const partSuffix = ".part"

// Writer writes a dataset episode by episode. It is not for concurrent use.
type Writer struct {
	path, part string
	options    Options
	encoder    *ffmpeg.Encoder            // preferred encoder of colours; small images may need another one
	encoders   map[string]*ffmpeg.Encoder // by feature, the encoder of its videos
	remarks    []string
	lost       codec.LossCounts
	err        error // why nothing more can be written

	info  info
	notes notes
	tasks []string
	rows  []*episodeRow

	data     *table
	dataAt   fileIndex
	dataRows int // in the open file
	videos   map[string]*video
	videosAt map[string]fileIndex
}

// Create begins a dataset in the folder path, which must not exist. Until Close the folder's name is path.part. An
// older folder path.part is removed.
func Create(path string, o Options) (*Writer, error) {
	fail := func(err error) (*Writer, error) { return nil, fmt.Errorf("create %s: %w", path, err) }
	if err := o.Check(); err != nil {
		return fail(err)
	}
	w := &Writer{path: path, part: filepath.Clean(path) + partSuffix, options: o.withDefaults(),
		videos: map[string]*video{}, videosAt: map[string]fileIndex{}, encoders: map[string]*ffmpeg.Encoder{},
		lost: codec.LossCounts{}}
	if _, err := os.Lstat(path); err == nil {
		return fail(fmt.Errorf("%w; name another output or use --overwrite", fs.ErrExist))
	}
	if o.Video {
		var err error
		w.encoder, err = chooseEncoder(o.Codec, videoCodecs...)
		if err != nil {
			return fail(err)
		}
	}
	if err := os.RemoveAll(w.part); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Join(w.part, "meta"), 0o777); err != nil {
		return fail(err)
	}
	w.info = info{
		Version: Version, ChunkSize: chunkFiles,
		DataFileSize: max(w.options.DataFileSize/mb, 1), VideoFileSize: max(w.options.VideoFileSize/mb, 1),
		DataPath: dataPath,
	}
	if o.Video {
		template := videoPath
		w.info.VideoPath = &template
	}
	if o.RobotType != "" {
		w.info.RobotType = &w.options.RobotType
	}
	w.notes = notes{Columns: map[string][]noteColumn{}, Cameras: map[string]string{}, Episodes: []noteEpisode{}}
	return w, nil
}

// Notes returns remarks on the written dataset.
func (w *Writer) Notes() []string { return w.remarks }

// Losses returns the losses of images in videos and tables, and the rows that make no episode.
func (w *Writer) Losses() []codec.Loss { return w.lost.Losses() }

// Write appends an episode that was aligned on a fixed timeline. After an episode.UnwrittenError, other episodes can be
// written; after any other error, none.
func (w *Writer) Write(r *episode.Rows) error {
	broken := func() error { return fmt.Errorf("write %s: %s: %w", w.path, r.Episode.Name, w.err) }
	fail := func(err error) error {
		return &episode.UnwrittenError{Err: fmt.Errorf("write %s: %s: %w", w.path, r.Episode.Name, err)}
	}
	if w.err != nil {
		return broken()
	}
	fps, err := w.rate(r)
	if err != nil {
		return fail(err)
	}
	stretches, err := spans(r.Stamps, fps)
	if err != nil {
		return fail(err)
	}
	if len(stretches) > 1 {
		if w.options.Holes == HolesRefuse {
			where := fmt.Sprintf("after row %d", stretches[0].n-1)
			if more := len(stretches) - 2; more > 0 {
				where += " and in " + plural.Count(more, "more place")
			}
			return fail(fmt.Errorf("rows are missing %s (%s): avoid this, for example with --missing-image hold, or "+
				"split the episode there with --holes split", where, r.Report.Losses()))
		}
		kept := slices.DeleteFunc(slices.Clone(stretches), func(s span) bool { return s.n < 2 })
		if single := len(stretches) - len(kept); single > 0 {
			w.lost.Add(r.Episode.Name, "rows with none before and after them, too few for an episode", uint64(single))
		}
		r.Report.Split, r.Report.Single = len(kept), len(stretches)-len(kept)
		stretches = kept
	}
	vectors, err := vectors(r, w.options.State)
	if err != nil {
		return fail(err)
	}
	var all []*prepared
	for i, s := range stretches {
		t, err := w.prepare(r, vectors, s)
		if err != nil {
			return fail(err)
		}
		t.name = r.Episode.Name
		if len(stretches) > 1 {
			t.name += "_" + strconv.Itoa(i)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return fail(errors.New("no two consecutive rows"))
	}
	if len(w.rows) == 0 {
		w.begin(fps, all[0])
	}
	for _, t := range all {
		if err := w.put(t); err != nil {
			w.err = fmt.Errorf("the dataset cannot be completed: %w", err)
			return broken()
		}
	}
	return nil
}

// rate returns the rows per second of the dataset.
func (w *Writer) rate(r *episode.Rows) (int, error) {
	rate, fps := r.Options.Rate(), int(w.info.FPS)
	switch {
	case len(r.Stamps) < 2:
		return 0, errors.New("fewer than two rows")
	case fps > 0:
		if rate != 0 && rate != w.info.FPS {
			return 0, fmt.Errorf("it has %v rows per second, the dataset %d: align on the timeline fixed:%d",
				rate, fps, fps)
		}
		return fps, nil
	case rate == 0:
		return 0, errors.New("LeRobot needs rows at a fixed rate: align on a timeline such as fixed:30")
	case rate != float64(int(rate)):
		return 0, fmt.Errorf("LeRobot needs a whole number of rows per second, not %v: align on a timeline such as "+
			"fixed:%d",
			rate, max(1, int(rate+0.5)))
	}
	return int(rate), nil
}

// Close completes the dataset and renames it to its path. A dataset without episodes is an error.
func (w *Writer) Close() error {
	if err := w.complete(); err != nil {
		w.Abort()
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	return nil
}

// Abort removes what has been written of the dataset.
func (w *Writer) Abort() {
	if w.err == nil {
		w.err = errors.New("the dataset is closed")
	}
	if w.data != nil {
		w.data.abort()
		w.data = nil
	}
	for _, v := range w.videos {
		v.abort()
	}
	w.videos = nil
	_ = os.RemoveAll(w.part)
}

func (w *Writer) complete() error {
	if w.err != nil {
		return w.err
	}
	if len(w.rows) == 0 {
		return errors.New("no episodes")
	}
	err := w.data.close()
	w.data = nil
	if err != nil {
		return err
	}
	for _, v := range w.videos {
		if err := v.close(); err != nil {
			return err
		}
	}
	if err := w.meta(); err != nil {
		return err
	}
	if err := w.sync(); err != nil {
		return err
	}
	w.err = errors.New("the dataset is closed")
	if err := os.Rename(w.part, w.path); err != nil {
		return err
	}
	codec.OS{}.SyncFolder(filepath.Dir(filepath.Clean(w.path)))
	return nil
}

// sync waits until the disk has all files, also those that ffmpeg wrote. So a dataset that has its final name is whole
// even after a power failure.
func (w *Writer) sync() error {
	return filepath.WalkDir(w.part, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			codec.OS{}.SyncFolder(path)
			return nil
		}
		return codec.SyncFile(path)
	})
}
