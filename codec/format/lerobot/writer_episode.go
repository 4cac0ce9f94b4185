package lerobot

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/image/tiff"

	"tapedeck/codec/encoding/pixel"
	"tapedeck/codec/training/episode"
)

const (
	// unknownTask is the task of episodes without a task. LeRobot requires a task.
	unknownTask = "unknown"
	// noTask is the remark on episodes without a task.
	noTask = "episodes without a task get the task \"" + unknownTask + "\"; name their task with --task"
)

// writeEpisode appends an episode to the files of the dataset.
func (w *Writer) writeEpisode(t *prepared) error {
	e := t.rows.Episode
	row := &episodeRow{task: cmp.Or(e.Task, unknownTask), length: t.span.n, from: w.info.TotalFrames,
		videos: map[string]videoPlace{}, stats: map[string]*stats{}}
	if e.Task == "" && !slices.Contains(w.remarks, noTask) {
		w.remarks = append(w.remarks, noTask)
	}
	task := slices.Index(w.tasks, row.task)
	if task < 0 {
		task = len(w.tasks)
		w.tasks = append(w.tasks, row.task)
	}
	if err := w.openData(row.length); err != nil {
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
	w.notes.Episodes = append(w.notes.Episodes, t.note())
	return nil
}

// note returns the note on the episode in meta/tapedeck.json.
func (t *prepared) note() noteEpisode {
	numbers := newDigest()
	for _, v := range t.vectors {
		if key, width := v.feature.key, len(v.Columns); key == stateKey || key == actionKey {
			numbers.add(v.Values[t.span.from*width : (t.span.from+t.span.n)*width])
		}
	}
	e := t.rows.Episode
	return noteEpisode{
		Digest: numbers.String(), Name: t.name, Start: t.rows.Stamps[t.span.from], Success: e.Success,
		ActionSource: t.rows.ActionSource, Alignment: t.rows.Options.Attributes(), Report: &t.rows.Report,
		Metadata: e.Metadata, Devices: e.Devices(),
	}
}

// openData sets w.data to the table for an episode of some rows. It begins a new table if the current one is full.
func (w *Writer) openData(rows int) error {
	if w.data != nil {
		size := w.data.bytes
		if size+size/int64(max(w.dataRows, 1))*int64(rows) < w.options.DataFileSize {
			return nil
		}
		if err := w.data.close(); err != nil {
			return fmt.Errorf("%s: %w", w.data.path, err)
		}
		w.dataAt = w.dataAt.next(chunkFiles)
	}
	var columns []column
	hf := map[string]any{}
	for _, f := range w.info.Features {
		leaf := parquet.Leaf(parquet.FloatType)
		if f.DType == "int64" {
			leaf = parquet.Leaf(parquet.Int64Type)
		}
		value := map[string]any{"dtype": f.DType, "_type": "Value"}
		switch {
		case f.DType == "video":
		case f.DType == "image":
			columns = append(columns, imageColumn(f.key))
			hf[f.key] = map[string]any{"_type": "Image"}
		case f.width() == 1:
			columns = append(columns, listColumn(f.key, leaf, 0))
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
	return filepath.Join(w.tempPath, path), err
}

// numbers writes the columns of numbers of an episode and sets the statistics of the columns in row.
func (w *Writer) numbers(t *prepared, row *episodeRow, task int) error {
	n := row.length
	for _, v := range t.vectors {
		key, width := v.feature.key, len(v.Columns)
		value := func(i, c int) parquet.Value { return parquet.FloatValue(v.at(t.span.from+i, c)) }
		if err := w.data.lists(key, n, width, value); err != nil {
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
		if err := w.data.lists(c.key, n, 1, func(i, _ int) parquet.Value {
			return parquet.Int64Value(c.value(i))
		}); err != nil {
			return err
		}
		row.stats[c.key] = columnStats(n, 1, func(i, _ int) float64 { return float64(c.value(i)) })
	}
	stamp := func(i int) float32 { return float32(float64(i) / w.info.FPS) }
	row.stats["timestamp"] = columnStats(n, 1, func(i, _ int) float64 { return float64(stamp(i)) })
	return w.data.lists("timestamp", n, 1, func(i, _ int) parquet.Value { return parquet.FloatValue(stamp(i)) })
}

// pictures writes the frames of a camera to the table: JPEGs and PNGs of colours unchanged, other colours as PNG,
// and depths as TIFF.
func (w *Writer) pictures(c *camera, _ *episodeRow) error {
	extension := map[string]string{"jpeg": "jpg", "png": "png", mmEncoding: "tiff"}[c.picture.encoding]
	unchanged := extension != "" && !c.picture.Gray && !c.picture.Deep
	if !unchanged && !c.picture.Deep {
		extension = "png"
	}
	var lost pixel.LossCounter
	encode := func(dst []byte, f *episode.Frame, again bool) ([]byte, error) {
		switch {
		case unchanged && f == nil:
			return append(dst, c.black.Data...), nil
		case unchanged:
			return f.Data, nil
		case f == nil:
			f = &c.black
		}
		m, err := f.Decode()
		if err != nil {
			return nil, err
		}
		if !again {
			lost.Add(f.RGBLosses(m))
		}
		out := bytes.NewBuffer(dst)
		if c.picture.Deep {
			err = tiff.Encode(out, m, nil)
		} else {
			err = encodePNG(out, m)
		}
		return out.Bytes(), err
	}
	err := c.camera.Encode(c.frames, runtime.GOMAXPROCS(0), encode, func(at int, items [][]byte) error {
		for i, data := range items {
			if err := w.data.image(c.feature, data, fmt.Sprintf("frame-%06d.%s", at+i, extension)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.camera.Name, err)
	}
	lost.Each(w.lost.Of(cmp.Or(c.camera.Topic, c.camera.Name)))
	return nil
}

// video writes the frames of a camera to its video.
func (w *Writer) video(c *camera, row *episodeRow) error {
	v := w.videos[c.feature]
	if v != nil && v.size+v.size/int64(v.frames)*int64(row.length) >= w.options.VideoFileSize {
		delete(w.videos, c.feature)
		if err := v.close(); err != nil {
			return err
		}
		w.videosAt[c.feature] = w.videosAt[c.feature].next(chunkFiles)
		v = nil
	}
	if v == nil {
		path, err := w.file(videoPath, c.feature, w.videosAt[c.feature])
		if err != nil {
			return err
		}
		v, err = createVideo(path, w.encoders[c.feature], int(w.info.FPS))
		if err != nil {
			return err
		}
		w.videos[c.feature] = v
	}
	place := videoPlace{fileIndex: w.videosAt[c.feature], from: float64(v.frames) / w.info.FPS}
	if err := v.write(c, w.lost); err != nil {
		return err
	}
	place.to = float64(v.frames) / w.info.FPS
	row.videos[c.feature] = place
	return nil
}
