package rosbag2

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/format/mcap"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/store"
)

// Create begins a bag in the folder at path, with the file NAME/NAME_0.mcap or NAME_0.db3. NAME_1 and so on follow.
// metadata.yaml lists the complete files at any time.
//
// The key ros_distro of CreateOptions.Metadata, the release's name, has its own place in metadata.yaml; other keys
// become custom_data, from Version 6 on. Databases, the storage "sqlite3", have schema version 3 below Version 6, as in
// Humble, and 4 from Version 6 on. They are compressed only with a CompressionMode. Files are compressed when they are
// complete. An existing folder is overwritten only if it is empty or holds a bag and nothing else.
func (b Options) Create(path string, o codec.CreateOptions) (*output.Recording, error) {
	return b.createOn(o.OnDisk(), path, o)
}

// layout is the storage, version and compression of a bag that is written.
type layout struct {
	system  codec.Disk
	files   *output.Series
	options codec.CreateOptions
	storage string
	version int
	mode    string // "file", "message" or ""
}

func (b Options) check(o codec.CreateOptions) error {
	_, err := newLayout(nil, b, o)
	return err
}

func newLayout(s codec.Disk, b Options, o codec.CreateOptions) (*layout, error) {
	l := &layout{
		system: s, files: output.NewSeries(s), options: o,
		storage: cmp.Or(b.Storage, storageMCAP), version: cmp.Or(b.Version, DefaultVersion),
		mode: strings.TrimSuffix(b.CompressionMode, "none"),
	}
	switch {
	case o.ChunkSize < 0 || o.ChunkDuration < 0:
		return nil, errors.New("size and duration of chunks must not be negative")
	case l.storage != storageMCAP && l.storage != storageSQLite:
		return nil, fmt.Errorf("storage %q is not one of %s and %s", l.storage, storageMCAP, storageSQLite)
	case l.version < 4 || l.version > 9:
		return nil, fmt.Errorf("version %d of metadata.yaml is not one of 4 to 9", l.version)
	case l.mode != "" && l.mode != "file" && l.mode != "message":
		return nil, fmt.Errorf("compression mode %q is not one of none, file and message", l.mode)
	case l.mode != "" && o.Compression != "" && o.Compression != "zstd":
		return nil, fmt.Errorf("compression %q: rosbag2 compresses %ss with zstd only", o.Compression, l.mode)
	case l.mode == "message" && l.storage == storageMCAP:
		return nil, errors.New("rosbag2 does not compress messages in MCAP files; choose compression mode none, " +
			"which compresses chunks, or file")
	case l.mode == "" && l.storage == storageSQLite && o.Compression != "" && o.Compression != "none":
		return nil, fmt.Errorf("storage sqlite3 is compressed with zstd and compression mode file or message, not "+
			"with %q alone", o.Compression)
	}
	if l.mode != "" {
		l.options.Compression = "" // of chunks
	}
	if l.storage == storageMCAP {
		if err := mcap.Format.Check(l.options); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// extension returns the extension of the files.
func (l *layout) extension() string {
	extension := ".mcap"
	if l.storage == storageSQLite {
		extension = ".db3"
	}
	if l.mode == "file" {
		extension += packedSuffix
	}
	return extension
}

// open creates a file of the bag.
func (l *layout) open(path string, before output.FileWriter) (output.FileWriter, error) {
	if w, ok := before.(wrapper); ok {
		before = w.inner()
	}
	w, err := l.create(strings.TrimSuffix(path, packedSuffix), before)
	switch {
	case err != nil:
		return nil, err
	case l.mode == "file":
		return &packedFile{FileWriter: w, system: l.system, files: l.files, overwrite: l.options.Overwrite}, nil
	case l.mode == "message":
		return newPackedMessages(w)
	}
	return w, nil
}

// create creates the uncompressed file at path.
func (l *layout) create(path string, before output.FileWriter) (output.FileWriter, error) {
	if l.storage == storageSQLite {
		schema := 4
		if l.version < 6 {
			schema = 3
		}
		describe := func(info *codec.Info) *metadata { return l.describe([]*codec.Info{info}) }
		e := newDatabaseEncoder(path, l.options, schema, describe)
		return l.files.NewChunkWriter(Name, path, e, l.options, before)
	}
	// rosbag2 reads this metadata if metadata.yaml is missing.
	embed := func(info *codec.Info) (string, map[string]string) {
		text := l.describe([]*codec.Info{info}).format(false)
		return "rosbag2", map[string]string{"serialized_metadata": string(text)}
	}
	e, err := mcap.NewEncoder(path, l.options, embed)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return l.files.NewChunkWriter(mcap.Name, path, e, l.options, before)
}

func (b Options) createOn(s codec.Disk, path string, o codec.CreateOptions) (*output.Recording, error) {
	l, err := newLayout(s, b, o)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	path = filepath.Clean(path)
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.Overwrite {
		if err := remove(s, path); err != nil {
			return nil, fmt.Errorf("overwrite %s: %w", path, err)
		}
	}
	if err := s.Mkdir(path); err != nil {
		return nil, err
	}
	// Otherwise a power failure may take the folder with its synced files.
	if err := s.SyncFolder(filepath.Dir(path)); err != nil {
		return nil, errors.Join(fmt.Errorf("create %s: %w", path, codec.Pathless(err)), remove(s, path))
	}
	name := output.ShortNames(filepath.Join(path, filepath.Base(absolute)), l.extension(), o.Dated)
	listed := func(complete []*codec.Info) error { return l.describe(complete).save(s, path) }
	r, err := output.NewRecording(s, output.Format{Open: l.open, Name: name, Listed: listed}, name(0), o.Completed)
	if err != nil {
		return nil, errors.Join(err, remove(s, path))
	}
	return r, nil
}

// remove removes the bag or the file at path. It returns an error if the folder holds other files.
func remove(s codec.Disk, path string) error {
	stat, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !stat.IsDir() {
		return errors.Join(err, s.Remove(path))
	}
	entries, err := s.ReadDir(path)
	if err != nil {
		return err
	}
	files, err := storageFiles(store.On(s), path)
	if err != nil {
		return err
	}
	files = append(files, metadataFile, metadataFile+".tmp")
	for _, entry := range entries {
		if !slices.Contains(files, entry.Name()) {
			return fmt.Errorf("the folder holds %s, which is not part of a bag; remove it or name another output",
				entry.Name())
		}
	}
	for _, entry := range entries {
		if err := s.Remove(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return s.Remove(path)
}
