package lerobot

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// Source reads a dataset of v3.0 or v2.1.
type Source struct {
	episode.Findings // Damage is only about missing files; other damage is an error
	files            *store.Files
	path             string
	info             info
	origins          map[string]episode.Origin // by key, the origins of the features that are read
	absentFeatures   map[string]bool           // keys of features that a table lacks
	notes            notes
	withoutNote      int // number of episodes without a note, in a dataset with notes

	checkContents  func(path string) error              // returns an error if the contents of a video are missing
	checkedVideos  map[string]*episode.MissingFileError // by path, the error of a missing video, nil for others
	videoCache     videoFiles
	checkedTables  sync.Map       // tableReader.checked of tables with images
	tableOfEpisode map[int]string // by episode index, the path of its table; nil before findTable
}

var _ episode.Source = (*Source)(nil)

// Open opens the dataset in the folder path.
func Open(files *store.Files, path string) (*Source, error) {
	s := &Source{files: files, path: path, absentFeatures: map[string]bool{},
		checkedVideos: map[string]*episode.MissingFileError{}, videoCache: videoFiles{files: files},
		checkContents: func(path string) error { return codec.CheckContents(files, path) }}
	if err := s.load(infoPath, &s.info); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	switch {
	case !strings.HasPrefix(s.info.Version, "v3.") && !s.isV2():
		return nil, fmt.Errorf("open %s: LeRobot format %q is not supported, want v3.0 or v2.1", path, s.info.Version)
	case !(s.info.FPS >= 0.001 && s.info.FPS <= 1e6):
		return nil, fmt.Errorf("open %s: %s: fps is %v", path, infoPath, s.info.FPS)
	}
	s.origins = originsOf(s.info.Features)
	if err := s.load(notesPath, &s.notes); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return s, nil
}

// load reads a JSON file of the dataset.
func (s *Source) load(path string, value any) error {
	if err := codec.CheckContents(s.files, store.Join(s.path, path)); errors.Is(err, codec.ErrEmpty) ||
		errors.Is(err, codec.ErrLFSPointer) {
		return fmt.Errorf("read %s: %w", store.Join(s.path, path), err)
	}
	text, err := s.files.ReadFile(store.Join(s.path, path))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func (s *Source) isV2() bool { return strings.HasPrefix(s.info.Version, "v2.") }

// Close implements episode.Source.
func (s *Source) Close() error {
	s.videoCache.close()
	return nil
}

// entry is an episode in the dataset's list.
type entry struct {
	index  int
	tasks  []string
	data   string             // path of the table in the dataset
	from   float64            // index of the first row in the dataset
	videos map[string]string  // by feature, the path of the video
	starts map[string]float64 // by feature, the time of the first frame in the video, in s
}

// Episodes implements episode.Source. It reads the features of numbers in origins as streams. Without
// meta/tapedeck.json, the unit of joints is unknown, and the time of a row is its index in the dataset divided by fps.
func (s *Source) Episodes() (all []*episode.Episode, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", s.path, err)
		}
	}()
	list := s.entries
	if s.isV2() {
		list = s.entriesV2
	}
	entries, err := list()
	if err != nil {
		return nil, err
	}
	var table *tableRows
	for _, e := range entries {
		if table == nil || table.path != e.data {
			table, err = s.readRows(e.data)
			if err != nil {
				return all, err
			}
		}
		if _, ok := table.episodes[e.index]; !ok {
			moved, err := s.readMoved(e)
			if err != nil {
				return all, err
			}
			if moved == nil {
				continue
			}
			table = moved
		}
		all = append(all, s.episode(e, table, table.episodes[e.index]))
	}
	s.Incomplete = len(s.Damage) > 0
	s.countLosses()
	return all, nil
}

// readMoved reads the rows of an episode that are in another table than the list of episodes says. It sets e.data to
// the table. If no table has the rows, it adds damage and returns nil.
func (s *Source) readMoved(e *entry) (*tableRows, error) {
	listed := e.data
	found, err := s.findTable(e.index)
	if err != nil {
		return nil, err
	}
	e.data = found
	if found == "" {
		s.Damage = append(s.Damage, &episode.MissingFileError{Path: store.Join(s.path, listed),
			Err: fmt.Errorf("no table has rows of episode %d", e.index)})
		return nil, nil
	}
	s.Events = append(s.Events, codec.Event{Kind: codec.EventLabel, Text: fmt.Sprintf("meta/episodes lists "+
		"%s for episode %d, whose rows are in %s, which was read", listed, e.index, e.data)})
	return s.readRows(e.data)
}

