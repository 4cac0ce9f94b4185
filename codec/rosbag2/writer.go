package rosbag2

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tapedeck/codec"
	"tapedeck/codec/internal/output"
	"tapedeck/codec/mcap"
)

// Create begins a bag in the folder at path, with the file NAME/NAME_0.mcap. It goes on with NAME_1.mcap, and metadata.yaml tells
// at any time of the files that are complete.
//
// Of CreateOptions.Metadata ros_distro, the release's name, has a place of its own; the rest becomes custom_data. An existing folder
// is overwritten only when it is empty or holds a bag and nothing else.
func Create(path string, o codec.CreateOptions) (*output.Recording, error) {
	return createOn(output.OS{}, path, o)
}

func createOn(s output.System, path string, o codec.CreateOptions) (*output.Recording, error) {
	if o.Version != 0 && o.Version != writtenVersion || o.CompressionMode != "" && o.CompressionMode != "none" {
		return nil, fmt.Errorf("create %s: version %d of metadata.yaml with compression mode %q is not written", path, o.Version, o.CompressionMode)
	}
	path = filepath.Clean(path)
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if o.Overwrite {
		if err := remove(path); err != nil {
			return nil, fmt.Errorf("overwrite %s: %w", path, err)
		}
	}
	if err := os.Mkdir(path, 0o777); err != nil {
		return nil, err
	}
	values := maps.Clone(o.Metadata)
	name := func(n int) string { return filepath.Join(path, fmt.Sprintf("%s_%d.mcap", filepath.Base(absolute), n)) }
	// Where rosbag2 looks for it when metadata.yaml is missing.
	embed := func(info *codec.Info) (string, map[string]string, error) {
		text, err := describe([]*codec.Info{info}, values).format(false)
		return "rosbag2", map[string]string{"serialized_metadata": string(text)}, err
	}
	listed := func(complete []*codec.Info) error { return describe(complete, values).save(s, path) }
	r, err := mcap.NewRecording(s, name(0), name, o, embed, listed)
	if err != nil {
		return nil, errors.Join(err, remove(path))
	}
	return r, nil
}

// remove removes the bag, or the file, at path.
func remove(path string) error {
	stat, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !stat.IsDir() {
		return errors.Join(err, os.Remove(path))
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	files, err := storageFiles(path)
	if err != nil {
		return err
	}
	files = append(files, metadataFile, metadataFile+".tmp")
	for _, entry := range entries {
		if !slices.Contains(files, entry.Name()) {
			return fmt.Errorf("it holds %s, which is no part of a bag; remove it or name another output", entry.Name())
		}
	}
	for _, entry := range entries {
		if err := os.Remove(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return os.Remove(path)
}
