package rosbag2

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/mcap"
)

// Writer writes a folder with one MCAP file, NAME/NAME_0.mcap, and its metadata.yaml. That is there from the beginning,
// and says how far the recording came at each Sync.
type Writer struct {
	*mcap.Writer
	dir, name string
	values    map[string]string

	mu     sync.Mutex // of metadata.yaml
	closed bool
}

// Create begins a bag in the folder at path. Of CreateOptions.Metadata ros_distro, the release's name, has a place of its
// own; the rest becomes custom_data. An existing folder is overwritten only when it is empty or holds a bag and nothing
// else.
func Create(path string, o codec.CreateOptions) (*Writer, error) {
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
	w := &Writer{dir: path, name: filepath.Base(absolute) + "_0.mcap", values: o.Metadata}
	if w.Writer, err = mcap.Create(filepath.Join(path, w.name), o); err != nil {
		return nil, errors.Join(err, remove(path))
	}
	if err := errors.Join(w.save(), w.embed()); err != nil {
		_ = w.Writer.Close()
		return nil, errors.Join(err, remove(path))
	}
	return w, nil
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

// save writes metadata.yaml.
func (w *Writer) save() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return describe(w.Info(), w.name, w.values).save(w.dir)
}

// embed writes the metadata into the MCAP file, where rosbag2 looks for it when metadata.yaml is missing.
func (w *Writer) embed() error {
	text, err := describe(w.Info(), w.name, w.values).format(false)
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(w.dir, w.name), err)
	}
	return w.WriteMetadata("rosbag2", map[string]string{"serialized_metadata": string(text)})
}

// Sync implements codec.Writer.
func (w *Writer) Sync() error {
	if err := w.Writer.Sync(); err != nil {
		return err
	}
	return w.save()
}

// Close implements codec.Writer.
func (w *Writer) Close() error {
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.embed()
	if closeErr := w.Writer.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return w.save()
}
