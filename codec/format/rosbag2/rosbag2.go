// Package rosbag2 reads and writes the folders that rosbag2 records, https://github.com/ros2/rosbag2, as the format
// "rosbag2": a metadata.yaml beside files of MCAP or databases of SQLite.
//
// It reads every version of metadata.yaml up to 9 (Jazzy and later) and writes versions from 4 (Foxy) on. It reads and
// writes files and messages compressed with zstd. It also reads folders whose metadata.yaml is missing, or does not
// list the files that a killed recorder was writing.
package rosbag2

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/format/rosbag2/internal/sqlite"
	"tapedeck/codec/internal/chunked"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
)

// Name is the name of the format.
const Name = "rosbag2"

const metadataFile = "metadata.yaml"

// Format describes folders with a metadata.yaml, as ros2 bag writes them.
var Format = Options{}.Format()

// Options are ros2 bag's options for writing bags. The zero value means the defaults.
type Options struct {
	CompressionMode string // "file", "message", or "" and "none": only MCAP chunks are compressed
	Storage         string // "mcap" or "sqlite3"; "" is mcap
	Version         int    // of metadata.yaml, 4 to 9; 0 is DefaultVersion
}

// Format returns the format of bags that are written with these options.
func (b Options) Format() codec.Format {
	keeps := mcap.Format.Keeps
	if b.Storage == storageSQLite {
		old := b.Version != 0 && b.Version < since["custom_data"]
		keeps = codec.Keeps{QoS: true, Metadata: !old, NoDefinitions: old}
	}
	return codec.Format{
		Name:     Name,
		Sniff:    sniff,
		Named:    isFolderPath,
		OpenFrom: func(files *store.Files, path string) (codec.Reader, error) { return Open(files, path) },
		FilesIn: func(files *store.Files, folder string) (paths []string) {
			names, _ := storageFiles(files, folder) // the folder was read before
			for _, name := range names {
				paths = append(paths, store.Join(folder, name))
			}
			return paths
		},
		Check:  b.check,
		Splits: true,
		Create: func(path string, o codec.CreateOptions) (codec.Writer, error) { return b.Create(path, o) },
		Keeps:  keeps,
	}
}

// sniff recognises the folder of a bag, its metadata.yaml, a compressed file of a bag, and a database of SQLite. A
// database may have a damaged beginning: then it is recognised by its name.
func sniff(files *store.Files, path string, head []byte) bool {
	if head != nil {
		database := bytes.HasPrefix(head, []byte(sqlite.Magic)) || len(head) >= sqlite.PageSize
		name := store.Base(path)
		packed := isStorage(name) && unpackedName(name) != name && chunked.IsZstd(head)
		return isMetadata(head) || packed || filepath.Ext(bareName(name)) == ".db3" && database
	}
	if text, err := files.ReadFile(store.Join(path, metadataFile)); err == nil && isMetadata(text) {
		return true
	}
	names, err := storageFiles(files, path)
	return err == nil && len(names) > 0
}

func isMetadata(text []byte) bool {
	return bytes.Contains(text, []byte("rosbag2_bagfile_information:"))
}

// isFolderPath reports whether path ends with a separator or has no extension.
func isFolderPath(path string) bool {
	return strings.HasSuffix(path, string(filepath.Separator)) || filepath.Ext(path) == ""
}

// storageFiles returns the names of the files in a folder that may belong to a bag, sorted by number. It includes files
// that were not completed, with codec.ActiveSuffix.
func storageFiles(files *store.Files, dir string) ([]string, error) {
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() && isStorage(entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	// bag_10.mcap comes behind bag_9.mcap.
	slices.SortFunc(names, func(a, b string) int {
		a, b = bareName(a), bareName(b)
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	})
	return names, nil
}

// bareName returns the name of a file without the suffixes behind its extension.
func bareName(name string) string {
	return strings.TrimSuffix(unpackedName(name), codec.ActiveSuffix)
}

// unpackedName returns the name without the suffix of a compressed file.
func unpackedName(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, packedSuffix), ".zst")
}

// isStorage reports whether a file has the name of a bag's file.
func isStorage(name string) bool {
	ext := filepath.Ext(bareName(name))
	return ext == ".mcap" || ext == ".db3"
}

// stem returns the name that all files of a recording share: NAME.mcap for NAME.mcap and NAME_7.mcap.
func stem(name string) string {
	name = bareName(name)
	ext := filepath.Ext(name)
	base := strings.TrimSuffix(name, ext)
	if i := strings.LastIndex(base, againMark); i > 0 {
		base = base[:i]
	}
	n, _ := series.Parse(base + ext)
	return n.Base
}

// oneRecording returns an error if the named files belong to several recordings: their stems differ, and metadata.yaml
// does not list them. m is nil without metadata.yaml.
func oneRecording(dir string, names []string, m *metadata) error {
	stems := map[string]bool{}
	if m != nil {
		for _, path := range m.Paths {
			stems[stem(filepath.Base(filepath.FromSlash(path)))] = true
		}
	}
	listed := len(stems) > 0
	var others []string
	for _, name := range names {
		if !stems[stem(name)] {
			others = append(others, name)
			stems[stem(name)] = true
		}
	}
	const shown = 10
	text := strings.Join(others[:min(len(others), shown)], ", ")
	if n := len(others) - shown; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	switch {
	case listed && len(others) > 0:
		return fmt.Errorf("%s holds other recordings than that of its metadata.yaml: %s; move them away", dir, text)
	case !listed && len(others) > 1:
		return fmt.Errorf("%s holds several recordings and no metadata.yaml: %s; name the files, or move each to a "+
			"folder of its own", dir, text)
	}
	return nil
}
