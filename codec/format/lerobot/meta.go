package lerobot

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"

	"tapedeck/codec/training/align"
	"tapedeck/codec/training/episode"
)

// fileIndex identifies a file of a dataset: by the number of its folder, which LeRobot calls a chunk, and the number of
// the file in the folder.
type fileIndex struct{ chunk, file int }

// next returns the index of the file after i. A folder has at most filesPerChunk files.
func (i fileIndex) next(filesPerChunk int) fileIndex {
	if i.file+1 < filesPerChunk {
		return fileIndex{i.chunk, i.file + 1}
	}
	return fileIndex{i.chunk + 1, 0}
}

// episodeRow is the row of an episode in the table meta/episodes.
type episodeRow struct {
	task   string
	length int                   // number of rows
	from   int                   // index of the episode's first row in the dataset
	data   fileIndex             // file with the episode's rows
	videos map[string]videoPlace // by feature
	stats  map[string]*stats     // by feature
}

// videoPlace tells where in a video file an episode is.
type videoPlace struct {
	fileIndex         // of the video file
	from, to  float64 // seconds since the start of the video
}

// writeMetadata writes the files in the folder meta.
func (w *Writer) writeMetadata() error {
	w.info.Splits = map[string]string{"train": "0:" + strconv.Itoa(len(w.rows))}
	merged := map[string]*stats{} // by feature
	for key := range w.rows[0].stats {
		var episodes []*stats
		for _, r := range w.rows {
			episodes = append(episodes, r.stats[key])
		}
		merged[key] = merge(episodes)
	}
	return errors.Join(
		w.json(infoPath, &w.info), w.json(statsPath, merged), w.json(notesPath, &w.notes),
		w.taskTable(), w.episodeTable())
}

// json writes a value to a file of the dataset.
func (w *Writer) json(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(filepath.Join(w.tempPath, path), append(text, '\n'), 0o666)
}

// taskTable writes tasks.parquet. Its metadata make pandas use the column of tasks as the index of the data frame.
func (w *Writer) taskTable() error {
	describe := func(name, kind, numpy string) map[string]any {
		return map[string]any{"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy,
			"metadata": nil}
	}
	pandas, err := json.Marshal(map[string]any{
		"index_columns": []string{"task"},
		"column_indexes": []any{map[string]any{"name": nil, "field_name": nil, "pandas_type": "unicode",
			"numpy_type": "object", "metadata": map[string]string{"encoding": "UTF-8"}}},
		"columns":        []any{describe("task_index", "int64", "int64"), describe("task", "unicode", "object")},
		"creator":        map[string]string{"library": "tapedeck", "version": "1"},
		"pandas_version": "1.5.3",
	})
	if err != nil {
		return err
	}
	t := sheet{rows: len(w.tasks)}
	t.ints("task_index", func(i int) int { return i })
	t.add(listColumn("task", parquet.String(), 0), 1, func(i, _ int) parquet.Value {
		return parquet.ByteArrayValue([]byte(w.tasks[i]))
	})
	return t.write(filepath.Join(w.tempPath, tasksPath), map[string]string{"pandas": string(pandas)})
}

