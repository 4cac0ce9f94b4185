package formats

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tapedeck/bridge/robot"
	"tapedeck/codec"
)

// Live is how the recorder writes a format.
type Live struct {
	Storage string // its name in --storage
	First   string // what the name of the first file has behind that of the recording; "" where it is a folder
	// regular expression for First and what names of other files of the recording end with; "": First alone
	Ending     string
	Others     string // regular expression for what names of the other files have behind that of the recording
	Compresses bool   // chunks may be compressed
	// Robot begins a recording of the topics of a robot, which m names, or their names and types if m is nil. It is nil
	// for formats that hold any topics.
	Robot func(path string, o codec.CreateOptions, m *robot.Mapping) (codec.Writer, error)
}

// DefaultStorage is the storage that the recorder writes unless told otherwise.
const DefaultStorage = "record"

// Storages returns the values of --storage of the recorder.
func (l List) Storages() (names []string) {
	for _, f := range l {
		if f.Live != nil {
			names = append(names, f.Live.Storage)
		}
	}
	return names
}

// ByStorage returns the format that --storage of the recorder means, one of Storages.
func (l List) ByStorage(storage string) Format {
	i := slices.IndexFunc(l, func(f Format) bool { return f.Live != nil && f.Live.Storage == storage })
	return l[i]
}

// Path returns what is created for the name that the user gave a recording.
func (l *Live) Path(name string) string { return l.BareName(name) + l.First }

// BareName returns the name without what the format adds to it.
func (l *Live) BareName(name string) string {
	name = strings.TrimRight(name, "/")
	ending := l.Ending
	if ending == "" {
		ending = regexp.QuoteMeta(l.First)
	}
	return regexp.MustCompile(`(?:`+ending+`)$`).ReplaceAllString(name, "")
}

// RemoveOthers deletes the files behind the first one of a recording of that bare name, so that they do not look like
// those of the recording that takes its place.
func (l *Live) RemoveOthers(name string) error {
	folder, err := os.ReadDir(filepath.Dir(name))
	if err != nil || l.Others == "" {
		return nil // codec.Formats.Create reports a folder that cannot be read
	}
	others := regexp.MustCompile(`^(?:` + l.Others + `)$`)
	base := filepath.Base(name)
	for _, entry := range folder {
		rest, found := strings.CutPrefix(strings.TrimSuffix(entry.Name(), codec.ActiveSuffix), base)
		if !found || !others.MatchString(rest) {
			continue
		}
		if err := os.Remove(filepath.Join(filepath.Dir(name), entry.Name())); err != nil {
			return fmt.Errorf("overwrite: %w", err)
		}
	}
	return nil
}
