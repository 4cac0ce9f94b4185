package hdf5

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tapedeck/codec/format/hdf5/internal/child"
	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/text/plural"
	"tapedeck/codec/training/episode"
)

// defaultPeriod is the time between rows in ns for files without times. ALOHA records at 50 Hz.
const defaultPeriod = 20_000_000

// storedEpisode is an episode of a file.
type storedEpisode struct {
	*episode.Episode
	group string // path of the episode's group
	rows  int
	start int64 // time of the first row in ns; 0 if unknown
}

// episodeReader reads an episode of a file.
type episodeReader struct {
	*source
	root    string                     // prefix of the paths of the episode's objects; "" for the root group
	devices map[string]json.RawMessage // descriptions of devices in /metadata, by the device's name
	lengths map[string]int             // number of rows of each readable dataset, by the dataset's path
	omitted error                      // why the first omitted dataset cannot be read; nil if none was omitted
	episode *storedEpisode
}

// readEpisode reads an episode without its images. All datasets of an episode should have the same number of rows. The
// numbers differ if the writer of the file was killed. Then readEpisode reads only the rows that all datasets have.
func (s *source) readEpisode(root string) (*storedEpisode, error) {
	e := s.readAttributes(root)
	r := &episodeReader{source: s, root: root, devices: s.readDevices(), lengths: map[string]int{}, episode: e}
	stamps, err := s.stamps(root)
	if err != nil {
		return nil, err
	}
	if len(stamps) > 0 {
		r.lengths["timestamps"] = len(stamps)
	}
	if err := r.readArms(); err != nil {
		return nil, err
	}
	images, err := r.findImages()
	if err == nil && len(images) == 0 && len(e.Arms) == 0 {
		err = r.omitted
	}
	if err != nil {
		return nil, err
	}
	r.countRows()
	if len(stamps) > 0 {
		e.start = stamps[0]
	} else {
		stamps = s.generateStamps(e.rows)
	}
	stamps = stamps[:e.rows]
	e.Table.Stamps = stamps
	for _, a := range e.Arms {
		for _, v := range a.Streams {
			if v != nil {
				v.Stamps, v.Values = stamps, v.Values[:e.rows*len(v.Columns)]
			}
		}
	}
	for _, d := range images {
		c, frames, err := d.readCamera(stamps, r.devices)
		if err != nil {
			return nil, err
		}
		c.Name = d.uniqueName(e.Cameras)
		e.Cameras, e.Table.Frames = append(e.Cameras, c), append(e.Table.Frames, frames)
	}
	return e, nil
}

// readAttributes returns an episode that has only its name and the attributes of its group.
func (s *source) readAttributes(root string) *storedEpisode {
	group := groupPath(root)
	e := &storedEpisode{group: group, Episode: &episode.Episode{
		Name: s.name(root), Task: s.text(group, "task"), Metadata: jsonObject(s.text(group, "metadata")),
		Table: &episode.Table{},
	}}
	e.Start, _ = s.file.Attribute(group, "start_ns").(int64)
	e.End, _ = s.file.Attribute(group, "end_ns").(int64)
	if n, ok := s.file.Attribute(group, "success").(int64); ok {
		success := n != 0
		e.Success = &success
	}
	return e
}

// readDevices returns the descriptions of the devices of all episodes, by name.
func (s *source) readDevices() map[string]json.RawMessage {
	devices := map[string]json.RawMessage{}
	if text := s.text("/metadata", "devices"); text != "" {
		json.Unmarshal([]byte(text), &devices) //nolint:errcheck // invalid JSON is ignored
	}
	return devices
}