// countLosses counts features that are not read, and episodes without a note, as losses.
func (s *Source) countLosses() {
	s.Lost = codec.LossCounts{}
	if s.withoutNote > 0 {
		s.Lost.Add(notesPath, "times, names and devices of episodes whose numbers others have changed: "+
			plural.Count(s.withoutNote, "episode"), 0)
	}
	for _, f := range s.info.Features {
		_, read := s.origins[f.key]
		for _, standardFeature := range standard {
			read = read || f.key == standardFeature.key
		}
		switch {
		case s.absentFeatures[f.key]:
			s.Lost.Add(f.key, "features that tables lack, which are not read", 0)
		case !read && !f.isPicture():
			s.Lost.Add(f.key, "features that are not read", 0)
		}
	}
}

// findTable searches all tables of the dataset for the rows of an episode. It returns the path of the table, "" if no
// table has the rows.
func (s *Source) findTable(index int) (string, error) {
	if s.tableOfEpisode == nil {
		s.tableOfEpisode = map[int]string{}
		paths, err := s.files.Glob(s.path, "data/chunk-*/*.parquet")
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			if err := s.listTable(path); err != nil {
				return "", err
			}
		}
	}
	return s.tableOfEpisode[index], nil
}

// listTable adds the episodes in a table to tableOfEpisode.
func (s *Source) listTable(path string) (err error) {
	t, err := openTable(s.files, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	numbers, err := t.numbers("episode_index", 1)
	for _, x := range numbers {
		if _, known := s.tableOfEpisode[int(x)]; !known {
			s.tableOfEpisode[int(x)] = strings.TrimPrefix(strings.TrimPrefix(path, s.path), "/")
		}
	}
	return err
}

// entries lists the episodes of v3.0.
func (s *Source) entries() ([]*entry, error) {
	paths, err := s.files.Glob(s.path, "meta/episodes/chunk-*/file-*.parquet")
	if err != nil || len(paths) == 0 {
		return nil, errors.New("no meta/episodes/chunk-000/file-000.parquet")
	}
	var all []*entry
	for _, path := range paths {
		t, err := openTable(s.files, path)
		if err != nil {
			return nil, err
		}
		entries, err := s.entriesOf(t)
		err = errors.Join(err, t.close())
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// entriesOf lists the episodes in a table of meta/episodes.
func (s *Source) entriesOf(t *tableReader) ([]*entry, error) {
	columns := map[string][]float64{}
	wanted := []string{"episode_index", "data/chunk_index", "data/file_index", "dataset_from_index"}
	for _, f := range s.info.Features {
		if f.DType == "video" {
			for _, name := range []string{"chunk_index", "file_index", "from_timestamp"} {
				wanted = append(wanted, "videos/"+f.key+"/"+name)
			}
		}
	}
	for _, name := range wanted {
		var err error
		columns[name], err = t.numbers(name, 1)
		if err != nil {
			return nil, err
		}
	}
	tasks, err := t.texts("tasks")
	if err != nil {
		return nil, err
	}
	var all []*entry
	for i := range columns["episode_index"] {
		at := func(name string) int { return int(columns[name][i]) }
		e := &entry{index: at("episode_index"), from: columns["dataset_from_index"][i], videos: map[string]string{},
			starts: map[string]float64{}}
		if i < len(tasks) {
			e.tasks = tasks[i]
		}
		values := func(prefix, key string) map[string]any {
			return map[string]any{"chunk_index": at(prefix + "chunk_index"), "file_index": at(prefix + "file_index"),
				"video_key": key}
		}
		e.data, err = fill(s.info.DataPath, values("data/", ""))
		if err != nil {
			return nil, err
		}
		for _, f := range s.info.Features {
			if f.DType != "video" {
				continue
			}
			prefix := "videos/" + f.key + "/"
			e.starts[f.key] = columns[prefix+"from_timestamp"][i]
			e.videos[f.key], err = s.videoPath(values(prefix, f.key))
			if err != nil {
				return nil, err
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// videoPath returns the path of a video in the dataset. values are the values of the placeholders.
func (s *Source) videoPath(values map[string]any) (string, error) {
	if s.info.VideoPath == nil {
		return "", errors.New(infoPath + " has videos without a video_path")
	}
	return fill(*s.info.VideoPath, values)
}

// entriesV2 lists the episodes of v2.1. Each episode has one table, and one file per video feature.
func (s *Source) entriesV2() ([]*entry, error) {
	const name = "meta/episodes.jsonl"
	text, err := s.files.ReadFile(store.Join(s.path, name))
	if err != nil {
		return nil, err
	}
	chunk := s.info.ChunkSize
	if chunk <= 0 {
		chunk = 1000
	}
	var all []*entry
	from := 0.0
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, len(text)+1)
	for line := 1; lines.Scan(); line++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var row struct {
			Index  int      `json:"episode_index"`
			Tasks  []string `json:"tasks"`
			Length int      `json:"length"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		e := &entry{index: row.Index, tasks: row.Tasks, from: from, videos: map[string]string{},
			starts: map[string]float64{}}
		from += float64(max(row.Length, 0))
		values := map[string]any{"episode_chunk": row.Index / chunk, "episode_index": row.Index}
		e.data, err = fill(s.info.DataPath, values)
		if err != nil {
			return nil, err
		}
		for _, f := range s.info.Features {
			if f.DType == "video" {
				values["video_key"] = f.key
				e.videos[f.key], err = s.videoPath(values)
				if err != nil {
					return nil, err
				}
			}
		}
		all = append(all, e)
	}
	return all, nil
}

// tableRows are the numbers of a table.
type tableRows struct {
	path     string               // in the dataset
	numbers  map[string][]float64 // by feature, row by row
	episodes map[int]span         // by episode index, its rows
}

// readRows reads the numbers of a table. It adds features that the table lacks to absentFeatures.
func (s *Source) readRows(path string) (r *tableRows, err error) {
	t, err := openTable(s.files, store.Join(s.path, path))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	r = &tableRows{path: path, numbers: map[string][]float64{}, episodes: map[int]span{}}
	for _, f := range s.info.Features {
		if _, known := s.origins[f.key]; !known {
			continue
		}
		if t.leaf(f.key) < 0 {
			s.absentFeatures[f.key] = true
			continue
		}
		r.numbers[f.key], err = t.numbers(f.key, f.width())
		if err != nil {
			return nil, err
		}
	}
	index, err := t.numbers("episode_index", 1)
	if err != nil {
		return nil, err
	}
	for row, x := range index {
		e := int(x)
		at, known := r.episodes[e]
		switch {
		case !known:
			at = span{row, 1}
		case at.from+at.n != row:
			return nil, fmt.Errorf("%s: row %d is of episode %d, which has ended before", path, row, e)
		default:
			at.n++
		}
		r.episodes[e] = at
	}
	return r, nil
}

// episode returns an episode. at are its rows in the table r.
func (s *Source) episode(e *entry, r *tableRows, at span) *episode.Episode {
	period := 1e9 / s.info.FPS
	start := int64(math.Round(e.from * period))
	ep := &episode.Episode{Name: fmt.Sprintf("episode_%d", e.index), Task: strings.Join(e.tasks, "; ")}
	var devices map[string]json.RawMessage
	if note := s.findNote(e.index, r, at); note != nil {
		start = note.Start
		ep.Success, ep.Metadata, devices = note.Success, note.Metadata, note.Devices
		if note.Name != "" {
			ep.Name = note.Name
		}
	}
	stamps := make([]int64, at.n)
	for i := range stamps {
		stamps[i] = start + int64(math.Round(float64(i)*period))
	}
	ep.Start, ep.End = stamps[0], stamps[at.n-1]
	ep.Table = &episode.Table{Stamps: stamps}
	frames := make([]int, at.n)
	for i := range frames {
		frames[i] = i
	}
	for _, f := range s.info.Features {
		if f.isPicture() {
			if c := s.camera(e, f, at); c != nil {
				c.Stamps = stamps
				ep.Cameras, ep.Table.Frames = append(ep.Cameras, c), append(ep.Table.Frames, frames)
			}
		}
		if numbers, ok := r.numbers[f.key]; ok {
			width := f.width()
			s.addArms(ep, f, numbers[at.from*width:(at.from+at.n)*width], stamps)
		}
	}
	ep.SetDevices(devices)
	return ep
}

// findNote returns the noteEpisode of an episode, nil if there is none. It prefers the note at the episode's index.
func (s *Source) findNote(index int, r *tableRows, at span) *noteEpisode {
	list := s.notes.Episodes
	if list == nil {
		return nil
	}
	numbers := newDigest()
	for _, key := range []string{stateKey, actionKey} {
		if all, ok := r.numbers[key]; ok {
			width := s.info.Features.get(key).width()
			numbers.add(all[at.from*width : (at.from+at.n)*width])
		}
	}
	sameNumbers := func(n noteEpisode) bool { return n.Digest == numbers.String() }
	if index < 0 || index >= len(list) || list[index].Digest != "" && !sameNumbers(list[index]) {
		index = slices.IndexFunc(list, sameNumbers)
	}
	if index < 0 {
		s.withoutNote++
		return nil
	}
	return &list[index]
}

// camera returns the camera of a feature, nil if its video is missing.
func (s *Source) camera(e *entry, f *feature, at span) *episode.Camera {
	name := s.notes.Cameras[f.key]
	if name == "" {
		name = strings.TrimPrefix(f.key, imagePrefix)
		if name != f.key && s.info.Features.get(name) != nil {
			name = f.key
		}
	}
	c := &episode.Camera{Track: align.Track{Name: name, Topic: f.key}}
	if f.DType == "video" {
		path := store.Join(s.path, e.videos[f.key])
		if missing := s.checkVideo(path, name); missing != nil {
			missing.Images += at.n
			return nil
		}
		c.Raw = true
		if !f.isDepth() {
			c.Decoded = f.width()
		}
		c.Open = func() (episode.Frames, error) {
			return openVideo(&s.videoCache, path, f, s.info.FPS, e.starts[f.key], at.n)
		}
		return c
	}
	c.Raw = f.isDepth()
	c.Open = func() (episode.Frames, error) {
		return openImages(s.files, store.Join(s.path, e.data), f, at.from, at.n, &s.checkedTables)
	}
	return c
}

// checkVideo returns an error if a video is missing, and adds it to Damage. It checks each video once.
func (s *Source) checkVideo(path, camera string) *episode.MissingFileError {
	missing, checked := s.checkedVideos[path]
	if checked {
		return missing
	}
	if err := s.checkContents(path); err != nil {
		missing = &episode.MissingFileError{Path: path, Camera: camera, Raw: true, Err: err}
		s.Damage = append(s.Damage, missing)
	}
	s.checkedVideos[path] = missing
	return missing
}

// addArms adds the numbers of a feature to the streams of an episode's arms. If the notes do not describe the feature's
// columns, all columns have the origin of the feature.
func (s *Source) addArms(ep *episode.Episode, f *feature, numbers []float64, stamps []int64) {
	origin, width, names := s.origins[f.key], f.width(), f.names()
	columns := s.notes.Columns[f.key]
	if len(columns) != width {
		columns = make([]noteColumn, width)
		for i := range columns {
			columns[i] = noteColumn{episode.Origin{Arm: origin.Arm, Role: origin.Role.Base()},
				align.Column{Name: names[i]}}
		}
	}
	indices := map[*align.Vector][]int{} // by stream, the indices of its columns
	for i, c := range columns {
		role := c.Role
		if origin.Role != origin.Role.Base() {
			role, _ = role.Command()
		}
		if role >= episode.Roles {
			continue
		}
		at := slices.IndexFunc(ep.Arms, func(a *episode.Arm) bool { return a.Name == c.Arm })
		if at < 0 {
			at = len(ep.Arms)
			ep.Arms = append(ep.Arms, &episode.Arm{Name: c.Arm})
		}
		arm := ep.Arms[at]
		v := arm.Streams[role]
		if v == nil || v.Topic != f.key {
			v = &align.Vector{Name: c.Arm + "/" + role.String(), Topic: f.key, Stamps: stamps}
			arm.Streams[role] = v
		}
		if c.Role == episode.Gripper {
			arm.GripperRange = [2]float64{0, 1}
		}
		v.Columns = append(v.Columns, c.Column)
		indices[v] = append(indices[v], i)
	}
	for v, columns := range indices {
		v.Values = make([]float64, 0, len(stamps)*len(v.Columns))
		for row := range stamps {
			for _, i := range columns {
				v.Values = append(v.Values, numbers[row*width+i])
			}
		}
	}
}
