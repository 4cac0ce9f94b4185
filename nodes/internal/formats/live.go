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
	"tapedeck/codec/store"
	"tapedeck/config"
)

// Live is how the recorder writes a format.
type Live struct {
	Storage string   // its name in --storage
	Names   []string // further names of it
	First   string   // what the name of the first file has behind that of the recording; "" where it is a folder
	// regular expression for First and what names of other files of the recording end with; "": First alone
	Ending     string
	Others     string // regular expression for what names of the other files have behind that of the recording
	Compresses bool   // chunks may be compressed
	Metadata   bool   // CreateOptions.Metadata is kept
	// Robot begins a recording of the topics of a robot, which m names, or their names and types if m is nil. It is nil
	// for formats that hold any topics.
	Robot func(path string, o codec.CreateOptions, m *robot.Mapping) (*robot.Writer, error)
}

// Values of the recorder's --storage: AutoStorage goes by the name of the recording, and is DefaultStorage if that says
// nothing.
const (
	AutoStorage    = "auto"
	DefaultStorage = "record"
)

// notLive are names of what the recorder cannot write, as other programs call it, and how the converter writes it.
var notLive = map[string]string{
	"hdf5": "OUT.hdf5", "h5": "OUT.hdf5",
	"rosbag": "OUT.bag", "rosbag1": "OUT.bag",
	"sqlite3": "--to rosbag2 -s sqlite3 OUT", "db3": "--to rosbag2 -s sqlite3 OUT",
}

// converted are the formats that only the converter writes, by the ends of the names of their recordings.
var converted = map[string]string{
	".bag": "bag", ".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".mp4": "mp4", ".gpx": "gpx",
	".geojson": "geojson", ".kml": "kml", ".tum": "tum",
	".tlog": "tlog", ".rlog": "tlog", ".mavlink": "tlog", ".ulg": "ulog",
}

// convertedFolders are the formats that only the converter writes, and whose folders may have any name.
var convertedFolders = []string{"lerobot", "images", "pcd", "ply"}

// convertible reports whether the converter writes the format of a name that the recorder does not know.
func convertible(name string) bool {
	return slices.Contains(convertedFolders, name) || converted["."+name] == name && name != "tlog"
}

// Storages returns the values of --storage of the recorder.
func (l List) Storages() []string {
	names := []string{AutoStorage}
	for _, f := range l {
		if f.Live != nil {
			names = append(append(names, f.Live.Storage), f.Live.Names...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Live returns flags of the recorder for the formats of which has is true: "--storage mcap, mcap-file or session".
func (l List) Live(has func(*Live) bool) string {
	var names []string
	for _, f := range l {
		if f.Live != nil && has(f.Live) {
			names = append(append(names, f.Live.Storage), f.Live.Names...)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if last := len(names) - 1; last > 0 {
		return "--storage " + strings.Join(names[:last], ", ") + " or " + names[last]
	}
	return "--storage " + strings.Join(names, "")
}

// Recorded returns the format in which the recorder writes a recording: the one that storage, a value of --storage,
// means, of several the one that the end of the recording's name says.
func (l List) Recorded(storage, name string) (Format, error) {
	named := slices.IndexFunc(l, func(f Format) bool { return filepath.Ext(name) != "" && f.Named(name) })
	auto := storage == AutoStorage
	other := converted[strings.ToLower(filepath.Ext(strings.TrimSuffix(name, ".raw")))]
	switch extension := filepath.Ext(name); {
	case named < 0 && extension != "" && notLive[extension[1:]] != "":
		return Format{}, cannotRecord("output", name, notLive[extension[1:]])
	case !auto:
	case named >= 0:
		return l[named], nil
	case other != "":
		return Format{}, cannotRecord("output", name, "--to "+other+" OUT")
	default:
		storage = DefaultStorage
	}
	var meant []int
	for i, f := range l {
		if f.Live != nil && (f.Live.Storage == storage || slices.Contains(f.Live.Names, storage)) {
			meant = append(meant, i)
		}
	}
	switch {
	case meant == nil:
		if how := notLive[storage]; how != "" {
			return Format{}, cannotRecord("storage", storage, how)
		}
		if convertible(storage) {
			return Format{}, cannotRecord("storage", storage, "--to "+storage+" OUT")
		}
		return Format{}, config.Usagef("storage: %q is unknown, want one of %s", storage,
			strings.Join(l.Storages(), ", "))
	case slices.Contains(meant, named):
		return l[named], nil
	case named >= 0:
		other = l[named].Name
	}
	if other != "" {
		return Format{}, config.Usagef("storage, output: %s is the name of a recording of the format %s, not %s; "+
			"leave out the storage or change the name", name, other, storage)
	}
	// Of several, the one of which storage is the first name.
	i := slices.IndexFunc(meant, func(i int) bool { return l[i].Live.Storage == storage })
	return l[meant[max(i, 0)]], nil
}

func cannotRecord(what, text, how string) error {
	return config.Usagef("%s: %s cannot be written while recording; record to another storage, such as mcap, "+
		"and convert it: converter NAME %s", what, text, how)
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

// Rest returns the paths of the files behind the first one of a recording of that bare name, which may be a URL.
func (l *Live) Rest(files *store.Files, name string) (paths []string, err error) {
	if l.Others == "" {
		return nil, nil
	}
	entries, err := files.ReadDir(store.Dir(name))
	others := regexp.MustCompile(`^(?:` + l.Others + `)$`)
	for _, entry := range entries {
		rest, found := strings.CutPrefix(strings.TrimSuffix(entry.Name(), codec.ActiveSuffix), store.Base(name))
		if found && others.MatchString(rest) {
			paths = append(paths, store.Join(store.Dir(name), entry.Name()))
		}
	}
	return paths, err
}

// RemoveRest deletes those files, so that they do not look like those of the recording that takes its place.
func (l *Live) RemoveRest(name string) error {
	rest, _ := l.Rest(nil, name) // codec.Formats.Create reports a folder that cannot be read
	for _, path := range rest {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("overwrite: %w", err)
		}
	}
	return nil
}