// countRows sets the episode's number of rows to the length of the shortest dataset, and reports longer ones as damage.
func (r *episodeReader) countRows() {
	rows := 0
	if len(r.lengths) > 0 {
		rows = slices.Min(slices.Collect(maps.Values(r.lengths)))
	}
	for path, n := range r.lengths {
		if n > rows {
			r.Damage = append(r.Damage, fmt.Errorf("read %s: %s of %s has %s; only the first %d are read, because "+
				"another dataset ends there", r.path, path, r.episode.group, plural.Count(n, "row"), rows))
		}
	}
	slices.SortFunc(r.Damage, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	r.episode.rows = rows
}

// generateStamps returns times for an episode without times. They follow the times of the episode before.
func (s *source) generateStamps(rows int) []int64 {
	stamps := make([]int64, rows)
	for i := range stamps {
		stamps[i] = s.nextStamp + int64(i)*defaultPeriod
	}
	s.nextStamp += int64(rows) * defaultPeriod
	return stamps
}

// omit adds a dataset that cannot be read because of err to Damage and Lost. kind is the plural of the kind of data.
func (r *episodeReader) omit(path, kind string, err error) {
	r.Damage = append(r.Damage, fmt.Errorf("read %s: %s is skipped: %w", r.path, path, err))
	r.Lost.Add(path, kind+" that cannot be read", 0)
	r.omitted = cmp.Or(r.omitted, err)
}

// readNumbers reads a dataset of numbers, and adds its number of rows to r.lengths. It omits an unreadable dataset;
// then columns is 0.
func (r *episodeReader) readNumbers(path string) (values []float64, columns int, err error) {
	values, rows, columns, err := r.numbers(path)
	if failed := r.file.Err(); failed != nil {
		return nil, 0, failed
	}
	if err == nil && rows == 0 {
		err = errors.New("the dataset has no rows")
	}
	if err != nil {
		r.omit(path, "datasets", err)
		return nil, 0, nil
	}
	r.lengths[path] = rows
	return values, columns, nil
}

// jsonObject returns text if it is a JSON object, else nil.
func jsonObject(text string) json.RawMessage {
	if !strings.HasPrefix(strings.TrimSpace(text), "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
}

// stamps returns the times of rows in ns, or nil if unknown.
func (s *source) stamps(root string) ([]int64, error) {
	for _, path := range []string{"/actions/timestamps", "/observations/timestamps", "/timestamps"} {
		stamps, err := s.times(root + path)
		if stamps != nil || err != nil {
			return stamps, err
		}
	}
	return nil, nil
}

// times returns the times of rows in ns. It reads the dataset path+"_ns", which has times in ns, or else the dataset
// path, which has times in s. It returns nil if neither exists, or if the dataset path has not one number in each row.
func (s *source) times(path string) ([]int64, error) {
	if s.file.Type(path+"_ns") == h5type.DatasetObject {
		return integers(s.file, path+"_ns")
	}
	if s.file.Type(path) != h5type.DatasetObject {
		return nil, nil
	}
	values, rows, _, err := s.numbers(path)
	if err != nil || len(values) != rows {
		return nil, err
	}
	stamps := make([]int64, len(values))
	for i, v := range values {
		if !(math.Abs(v) < math.MaxInt64/1e9) { // also true for NaN
			return nil, fmt.Errorf("%s: row %d has the time %v", path, i, v)
		}
		// A float64 represents today's time in s with a precision of about 1 µs.
		stamps[i] = int64(math.Round(v*1e6)) * 1000
	}
	return stamps, nil
}

// integers reads a dataset of integers with one dimension.
func integers(f *child.File, path string) ([]int64, error) {
	set, err := f.Dataset(path)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if len(set.Dims) != 1 {
		return nil, fmt.Errorf("%s: unexpected shape %v", path, set.Dims)
	}
	values, err := set.Integers()
	if values == nil && err == nil {
		values = []int64{}
	}
	return values, err
}

// numbers reads a dataset of numbers with one or two dimensions.
func (s *source) numbers(path string) (values []float64, rows, columns int, err error) {
	set, err := s.file.Dataset(path)
	if err != nil {
		return nil, 0, 0, err
	}
	defer set.Close()
	switch len(set.Dims) {
	case 1:
		rows, columns = set.Dims[0], 1
	case 2:
		rows, columns = set.Dims[0], set.Dims[1]
	default:
		return nil, 0, 0, fmt.Errorf("%s: unexpected shape %v", path, set.Dims)
	}
	values, err = set.Doubles()
	return values, rows, columns, err
}
