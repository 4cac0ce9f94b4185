// Package rosbag2 reads and writes the folders that rosbag2 records, https://github.com/ros2/rosbag2, as the format
// "rosbag2": a metadata.yaml beside files of MCAP or databases of SQLite.
//
// Every version of metadata.yaml up to 9 (Jazzy and later) is read, and those from 4 (Foxy) on are written, files and
// messages compressed with zstd too. Read are also folders whose metadata.yaml is missing, or does not list what a
// killed recorder was writing.
package rosbag2

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/rosbag2/internal/sqlite"
)

// Name is the name of the format.
const Name = "rosbag2"

const metadataFile = "metadata.yaml"

// Format is that of folders with a metadata.yaml, as ros2 bag writes them.
var Format = Options{}.Format()

// Options are the choices that ros2 bag has for writing bags. The zero value asks for the defaults.
type Options struct {
	CompressionMode string // what is compressed: "file", "message", or "" and "none": nothing but the chunks of MCAP
	Storage         string // "mcap" or "sqlite3"; "" is mcap
	Version         int    // of metadata.yaml, 4 to 9; 0 is DefaultVersion
}

// Format returns the format of bags that are written with these options.
func (b Options) Format() codec.Format {
	keeps := codec.Keeps{PublishTime: true, QoS: true, Metadata: true, ChannelMetadata: true}
	if b.Storage == storageSQLite {
		keeps = codec.Keeps{QoS: true, Metadata: true}
	}
	return codec.Format{
		Name:   Name,
		Sniff:  sniff,
		Named:  named,
		Open:   func(path string) (codec.Reader, error) { return Open(path) },
		Create: func(path string, o codec.CreateOptions) (codec.Writer, error) { return b.Create(path, o) },
		Keeps:  keeps,
	}
}

// sniff recognises the folder, its metadata.yaml and a database of SQLite, by its name too: its beginning may be
// damaged.
func sniff(path string, head []byte) bool {
	if head != nil {
		whole := bytes.HasPrefix(head, []byte(sqlite.Magic))
		return isMetadata(head) || filepath.Ext(bareName(path)) == ".db3" && (whole || len(head) >= sqlite.PageSize)
	}
	if text, err := os.ReadFile(filepath.Join(path, metadataFile)); err == nil && isMetadata(text) {
		return true
	}
	files, err := storageFiles(path)
	return err == nil && len(files) > 0
}

func isMetadata(text []byte) bool {
	return bytes.Contains(text, []byte("rosbag2_bagfile_information:"))
}

// named reports whether path is that of a folder.
func named(path string) bool {
	return strings.HasSuffix(path, string(filepath.Separator)) || filepath.Ext(path) == ""
}

// storageFiles returns the names of the files in a folder that can be parts of a bag, by their number. Those that were
// not completed are among them, with codec.ActiveSuffix.
func storageFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		name := bareName(entry.Name())
		if ext := filepath.Ext(name); !entry.IsDir() && (ext == ".mcap" || ext == ".db3") {
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
	return strings.TrimSuffix(strings.TrimSuffix(name, ".zstd"), codec.ActiveSuffix)
}
