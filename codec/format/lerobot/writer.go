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

// chunkFiles is the greatest number of data or video files in a folder. Tests change it.
var chunkFiles = 1000

// tempSuffix is the end of the folder's name while a dataset is written.
const tempSuffix = ".part"

// Writer writes a dataset episode by episode. It is not for concurrent use.
type Writer struct {
	path     string
	tempPath string // folder of the dataset until Close
	options  Options
	encoder  *ffmpeg.Encoder            // preferred encoder of colours; small images may need another one
	encoders map[string]*ffmpeg.Encoder // by feature, the encoder of its videos
	remarks  []string
	lost     codec.LossCounts
	err      error // why nothing more can be written

	info  info
	notes notes
	tasks []string      // by task_index
	rows  []*episodeRow // one per written episode

	data     *table // table for the next rows; nil before the first episode
	dataAt   fileIndex
	dataRows int                  // number of rows in data
	videos   map[string]*video    // open videos, by feature
	videosAt map[string]fileIndex // by feature, the index of the open video
}

// Create begins a dataset in the folder path, which must not exist. Until Close the folder is path.part. Create removes
// an older folder path.part.
func Create(path string, o Options) (*Writer, error) {
	fail := func(err error) (*Writer, error) { return nil, fmt.Errorf("create %s: %w", path, err) }
	if err := o.Check(); err != nil {
		return fail(err)
	}
	w := &Writer{path: path, tempPath: filepath.Clean(path) + tempSuffix, options: o.withDefaults(),
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
	if err := os.RemoveAll(w.tempPath); err != nil {
		return fail(err)
	}
	if err := os.MkdirAll(filepath.Join(w.tempPath, "meta"), 0o777); err != nil {
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
	if w.err == nil {
		fps, episodes, err := w.prepareAll(r)
		if err != nil {
			return &episode.UnwrittenError{Err: fmt.Errorf("write %s: %s: %w", w.path, r.Episode.Name, err)}
		}
		w.err = w.writeAll(fps, episodes)
	}
	if w.err != nil {
		return fmt.Errorf("write %s: %s: %w", w.path, r.Episode.Name, w.err)
	}
	return nil
}

// prepareAll checks all rows of an episode before anything is written. It returns the rows per second of the dataset,
// and the episodes to write: several if the episode has holes.
func (w *Writer) prepareAll(r *episode.Rows) (fps int, episodes []*prepared, err error) {
	fps, err = w.rate(r)
	if err != nil {
		return 0, nil, err
	}
	stretches, err := spans(r.Stamps, fps)
	if err != nil {
		return 0, nil, err
	}
	if len(stretches) > 1 {
		stretches, err = w.splitAtHoles(r, stretches)
		if err != nil {
			return 0, nil, err
		}
	}
	vectors, err := vectors(r, w.options.State)
	if err != nil {
		return 0, nil, err
	}
	for i, s := range stretches {
		p, err := w.prepare(r, vectors, s)
		if err != nil {
			return 0, nil, err
		}
		p.name = r.Episode.Name
		if len(stretches) > 1 {
			p.name += "_" + strconv.Itoa(i)
		}
		episodes = append(episodes, p)
	}
	if len(episodes) == 0 {
		return 0, nil, errors.New("no two consecutive rows")
	}
	return fps, episodes, nil
}

// splitAtHoles returns the stretches of at least two rows, which become episodes. It counts single rows as losses. With
// HolesRefuse it returns an error.
func (w *Writer) splitAtHoles(r *episode.Rows, stretches []span) ([]span, error) {
	if w.options.Holes == HolesRefuse {
		where := fmt.Sprintf("after row %d", stretches[0].n-1)
		if more := len(stretches) - 2; more > 0 {
			where += " and in " + plural.Count(more, "more place")
		}
		return nil, fmt.Errorf("rows are missing %s (%s): avoid this, for example with --missing-image hold, or "+
			"split the episode there with --holes split", where, r.Report.Losses())
	}
	kept := slices.DeleteFunc(slices.Clone(stretches), func(s span) bool { return s.n < 2 })
	if single := len(stretches) - len(kept); single > 0 {
		w.lost.Add(r.Episode.Name, "rows with none before and after them, too few for an episode", uint64(single))
	}
	r.Report.Split, r.Report.Single = len(kept), len(stretches)-len(kept)
	return kept, nil
}

// writeAll appends prepared episodes to the dataset. The first one determines the features of the dataset.
func (w *Writer) writeAll(fps int, episodes []*prepared) error {
	if len(w.rows) == 0 {
		w.begin(fps, episodes[0])
	}
	for _, p := range episodes {
		if err := w.writeEpisode(p); err != nil {
			return fmt.Errorf("the dataset cannot be completed: %w", err)
		}
	}
	return nil
}

// rate returns the rows per second of the dataset, or an error if the rows of the episode have another rate.
func (w *Writer) rate(r *episode.Rows) (int, error) {
	rate, fps := r.Options.Rate(), int(w.info.FPS)
	switch {
	case len(r.Stamps) < 2:
		return 0, errors.New("fewer than two rows")
	case fps > 0:
		if rate != 0 && rate != w.info.FPS {
			return 0, fmt.Errorf("the episode has %v rows per second, the dataset %d: align on the timeline "+
				"fixed:%d", rate, fps, fps)
		}
		return fps, nil
	case rate == 0:
		return 0, errors.New("LeRobot needs rows at a fixed rate: align on a timeline such as fixed:30")
	case rate != float64(int(rate)):
		return 0, fmt.Errorf("LeRobot needs a whole number of rows per second, not %v: align on a timeline such as "+
			"fixed:%d", rate, max(1, int(rate+0.5)))
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
	_ = os.RemoveAll(w.tempPath)
}

// complete closes all files, writes the metadata and renames the dataset to path.
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
	if err := w.writeMetadata(); err != nil {
		return err
	}
	// The disk must have all files, including the files written by ffmpeg, before the dataset has its name.
	if err := codec.SyncTree(w.tempPath); err != nil {
		return err
	}
	w.err = errors.New("the dataset is closed")
	if err := os.Rename(w.tempPath, w.path); err != nil {
		return err
	}
	return codec.OS{}.SyncFolder(filepath.Dir(filepath.Clean(w.path)))
}
