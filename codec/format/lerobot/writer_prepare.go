package lerobot

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"tapedeck/codec/internal/ffmpeg"
	"tapedeck/codec/training/episode"
)

// prepared is a stretch of rows without gaps that will be written as one episode.
type prepared struct {
	rows    *episode.Rows // all rows of the original episode
	name    string        // name of the written episode
	span    span          // the stretch in rows
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
	if err := w.checkFeatures(t); err != nil {
		return nil, err
	}
	if err := survey(t.cameras, w.info.Features.get); err != nil || !w.options.Video {
		return t, err
	}
	for _, c := range t.cameras {
		var err error
		c.encoder, err = w.encoderFor(c)
		if err != nil {
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

// checkFeatures returns an error if the features of an episode differ from the features of the dataset. For the
// first episode it returns nil.
func (w *Writer) checkFeatures(t *prepared) error {
	if len(w.rows) == 0 {
		return nil
	}
	count := len(standard)
	for _, v := range t.vectors {
		f := w.info.Features.get(v.feature.key)
		if f == nil {
			return fmt.Errorf("the episode has %s, which earlier episodes do not have", v.feature.key)
		}
		if !slices.Equal(f.Names.([]any), v.feature.Names.([]any)) {
			return fmt.Errorf("%s has the columns %v, in earlier episodes %v", v.feature.key, v.feature.Names, f.Names)
		}
		count++
	}
	for _, c := range t.cameras {
		if w.info.Features.get(c.feature) == nil {
			return fmt.Errorf("the episode has %s, which earlier episodes do not have", c.feature)
		}
		count++
	}
	if count != len(w.info.Features) {
		return errors.New("the episode lacks cameras or streams that earlier episodes have")
	}
	return nil
}

// standard are the features of every dataset.
var standard = []struct{ key, dtype string }{
	{"timestamp", "float32"}, {"frame_index", "int64"}, {"episode_index", "int64"}, {"index", "int64"},
	{"task_index", "int64"},
}

// begin takes the dataset's features from its first episode.
func (w *Writer) begin(fps int, t *prepared) {
	w.info.FPS = float64(fps)
	for _, v := range t.vectors {
		w.info.Features = append(w.info.Features, v.feature)
		w.notes.Columns[v.feature.key] = v.notes()
	}
	for _, c := range t.cameras {
		w.info.Features = append(w.info.Features, w.imageFeature(c, fps))
		w.notes.Cameras[c.feature] = c.camera.Name
	}
	for _, s := range standard {
		w.info.Features = append(w.info.Features, &feature{key: s.key, DType: s.dtype, Shape: []int{1}})
	}
}

// encoderFor returns the encoder of a camera's video. If the images are too small for the preferred encoder, it returns
// libx264, unless the options name an encoder.
func (w *Writer) encoderFor(c *camera) (*ffmpeg.Encoder, error) {
	if e := w.encoders[c.feature]; e != nil {
		return e, nil
	}
	if c.picture.Deep {
		e, err := chooseEncoder("", "libx265")
		if err != nil {
			return nil, err
		}
		return e, checkSize(e, &c.picture)
	}
	err := checkSize(w.encoder, &c.picture)
	if err != nil && w.options.Codec == "" {
		if e, none := chooseEncoder("", "libx264"); none == nil && checkSize(e, &c.picture) == nil {
			return e, nil
		}
	}
	return w.encoder, err
}

// imageFeature returns the feature of a camera. If the camera becomes a video, it also stores the video's encoder.
func (w *Writer) imageFeature(c *camera, fps int) *feature {
	p, channels := &c.picture, 3
	info := map[string]any{"is_depth_map": p.Deep}
	if p.Deep {
		channels, info["depth_unit"] = 1, "mm"
	}
	f := &feature{key: c.feature, DType: "image", Shape: []int{p.Height, p.Width, channels},
		Names: []any{"height", "width", "channels"}, Info: info}
	if !w.options.Video {
		return f
	}
	e := c.encoder
	w.encoders[c.feature] = e
	f.DType = "video"
	maps.Copy(info, map[string]any{
		"video.height": p.Height, "video.width": p.Width, "video.codec": e.Codec, "video.pix_fmt": e.Pixels,
		"video.fps": fps, "video.channels": channels, "video.g": groupSize, "video.fast_decode": 0,
		"video.extra_options": map[string]any{}, "has_audio": false,
	})
	if q := defaultQuantizer; p.Deep {
		maps.Copy(info, map[string]any{"video.depth_min": q.min, "video.depth_max": q.max, "video.shift": q.shift,
			"video.use_log": q.log, "video.extra_options": map[string]any{"x265-params": "lossless=1"}})
		return f
	}
	for _, name := range []string{"crf", "preset"} {
		if n, err := strconv.Atoi(e.Option("-" + name)); err == nil {
			info["video."+name] = n
		} else {
			info["video."+name] = e.Option("-" + name)
		}
	}
	if e != w.encoder {
		w.remarks = append(w.remarks, fmt.Sprintf("%s: %d×%d pixels are too small for %s, %s makes the video",
			c.camera.Name, p.Width, p.Height, w.encoder.Name, e.Name))
	}
	return f
}
