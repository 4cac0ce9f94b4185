package lerobot

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"tapedeck/codec"
	"tapedeck/codec/episode"
)

// partSuffix is what the folder of a dataset ends with while it is written.
const partSuffix = ".part"

// Writer writes a dataset, one episode after the other. It is not for concurrent use.
type Writer struct {
	path, part string
	options    Options
	encoder    *encoder
	err        error // why nothing more can be written

	info  info
	notes notes
	tasks []string
	rows  []*episodeRow

	data     *table
	dataAt   fileIndex
	dataRows int // in the file
	videos   map[string]*video
	videosAt map[string]fileIndex
}

// fileIndex says which file of a dataset one is.
type fileIndex struct{ chunk, file int }

func (i fileIndex) next(files int) fileIndex {
	if i.file+1 < files {
		return fileIndex{i.chunk, i.file + 1}
	}
	return fileIndex{i.chunk + 1, 0}
}

// episodeRow is what meta/episodes says of an episode.
type episodeRow struct {
	task   string
	length int
	from   int // the first of its rows in the dataset
	data   fileIndex
	videos map[string]videoPlace
	stats  map[string]*stats
}

// videoPlace is where an episode is in a video.
type videoPlace struct {
	fileIndex
	from, to float64 // s
}

// Create begins a dataset in the folder path. Until Close it is called path.part; what is left of another one by that name is removed.
func Create(path string, o Options) (*Writer, error) {
	fail := func(err error) (*Writer, error) { return nil, fmt.Errorf("create %s: %w", path, err) }
	if err := o.Check(); err != nil {
		return fail(err)
	}
	w := &Writer{path: path, part: filepath.Clean(path) + partSuffix, options: o.withDefaults(), videos: map[string]*video{}, videosAt: map[string]fileIndex{}}
	if _, err := os.Lstat(path); err == nil && !o.Overwrite {
		return fail(fmt.Errorf("%w; name another output or use --overwrite", fs.ErrExist))
	}
	if o.Video {
		var err error
		if w.encoder, err = chooseEncoder(w.options.FFmpeg, o.Codec); err != nil {
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
		Version: Version, FPS: float64(o.FPS), ChunkSize: w.options.ChunkFiles,
		DataFileSize: max(w.options.DataFileSize/mb, 1), VideoFileSize: max(w.options.VideoFileSize/mb, 1), DataPath: dataPath,
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

// Episodes returns how many episodes have been written, and how many rows.
func (w *Writer) Episodes() (episodes, rows int) { return len(w.rows), w.info.TotalFrames }

// Write appends a take that was aligned on a fixed timeline. An error is about this take alone, and the dataset can go on without it, unless
// it wraps ErrBroken.
func (w *Writer) Write(r *episode.Rows) error {
	fail := func(err error) error { return fmt.Errorf("write %s: %s: %w", w.path, r.Episode.Name, err) }
	if w.err != nil {
		return fail(w.err)
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
			end := stretches[0].n
			return fail(fmt.Errorf("rows are missing behind row %d, in %d places: have the gaps filled in aligning, or the take split there", end-1, len(stretches)-1))
		}
		stretches = slices.DeleteFunc(stretches, func(s span) bool { return s.n < 2 })
	}
	vectors, err := vectors(r, w.options.State)
	if err != nil {
		return fail(err)
	}
	var takes []*take
	for i, s := range stretches {
		t, err := w.prepare(r, vectors, s)
		if err != nil {
			return fail(err)
		}
		t.name = r.Episode.Name
		if len(stretches) > 1 {
			t.name += "_" + strconv.Itoa(i)
		}
		takes = append(takes, t)
	}
	if len(takes) == 0 {
		return fail(errors.New("there are not two rows in a row"))
	}
	if len(w.rows) == 0 {
		w.begin(fps, takes[0])
	}
	for _, t := range takes {
		if err := w.put(t); err != nil {
			w.err = fmt.Errorf("%w: %w", ErrBroken, err)
			return fail(w.err)
		}
	}
	return nil
}

// ErrBroken is wrapped by the errors of a Writer behind which nothing more can be written.
var ErrBroken = errors.New("the dataset cannot be completed")

// rate returns the rows a second of the dataset.
func (w *Writer) rate(r *episode.Rows) (int, error) {
	rate, fps := r.Options.Rate(), int(w.info.FPS)
	switch {
	case len(r.Stamps) < 2:
		return 0, errors.New("there are not two rows")
	case fps > 0:
		if rate != 0 && rate != w.info.FPS {
			return 0, fmt.Errorf("its rows are at %v a second, and those of the dataset at %d: align on the timeline fixed:%d", rate, fps, fps)
		}
		return fps, nil
	case rate == 0:
		return 0, errors.New("LeRobot has rows at a fixed rate only: align on a timeline such as fixed:30")
	case rate != float64(int(rate)):
		return 0, fmt.Errorf("LeRobot has whole numbers of rows a second only, not %v: align on a timeline such as fixed:%d", rate, max(1, int(rate+0.5)))
	}
	return int(rate), nil
}

// take is a stretch of a take, ready to be written.
type take struct {
	rows    *episode.Rows
	name    string
	span    span
	vectors []*vector
	cameras []*camera
}

// prepare finds out whether rows can be written.
func (w *Writer) prepare(r *episode.Rows, vectors []*vector, s span) (*take, error) {
	t := &take{rows: r, span: s, vectors: vectors}
	for _, v := range vectors {
		if err := v.check(s.from, s.n); err != nil {
			return nil, err
		}
	}
	seen := map[string]bool{}
	for i, c := range r.Episode.Cameras {
		name, renamed := w.options.Cameras[c.Name]
		switch {
		case renamed && name == "":
			continue
		case !renamed:
			name = c.Name
		}
		key := imagePrefix + featureName(name)
		if seen[key] {
			return nil, fmt.Errorf("there are two cameras %s", name)
		}
		seen[key] = true
		t.cameras = append(t.cameras, &camera{feature: key, camera: c, frames: r.Frames[i][s.from : s.from+s.n]})
	}
	if err := w.same(t); err != nil {
		return nil, err
	}
	err := survey(t.cameras, func(key string) (width, height int) {
		if f := w.info.Features.get(key); f != nil {
			return f.Shape[1], f.Shape[0]
		}
		return 0, 0
	})
	return t, err
}

// featureName returns a name that a feature and a folder can have.
func featureName(name string) string {
	mapped := []rune(name)
	for i, r := range mapped {
		if r == '/' || r == '\\' || r == ',' || r < ' ' || r == '{' || r == '}' {
			mapped[i] = '_'
		}
	}
	return string(mapped)
}

// same says what a take has other than the episodes before.
func (w *Writer) same(t *take) error {
	if len(w.rows) == 0 {
		return nil
	}
	count := len(standard)
	for _, v := range t.vectors {
		f := w.info.Features.get(v.feature.key)
		if f == nil {
			return fmt.Errorf("there is %s, which no episode before has", v.feature.key)
		}
		if !slices.Equal(f.Names.([]any), v.feature.Names.([]any)) {
			return fmt.Errorf("%s is of %v, and of %v in the episodes before", v.feature.key, v.feature.Names, f.Names)
		}
		count++
	}
	for _, c := range t.cameras {
		if w.info.Features.get(c.feature) == nil {
			return fmt.Errorf("there is %s, which no episode before has", c.feature)
		}
		count++
	}
	if count != len(w.info.Features) {
		return errors.New("cameras or streams are missing that the episodes before have")
	}
	return nil
}

// standard are the features that every dataset has.
var standard = []struct{ key, dtype string }{
	{"timestamp", "float32"}, {"frame_index", "int64"}, {"episode_index", "int64"}, {"index", "int64"}, {"task_index", "int64"},
}

// begin takes the features of the dataset from its first take.
func (w *Writer) begin(fps int, t *take) {
	w.info.FPS = float64(fps)
	for _, v := range t.vectors {
		w.info.Features = append(w.info.Features, v.feature)
		w.notes.Columns[v.feature.key] = v.columns
	}
	for _, c := range t.cameras {
		f := &feature{key: c.feature, DType: "image", Shape: []int{c.picture.height, c.picture.width, 3}, Names: []any{"height", "width", "channels"}}
		if w.options.Video {
			f.DType = "video"
			f.Info = map[string]any{
				"video.height": c.picture.height, "video.width": c.picture.width, "video.codec": w.encoder.codec, "video.pix_fmt": "yuv420p",
				"video.fps": fps, "video.channels": 3, "has_audio": false, "is_depth_map": false,
			}
		}
		w.info.Features = append(w.info.Features, f)
		w.notes.Cameras[c.feature] = c.camera.Name
	}
	for _, s := range standard {
		w.info.Features = append(w.info.Features, &feature{key: s.key, DType: s.dtype, Shape: []int{1}})
	}
}

// put writes a take as an episode.
func (w *Writer) put(t *take) error {
	e := t.rows.Episode
	row := &episodeRow{task: e.Task, length: t.span.n, from: w.info.TotalFrames, videos: map[string]videoPlace{}, stats: map[string]*stats{}}
	if row.task == "" {
		row.task = w.options.Task
	}
	task := slices.Index(w.tasks, row.task)
	if task < 0 {
		task = len(w.tasks)
		w.tasks = append(w.tasks, row.task)
	}
	if err := w.table(row.length); err != nil {
		return err
	}
	row.data = w.dataAt
	if err := w.numbers(t, row, task); err != nil {
		return fmt.Errorf("%s: %w", w.data.path, err)
	}
	for _, c := range t.cameras {
		row.stats[c.feature] = c.stats
		write := w.pictures
		if w.options.Video {
			write = w.video
		}
		if err := write(c, row); err != nil {
			return err
		}
	}
	if err := w.data.flush(); err != nil {
		return fmt.Errorf("%s: %w", w.data.path, err)
	}
	w.dataRows += row.length
	w.rows = append(w.rows, row)
	w.info.TotalEpisodes, w.info.TotalFrames, w.info.TotalTasks = len(w.rows), row.from+row.length, len(w.tasks)
	note := noteEpisode{
		Name: t.name, Start: t.rows.Stamps[t.span.from], Success: e.Success, ActionSource: t.rows.ActionSource,
		Alignment: t.rows.Options.Attributes(), Report: &t.rows.Report, Metadata: e.Metadata, Devices: map[string]json.RawMessage{},
	}
	for _, c := range e.Cameras {
		if c.Device != nil {
			note.Devices[c.Name] = c.Device
		}
	}
	for _, a := range e.Arms {
		if a.Device != nil {
			note.Devices[a.Name] = a.Device
		}
	}
	w.notes.Episodes = append(w.notes.Episodes, note)
	return nil
}

// table has w.data be the file that the next episode goes to, of so many rows.
func (w *Writer) table(rows int) error {
	if w.data != nil {
		size := w.data.size()
		if size+size/int64(max(w.dataRows, 1))*int64(rows) < w.options.DataFileSize {
			return nil
		}
		if err := w.data.close(); err != nil {
			return fmt.Errorf("%s: %w", w.data.path, err)
		}
		w.dataAt = w.dataAt.next(w.options.ChunkFiles)
	}
	var columns []column
	hf := map[string]any{}
	for _, f := range w.info.Features {
		leaf, add := parquet.Leaf(parquet.FloatType), floatColumn
		if f.DType == "int64" {
			leaf, add = parquet.Leaf(parquet.Int64Type), intColumn
		}
		value := map[string]any{"dtype": f.DType, "_type": "Value"}
		switch {
		case f.DType == "video":
		case f.DType == "image":
			columns = append(columns, imageColumn(f.key))
			hf[f.key] = map[string]any{"_type": "Image"}
		case f.width() == 1:
			columns = append(columns, add(f.key))
			hf[f.key] = value
		default:
			columns = append(columns, listColumn(f.key, leaf, 1))
			hf[f.key] = map[string]any{"feature": value, "length": f.width(), "_type": "List"}
		}
	}
	text, err := json.Marshal(map[string]any{"info": map[string]any{"features": hf}})
	if err != nil {
		return err
	}
	path, err := w.file(dataPath, "", w.dataAt)
	if err != nil {
		return err
	}
	w.dataRows = 0
	w.data, err = createTable(path, columns, map[string]string{"huggingface": string(text)})
	return err
}

// file returns the path of a file of the dataset.
func (w *Writer) file(template, video string, at fileIndex) (string, error) {
	path, err := fill(template, map[string]any{"chunk_index": at.chunk, "file_index": at.file, "video_key": video})
	return filepath.Join(w.part, path), err
}

// numbers writes the columns of numbers, and what there is to say about them.
func (w *Writer) numbers(t *take, row *episodeRow, task int) error {
	n := row.length
	for _, v := range t.vectors {
		key, width := v.feature.key, len(v.parts)
		value := func(i, c int) parquet.Value { return parquet.FloatValue(v.at(t.span.from+i, c)) }
		var err error
		if width == 1 {
			err = w.data.scalars(key, n, func(i int) parquet.Value { return value(i, 0) })
		} else {
			err = w.data.lists(key, 1, n, width, value)
		}
		if err != nil {
			return err
		}
		row.stats[key] = columnStats(n, width, func(i, c int) float64 { return float64(v.at(t.span.from+i, c)) })
	}
	for _, c := range []struct {
		key   string
		value func(i int) int64
	}{
		{"frame_index", func(i int) int64 { return int64(i) }},
		{"episode_index", func(int) int64 { return int64(len(w.rows)) }},
		{"index", func(i int) int64 { return int64(row.from + i) }},
		{"task_index", func(int) int64 { return int64(task) }},
	} {
		if err := w.data.scalars(c.key, n, func(i int) parquet.Value { return parquet.Int64Value(c.value(i)) }); err != nil {
			return err
		}
		row.stats[c.key] = columnStats(n, 1, func(i, _ int) float64 { return float64(c.value(i)) })
	}
	stamp := func(i int) float32 { return float32(float64(i) / w.info.FPS) }
	row.stats["timestamp"] = columnStats(n, 1, func(i, _ int) float64 { return float64(stamp(i)) })
	return w.data.scalars("timestamp", n, func(i int) parquet.Value { return parquet.FloatValue(stamp(i)) })
}

// pictures writes the frames of a camera to the table.
func (w *Writer) pictures(c *camera, _ *episodeRow) error {
	return c.each(func(i int, f *episode.Frame) error {
		data, extension := f.Data, map[string]string{"jpeg": "jpg", "png": "png"}[f.Encoding]
		if extension == "" || c.picture.gray {
			m, err := decode(f)
			if err != nil {
				return err
			}
			if data, err = encodePNG(m); err != nil {
				return err
			}
			extension = "png"
		}
		return w.data.image(c.feature, data, fmt.Sprintf("frame-%06d.%s", i, extension))
	})
}

// video writes the frames of a camera to its video.
func (w *Writer) video(c *camera, row *episodeRow) error {
	v := w.videos[c.feature]
	if v != nil && v.size+v.size/int64(v.frames)*int64(row.length) >= w.options.VideoFileSize {
		delete(w.videos, c.feature)
		if err := v.close(); err != nil {
			return err
		}
		w.videosAt[c.feature] = w.videosAt[c.feature].next(w.options.ChunkFiles)
		v = nil
	}
	if v == nil {
		path, err := w.file(videoPath, c.feature, w.videosAt[c.feature])
		if err != nil {
			return err
		}
		if v, err = createVideo(path, &w.options, w.encoder, int(w.info.FPS)); err != nil {
			return err
		}
		w.videos[c.feature] = v
	}
	place := videoPlace{fileIndex: w.videosAt[c.feature], from: float64(v.frames) / w.info.FPS}
	if err := v.write(c); err != nil {
		return err
	}
	place.to = float64(v.frames) / w.info.FPS
	row.videos[c.feature] = place
	return nil
}

// Close completes the dataset, reads it back and has it be at its path. A dataset without any episode is an error.
func (w *Writer) Close() error {
	err := w.complete()
	if err != nil {
		w.abort()
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	return nil
}

// Abort gives the dataset up and removes what there is of it.
func (w *Writer) Abort() {
	w.abort()
}

func (w *Writer) abort() {
	if w.err == nil {
		w.err = errors.New("it is closed")
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
		return errors.New("there is no episode")
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
	if err := verify(w.part, &w.options, len(w.rows), w.info.TotalFrames); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	w.err = errors.New("it is closed")
	return w.rename()
}

// rename has the dataset be at its path, and the one that was there be gone.
func (w *Writer) rename() error {
	codec.SyncFolder(w.part)
	old := w.part + "-old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	err := os.Rename(w.path, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(w.part, w.path); err != nil {
		return errors.Join(err, os.Rename(old, w.path))
	}
	codec.SyncFolder(filepath.Dir(filepath.Clean(w.path)))
	return os.RemoveAll(old)
}

// meta writes what there is to know of the dataset.
func (w *Writer) meta() error {
	w.info.Splits = map[string]string{"train": "0:" + strconv.Itoa(len(w.rows))}
	all := map[string]*stats{}
	for key := range w.rows[0].stats {
		var parts []*stats
		for _, r := range w.rows {
			parts = append(parts, r.stats[key])
		}
		all[key] = merge(parts)
	}
	return errors.Join(
		w.json(infoPath, &w.info), w.json(statsPath, all), w.json(notesPath, &w.notes),
		w.taskTable(), w.episodeTable())
}

func (w *Writer) json(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(filepath.Join(w.part, path), append(text, '\n'), 0o666)
}

// taskTable writes tasks.parquet, of which pandas makes a frame with the tasks as its index.
func (w *Writer) taskTable() error {
	text := func(name, kind, numpy string) map[string]any {
		return map[string]any{"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": nil}
	}
	pandas, err := json.Marshal(map[string]any{
		"index_columns":  []string{"task"},
		"column_indexes": []any{map[string]any{"name": nil, "field_name": nil, "pandas_type": "unicode", "numpy_type": "object", "metadata": map[string]string{"encoding": "UTF-8"}}},
		"columns":        []any{text("task_index", "int64", "int64"), text("task", "unicode", "object")},
		"creator":        map[string]string{"library": "tapedeck", "version": "1"},
		"pandas_version": "1.5.3",
	})
	if err != nil {
		return err
	}
	return w.write(tasksPath, []column{intColumn("task_index"), stringColumn("task")}, map[string]string{"pandas": string(pandas)}, func(t *table) error {
		return errors.Join(
			t.scalars("task_index", len(w.tasks), func(i int) parquet.Value { return parquet.Int64Value(int64(i)) }),
			t.scalars("task", len(w.tasks), func(i int) parquet.Value { return parquet.ByteArrayValue([]byte(w.tasks[i])) }))
	})
}

// write writes a table of one row group.
func (w *Writer) write(path string, columns []column, metadata map[string]string, fill func(*table) error) error {
	t, err := createTable(filepath.Join(w.part, path), columns, metadata)
	if err == nil {
		err = errors.Join(fill(t), t.close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// episodeTable writes what meta/episodes says.
func (w *Writer) episodeTable() error {
	var columns []column
	var puts []func(*table) error
	n := len(w.rows)
	ints := func(name string, value func(i int, r *episodeRow) int) {
		columns = append(columns, intColumn(name))
		puts = append(puts, func(t *table) error {
			return t.scalars(name, n, func(i int) parquet.Value { return parquet.Int64Value(int64(value(i, w.rows[i]))) })
		})
	}
	doubles := func(name string, value func(r *episodeRow) float64) {
		columns = append(columns, doubleColumn(name))
		puts = append(puts, func(t *table) error {
			return t.scalars(name, n, func(i int) parquet.Value { return parquet.DoubleValue(value(w.rows[i])) })
		})
	}
	lists := func(name string, element parquet.Node, depth, width int, value func(r *episodeRow, i int) parquet.Value) {
		columns = append(columns, listColumn(name, element, depth))
		puts = append(puts, func(t *table) error {
			return t.lists(name, depth, n, width, func(row, i int) parquet.Value { return value(w.rows[row], i) })
		})
	}
	ints("episode_index", func(i int, _ *episodeRow) int { return i })
	lists("tasks", parquet.String(), 1, 1, func(r *episodeRow, _ int) parquet.Value { return parquet.ByteArrayValue([]byte(r.task)) })
	ints("length", func(_ int, r *episodeRow) int { return r.length })
	ints("data/chunk_index", func(_ int, r *episodeRow) int { return r.data.chunk })
	ints("data/file_index", func(_ int, r *episodeRow) int { return r.data.file })
	ints("dataset_from_index", func(_ int, r *episodeRow) int { return r.from })
	ints("dataset_to_index", func(_ int, r *episodeRow) int { return r.from + r.length })
	for _, key := range slices.Sorted(maps.Keys(w.rows[0].videos)) {
		ints("videos/"+key+"/chunk_index", func(_ int, r *episodeRow) int { return r.videos[key].chunk })
		ints("videos/"+key+"/file_index", func(_ int, r *episodeRow) int { return r.videos[key].file })
		doubles("videos/"+key+"/from_timestamp", func(r *episodeRow) float64 { return r.videos[key].from })
		doubles("videos/"+key+"/to_timestamp", func(r *episodeRow) float64 { return r.videos[key].to })
	}
	for _, key := range slices.Sorted(maps.Keys(w.rows[0].stats)) {
		first := w.rows[0].stats[key]
		for _, stat := range statNames {
			name := "stats/" + key + "/" + stat
			switch {
			case stat == "count":
				lists(name, parquet.Leaf(parquet.Int64Type), 1, 1, func(r *episodeRow, _ int) parquet.Value {
					return parquet.Int64Value(int64(r.stats[key].values["count"][0]))
				})
			default:
				depth := 1
				if first.picture {
					depth = 3
				}
				lists(name, parquet.Leaf(parquet.DoubleType), depth, len(first.values[stat]), func(r *episodeRow, i int) parquet.Value {
					return parquet.DoubleValue(r.stats[key].values[stat][i])
				})
			}
		}
	}
	ints("meta/episodes/chunk_index", func(int, *episodeRow) int { return 0 })
	ints("meta/episodes/file_index", func(int, *episodeRow) int { return 0 })
	return w.write(episodesPath, columns, nil, func(t *table) error {
		for _, put := range puts {
			if err := put(t); err != nil {
				return err
			}
		}
		return nil
	})
}
