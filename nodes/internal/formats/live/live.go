// Package live has the formats that the recorder writes, with the names of their recordings and files.
package live

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"tapedeck/bridge/translate/robot"
	"tapedeck/codec"
	"tapedeck/codec/format/carla"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/record"
	"tapedeck/codec/format/rosbag2"
	"tapedeck/codec/format/session"
	"tapedeck/codec/store"
	"tapedeck/config"
)

// Format describes how the recorder writes a format.
type Format struct {
	codec.Format

	Storage string   // value of --storage
	Names   []string // further values of --storage
	First   string   // end of the first file's name, after the recording's name; "": the recording is a folder
	// Ending is a regular expression for the ends of the names of all files; "": only First.
	Ending     string
	Others     string // regular expression for the ends of the other files' names
	Compresses bool   // chunks may be compressed
	Metadata   bool   // the format keeps CreateOptions.Metadata
	// Robot begins a recording of the topics of a robot. m maps them; if m is nil, their names and types decide. Robot
	// is nil for formats that hold any topics.
	Robot func(path string, o codec.CreateOptions, m *robot.Mapping) (*robot.Writer, error)
	// Composer returns a composer of ROS 2 messages if a message of the format is composed of several of them. It is
	// nil if each message is translated by itself.
	Composer func(*CARLAOptions) (Composer, error)
}

// Formats returns the formats that the recorder writes.
func Formats() []*Format {
	return []*Format{
		{Format: carla.Format, Storage: "carla", First: ".log", Others: `_\d+\.log`, Composer: newCARLAComposer},
		{Format: mcap.Format, Storage: "mcap-file", Names: []string{"mcap"}, First: ".mcap", Others: `_\d+\.mcap`,
			Compresses: true, Metadata: true},
		{Format: record.Format, Storage: "record", First: ".record.00000", Ending: `\.record(\.\d{5})?`,
			Others: `\.record\.\d{5}(\.\d{14})?`},
		{Format: rosbag2.Format, Storage: "mcap", Names: []string{"rosbag2"}, Compresses: true, Metadata: true},
		{Format: session.Format, Storage: "session", Metadata: true, Robot: recordSessions},
	}
}

// Codecs returns the formats that the recorder writes, for package codec.
func Codecs() (list codec.Formats) {
	for _, f := range Formats() {
		list = append(list, f.Format)
	}
	return list
}

// Values of the recorder's --storage. AutoStorage means the format that the recording's name shows, or DefaultStorage
// if the name shows none.
const (
	AutoStorage    = "auto"
	DefaultStorage = "record"
)

// notLive maps names of formats that the recorder cannot write to arguments of the converter.
var notLive = map[string]string{
	"hdf5": "OUT.hdf5", "h5": "OUT.hdf5",
	"rosbag": "OUT.bag", "rosbag1": "OUT.bag",
	"sqlite3": "--to rosbag2 -s sqlite3 OUT", "db3": "--to rosbag2 -s sqlite3 OUT",
}

// converted maps ends of names of recordings to formats that only the converter writes.
var converted = map[string]string{
	".bag": "bag", ".parquet": "parquet", ".csv": "csv", ".jsonl": "jsonl", ".mp4": "mp4", ".gpx": "gpx",
	".geojson": "geojson", ".kml": "kml", ".tum": "tum",
	".tlog": "tlog", ".rlog": "tlog", ".mavlink": "tlog", ".ulg": "ulog",
}

// convertedFolders are formats that only the converter writes, in folders that may have any name.
var convertedFolders = []string{"lerobot", "images", "pcd", "ply"}

// convertible reports whether only the converter writes the format called name.
func convertible(name string) bool {
	return slices.Contains(convertedFolders, name) || converted["."+name] == name && name != "tlog"
}

// Storages returns the values of --storage of the recorder.
func Storages() []string {
	return append([]string{AutoStorage}, names(func(*Format) bool { return true })...)
}

