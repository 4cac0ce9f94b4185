package lerobot

import (
	"errors"
	"fmt"
	"slices"

	"tapedeck/codec/episode"
)

// prepared is an episode, or a part of one without gaps, ready to be written.
type prepared struct {
	rows    *episode.Rows
	name    string
	span    span
	vectors []*vector
	cameras []*camera
}

// prepare checks that a stretch of rows can be written.
func (w *Writer) prepare(r *episode.Rows, vectors []*vector, s span) (*prepared, error) {
	t := &prepared{rows: r, span: s, vectors: vectors}
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
			return nil, fmt.Errorf("two cameras have the name %s", name)
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
	if err != nil || !w.options.Video {
		return t, err
	}
	for _, c := range t.cameras {
		if err := accepts(w.encoder, &c.picture); err != nil {
			return nil, fmt.Errorf("%s: %w", c.camera.Name, err)
		}
	}
	return t, nil
}

// featureName returns a valid name for a feature and a folder.
func featureName(name string) string {
	mapped := []rune(name)
	for i, r := range mapped {
		if r == '/' || r == '\\' || r == ',' || r < ' ' || r == '{' || r == '}' {
			mapped[i] = '_'
		}
	}
	return string(mapped)
}

// same returns an error if an episode has other features than the episodes before.
func (w *Writer) same(t *prepared) error {
	if len(w.rows) == 0 {
		return nil
	}
	count := len(standard)
	for _, v := range t.vectors {
		f := w.info.Features.get(v.feature.key)
		if f == nil {
			return fmt.Errorf("it has %s, which the episodes before do not have", v.feature.key)
		}
		if !slices.Equal(f.Names.([]any), v.feature.Names.([]any)) {
			return fmt.Errorf("%s has %v, in the episodes before %v", v.feature.key, v.feature.Names, f.Names)
		}
		count++
	}
	for _, c := range t.cameras {
		if w.info.Features.get(c.feature) == nil {
			return fmt.Errorf("it has %s, which the episodes before do not have", c.feature)
		}
		count++
	}
	if count != len(w.info.Features) {
		return errors.New("it lacks cameras or streams of the episodes before")
	}
	return nil
}

// standard are the features of every dataset.
var standard = []struct{ key, dtype string }{
	{"timestamp", "float32"}, {"frame_index", "int64"}, {"episode_index", "int64"}, {"index", "int64"},
	{"task_index", "int64"},
}

// begin stretches the features of the dataset from its first episode.
func (w *Writer) begin(fps int, t *prepared) {
	w.info.FPS = float64(fps)
	for _, v := range t.vectors {
		w.info.Features = append(w.info.Features, v.feature)
		w.notes.Columns[v.feature.key] = v.columns
	}
	for _, c := range t.cameras {
		f := &feature{key: c.feature, DType: "image", Shape: []int{c.picture.Height, c.picture.Width, 3},
			Names: []any{"height", "width", "channels"}}
		if w.options.Video {
			f.DType = "video"
			f.Info = map[string]any{
				"video.height": c.picture.Height, "video.width": c.picture.Width, "video.codec": w.encoder.Codec,
				"video.pix_fmt": "yuv420p",
				"video.fps":     fps, "video.channels": 3, "has_audio": false, "is_depth_map": false,
			}
		}
		w.info.Features = append(w.info.Features, f)
		w.notes.Cameras[c.feature] = c.camera.Name
	}
	for _, s := range standard {
		w.info.Features = append(w.info.Features, &feature{key: s.key, DType: s.dtype, Shape: []int{1}})
	}
}