// episodeTable writes the table meta/episodes, which has a row per episode.
func (w *Writer) episodeTable() error {
	t := sheet{rows: len(w.rows)}
	ints := func(name string, value func(r *episodeRow) int) {
		t.ints(name, func(i int) int { return value(w.rows[i]) })
	}
	doubles := func(name string, value func(r *episodeRow) float64) {
		t.add(listColumn(name, parquet.Leaf(parquet.DoubleType), 0), 1,
			func(i, _ int) parquet.Value { return parquet.DoubleValue(value(w.rows[i])) })
	}
	t.ints("episode_index", func(i int) int { return i })
	t.add(listColumn("tasks", parquet.String(), 1), 1, func(i, _ int) parquet.Value {
		return parquet.ByteArrayValue([]byte(w.rows[i].task))
	})
	ints("length", func(r *episodeRow) int { return r.length })
	ints("data/chunk_index", func(r *episodeRow) int { return r.data.chunk })
	ints("data/file_index", func(r *episodeRow) int { return r.data.file })
	ints("dataset_from_index", func(r *episodeRow) int { return r.from })
	ints("dataset_to_index", func(r *episodeRow) int { return r.from + r.length })
	for _, key := range slices.Sorted(maps.Keys(w.rows[0].videos)) {
		ints("videos/"+key+"/chunk_index", func(r *episodeRow) int { return r.videos[key].chunk })
		ints("videos/"+key+"/file_index", func(r *episodeRow) int { return r.videos[key].file })
		doubles("videos/"+key+"/from_timestamp", func(r *episodeRow) float64 { return r.videos[key].from })
		doubles("videos/"+key+"/to_timestamp", func(r *episodeRow) float64 { return r.videos[key].to })
	}
	for _, key := range slices.Sorted(maps.Keys(w.rows[0].stats)) {
		first := w.rows[0].stats[key]
		depth := 1
		if first.images {
			depth = 3
		}
		for _, stat := range statNames {
			name := "stats/" + key + "/" + stat
			if stat == "count" {
				t.add(listColumn(name, parquet.Leaf(parquet.Int64Type), 1), 1, func(i, _ int) parquet.Value {
					return parquet.Int64Value(int64(w.rows[i].stats[key].values["count"][0]))
				})
				continue
			}
			column := listColumn(name, parquet.Leaf(parquet.DoubleType), depth)
			t.add(column, len(first.values[stat]), func(i, c int) parquet.Value {
				return parquet.DoubleValue(w.rows[i].stats[key].values[stat][c])
			})
		}
	}
	ints("meta/episodes/chunk_index", func(*episodeRow) int { return 0 })
	ints("meta/episodes/file_index", func(*episodeRow) int { return 0 })
	return t.write(filepath.Join(w.tempPath, episodesPath), nil)
}

// sheet is a table with a single row group, which is written to a file at once.
type sheet struct {
	rows    int
	columns []column
	writes  []func(*table) error // by column, writes the values of the column
}

// add adds a column. Each row is a list of width elements. If c is not a column of lists, each row is a value, and
// width must be 1.
func (s *sheet) add(c column, width int, value func(row, i int) parquet.Value) {
	s.columns = append(s.columns, c)
	s.writes = append(s.writes, func(t *table) error { return t.lists(c.name, s.rows, width, value) })
}

// ints adds a column of integers.
func (s *sheet) ints(name string, value func(row int) int) {
	s.add(listColumn(name, parquet.Leaf(parquet.Int64Type), 0), 1,
		func(row, _ int) parquet.Value { return parquet.Int64Value(int64(value(row))) })
}

// write writes the table to a file.
func (s *sheet) write(path string, metadata map[string]string) error {
	t, err := createTable(path, s.columns, metadata)
	if err != nil {
		return err
	}
	for _, write := range s.writes {
		err = cmp.Or(err, write(t))
	}
	return errors.Join(err, t.close())
}

// digest is a hash of the numbers of an episode.
type digest struct{ hash.Hash64 }

func newDigest() digest { return digest{fnv.New64a()} }

// add adds numbers, rounded to float32 as in the dataset.
func (d digest) add(numbers []float64) {
	var b [4]byte
	for _, x := range numbers {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(float32(x)))
		d.Write(b[:])
	}
}

func (d digest) String() string { return fmt.Sprintf("%016x", d.Sum64()) }

// notes is the content of meta/tapedeck.json: what LeRobot's own files cannot hold.
type notes struct {
	Columns  map[string][]noteColumn `json:"columns"` // by feature
	Cameras  map[string]string       `json:"cameras"` // camera names, by feature
	Episodes []noteEpisode           `json:"episodes"`
}

// noteColumn describes a column of a feature: the arm and role that it came from, and its original name and unit.
type noteColumn struct {
	episode.Origin
	align.Column
}

// noteEpisode describes the recorded episode from which an episode of the dataset was made.
type noteEpisode struct {
	// Digest is the digest of the episode's numbers. It identifies the episode, because other tools may delete or
	// reorder episodes. If it is empty, as in older datasets, the index identifies the episode.
	Digest       string                     `json:"digest"`
	Name         string                     `json:"name"`
	Start        int64                      `json:"start_ns"` // time of the first row, ns since the Unix epoch
	Success      *bool                      `json:"success,omitempty"`
	ActionSource string                     `json:"action_source,omitempty"`
	Alignment    map[string]string          `json:"alignment,omitempty"`
	Report       *align.Report              `json:"report,omitempty"`
	Devices      map[string]json.RawMessage `json:"devices,omitempty"`
	Metadata     json.RawMessage            `json:"metadata,omitempty"`
}