// names returns the values of --storage for the formats of which has is true.
func names(has func(*Format) bool) (names []string) {
	for _, f := range Formats() {
		if has(f) {
			names = append(append(names, f.Storage), f.Names...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Flags returns flags of the recorder for the formats of which has is true: "--storage mcap, mcap-file or session".
func Flags(has func(*Format) bool) string {
	names := names(has)
	last := len(names) - 1
	return "--storage " + strings.Join(names[:last], ", ") + " or " + names[last]
}

// Choose returns the format in which the recorder writes a recording called name. storage is a value of --storage. If
// it means several formats, the end of the name decides.
func Choose(storage, name string) (*Format, error) {
	all := Formats()
	var named, meant *Format // by the name, by the storage
	extension := filepath.Ext(name)
	if i := slices.IndexFunc(all, func(f *Format) bool { return extension != "" && f.Named(name) }); i >= 0 {
		named = all[i]
	}
	how := notLive[strings.TrimPrefix(extension, ".")]
	other := converted[strings.ToLower(filepath.Ext(strings.TrimSuffix(name, ".raw")))]
	switch {
	case named == nil && how != "":
		return nil, cannotRecord("output", name, how)
	case storage != AutoStorage:
	case named != nil:
		return named, nil
	case other != "":
		return nil, cannotRecord("output", name, "--to "+other+" OUT")
	default:
		storage = DefaultStorage
	}
	for _, f := range all {
		switch {
		case f.Storage != storage && !slices.Contains(f.Names, storage):
		case f == named:
			return f, nil
		case meant == nil || f.Storage == storage:
			meant = f
		}
	}
	if named != nil {
		other = named.Name
	}
	switch {
	case meant == nil && notLive[storage] != "":
		return nil, cannotRecord("storage", storage, notLive[storage])
	case meant == nil && convertible(storage):
		return nil, cannotRecord("storage", storage, "--to "+storage+" OUT")
	case meant == nil:
		return nil, config.Usagef("storage: %q is unknown, want one of %s", storage, strings.Join(Storages(), ", "))
	case other != "":
		return nil, config.Usagef("storage, output: %s is the name of a recording of the format %s, not %s; leave "+
			"out the storage or change the name", name, other, storage)
	}
	return meant, nil
}

func cannotRecord(what, text, how string) error {
	return config.Usagef("%s: %s cannot be written while recording; record to another storage, such as mcap, "+
		"and convert it: converter NAME %s", what, text, how)
}

// Path returns the path to create for a recording that the user called name.
func (f *Format) Path(name string) string { return f.BareName(name) + f.First }

// BareName returns the name without the end that the format adds.
func (f *Format) BareName(name string) string {
	name = strings.TrimRight(name, "/")
	ending := f.Ending
	if ending == "" {
		ending = regexp.QuoteMeta(f.First)
	}
	return regexp.MustCompile(`(?:`+ending+`)$`).ReplaceAllString(name, "")
}

// Rest returns the paths of the files after the first one of a recording. name is its bare name, which may be a URL.
func (f *Format) Rest(files *store.Files, name string) (paths []string, err error) {
	if f.Others == "" {
		return nil, nil
	}
	entries, err := files.ReadDir(store.Dir(name))
	others := regexp.MustCompile(`^(?:` + f.Others + `)$`)
	for _, entry := range entries {
		rest, found := strings.CutPrefix(strings.TrimSuffix(entry.Name(), codec.ActiveSuffix), store.Base(name))
		if found && others.MatchString(rest) {
			paths = append(paths, store.Join(store.Dir(name), entry.Name()))
		}
	}
	return paths, err
}

// RemoveRest deletes the files that Rest returns, so that they do not look like files of a new recording.
func (f *Format) RemoveRest(d codec.Disk, name string) error {
	rest, _ := f.Rest(store.On(d), name) // codec.Formats.Create reports a folder that cannot be read
	for _, path := range rest {
		if err := d.Remove(path); err != nil {
			return fmt.Errorf("overwrite: %w", err)
		}
	}
	return nil
}
