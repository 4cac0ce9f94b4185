package lerobot

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/parquet-go/parquet-go"
)

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
		"index_columns": []string{"task"},
		"column_indexes": []any{map[string]any{"name": nil, "field_name": nil, "pandas_type": "unicode",
			"numpy_type": "object", "metadata": map[string]string{"encoding": "UTF-8"}}},
		"columns":        []any{text("task_index", "int64", "int64"), text("task", "unicode", "object")},
		"creator":        map[string]string{"library": "tapedeck", "version": "1"},
		"pandas_version": "1.5.3",
	})
	if err != nil {
		return err
	}
	return w.write(tasksPath, []column{intColumn("task_index"), stringColumn("task")},
		map[string]string{"pandas": string(pandas)}, func(t *table) error {
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
	lists("tasks", parquet.String(), 1, 1, func(r *episodeRow,
		_ int) parquet.Value {
		return parquet.ByteArrayValue([]byte(r.task))
	})
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
			switch stat {
			case "count":
				lists(name, parquet.Leaf(parquet.Int64Type), 1, 1, func(r *episodeRow, _ int) parquet.Value {
					return parquet.Int64Value(int64(r.stats[key].values["count"][0]))
				})
			default:
				depth := 1
				if first.picture {
					depth = 3
				}
				lists(name, parquet.Leaf(parquet.DoubleType), depth, len(first.values[stat]),
					func(r *episodeRow, i int) parquet.Value {
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
