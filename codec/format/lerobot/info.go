package lerobot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// info is meta/info.json.
type info struct {
	Version       string            `json:"codebase_version"`
	FPS           float64           `json:"fps"`
	Features      features          `json:"features"`
	TotalEpisodes int               `json:"total_episodes"`
	TotalFrames   int               `json:"total_frames"`
	TotalTasks    int               `json:"total_tasks"`
	ChunkSize     int               `json:"chunks_size"`
	DataFileSize  int64             `json:"data_files_size_in_mb"`
	VideoFileSize int64             `json:"video_files_size_in_mb"`
	DataPath      string            `json:"data_path"`
	VideoPath     *string           `json:"video_path"`
	RobotType     *string           `json:"robot_type"`
	Splits        map[string]string `json:"splits"`
}

// feature is a column of the dataset.
type feature struct {
	key   string
	DType string         `json:"dtype"`
	Shape []int          `json:"shape"`
	Names any            `json:"names"` // names of the numbers: a list, an object of lists, or nil
	Info  map[string]any `json:"info,omitempty"`
	// VideoInfo has some members of Info in old datasets.
	VideoInfo map[string]any `json:"video_info,omitempty"`
}

// isPicture reports whether the feature has images.
func (f *feature) isPicture() bool { return f.DType == "image" || f.DType == "video" }

// width returns the number of values in a row.
func (f *feature) width() int {
	n := 1
	for _, d := range f.Shape {
		n *= d
	}
	return n
}

// features are the features of a dataset in order.
type features []*feature

func (fs features) get(key string) *feature {
	for _, f := range fs {
		if f.key == key {
			return f
		}
	}
	return nil
}

// MarshalJSON implements json.Marshaler: an object.
func (fs features) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fs {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(f)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (fs *features) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("features are not an object")
	}
	*fs = nil
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		f := &feature{key: key.(string)}
		if err := d.Decode(f); err != nil {
			return fmt.Errorf("feature %s: %w", f.key, err)
		}
		size := 1
		for _, n := range f.Shape {
			if n < 0 || n > 1<<20 || size > 1<<24 {
				return fmt.Errorf("feature %s: shape %v", f.key, f.Shape)
			}
			size *= n
		}
		*fs = append(*fs, f)
	}
	return nil
}

// names returns the names of the numbers of a feature. Datasets have several forms of Names.
func (f *feature) names() []string {
	var list []string
	var collect func(any)
	collect = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, n := range v {
				list = append(list, fmt.Sprint(n))
			}
		case map[string]any:
			if len(v) == 1 { // {"motors": [...]}, of v2
				for _, inner := range v {
					collect(inner)
				}
			}
		}
	}
	collect(f.Names)
	if n := f.width(); len(list) != n {
		list = nil
		short := f.key[strings.LastIndexByte(f.key, '.')+1:]
		for i := range n {
			list = append(list, short+"_"+strconv.Itoa(i))
		}
	}
	return list
}

// placeholder matches a placeholder of a template: {video_key}, or {chunk_index:03d} with a number of digits.
var placeholder = regexp.MustCompile(`\{(\w*)(?::0?(\d{0,2})d)?\}`)

// fill returns the path of a file in a dataset by a template.
func fill(template string, values map[string]any) (string, error) {
	path := placeholder.ReplaceAllStringFunc(template, func(field string) string {
		groups := placeholder.FindStringSubmatch(field)
		value, known := values[groups[1]]
		digits, _ := strconv.Atoi("0" + groups[2])
		if !known || digits > 32 {
			return field
		}
		text := fmt.Sprint(value)
		return strings.Repeat("0", max(0, digits-len(text))) + text
	})
	switch i := strings.IndexByte(path, '{'); {
	case i >= 0:
		return "", fmt.Errorf("path %q: unknown placeholder %q", template, path[i:])
	case !filepath.IsLocal(path):
		return "", fmt.Errorf("path %q is outside of the dataset", path)
	}
	return path, nil
}
