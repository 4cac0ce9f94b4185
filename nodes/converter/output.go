package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/config"
)

// output is a recording in the making. It is written in a folder of its own beside its place and moved there once it is
// complete, so that nothing half-written ever looks finished. The last element of its name is the final one already, since
// some formats name files within a recording after it.
type output struct {
	path      string
	format    string
	part      string // the folder
	overwrite bool
	keep      bool // the folder, since what is in it is complete but has no place
}

// newOutput prepares writing path, unless it exists or is one of ins. Close must be called.
func newOutput(path, format string, overwrite bool, ins inputs) (*output, error) {
	format, err := outputFormat(path, format)
	if err != nil {
		return nil, err
	}
	o := &output{path: filepath.Clean(path), format: format, overwrite: overwrite}
	o.part = o.path + ".part"
	for _, in := range ins {
		if in.within(o.path) {
			return nil, fmt.Errorf("%s is what is read from; name another output", path)
		}
	}
	if err := o.checkExisting(); err != nil {
		return nil, err
	}
	err = os.Mkdir(o.part, 0o755)
	if errors.Is(err, fs.ErrExist) {
		if !overwrite {
			return nil, fmt.Errorf("%s is left from a conversion that was interrupted or is still running; remove it, or use --overwrite", o.part)
		}
		if err = os.RemoveAll(o.part); err == nil {
			err = os.Mkdir(o.part, 0o755)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, cause(err))
	}
	return o, nil
}

// outputFormat returns the format in which path is to be written.
func outputFormat(path, name string) (string, error) {
	var known []string
	for _, f := range codec.Formats() {
		if f.Create == nil {
			continue
		}
		if name == f.Name || name == "" && f.Named(path) {
			return f.Name, nil
		}
		known = append(known, f.Name)
	}
	if name != "" {
		return "", config.Usagef("--to %s is not a format that can be written; those are %s", name, strings.Join(known, ", "))
	}
	return "", config.Usagef("the name %q does not say in which format to write; use --to with one of %s", filepath.Base(path), strings.Join(known, ", "))
}

// within says whether path is the recording, one of its files, or a folder that holds it.
func (i *input) within(path string) bool {
	target, err := os.Stat(path)
	if err != nil {
		return false
	}
	files := []string{i.path}
	for _, f := range i.info.Files {
		files = append(files, f.Path)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		file, err := filepath.Abs(file)
		for err == nil {
			if stat, err := os.Stat(file); err == nil && os.SameFile(stat, target) {
				return true
			}
			if parent := filepath.Dir(file); parent != file {
				file = parent
				continue
			}
			break
		}
		return false
	})
}

// checkExisting returns an error if path exists and must not be replaced. A folder is replaced only if a recording is all it
// holds.
func (o *output) checkExisting() error {
	stat, err := os.Lstat(o.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("create %s: %w", o.path, cause(err))
	case !o.overwrite:
		return fmt.Errorf("%s exists; name another output or use --overwrite", o.path)
	case !stat.IsDir():
		return nil
	}
	keep := fmt.Errorf("%s is a folder that holds more than a recording; remove it yourself or name another output", o.path)
	entries, err := os.ReadDir(o.path)
	if err != nil {
		return fmt.Errorf("replace %s: %w", o.path, cause(err))
	}
	if len(entries) == 0 {
		return nil
	}
	old, err := openInput(o.path)
	if err != nil {
		return keep
	}
	defer old.Close()
	for _, entry := range entries {
		path := filepath.Join(o.path, entry.Name())
		if entry.Name() != "metadata.yaml" && !slices.ContainsFunc(old.info.Files, func(f codec.FileInfo) bool { return filepath.Clean(f.Path) == path }) {
			return keep
		}
	}
	return nil
}

// create begins the recording; o's path and format win over those in options.
func (o *output) create(options codec.CreateOptions) (codec.Writer, error) {
	options.Format = o.format
	return codec.Create(filepath.Join(o.part, filepath.Base(o.path)), options)
}

// commit puts the complete recording in its place. Its writer was closed.
func (o *output) commit() error {
	written := filepath.Join(o.part, filepath.Base(o.path))
	o.keep = true
	if stat, err := os.Lstat(o.path); err == nil {
		if !o.overwrite {
			return fmt.Errorf("%s exists by now; what was written is %s", o.path, written)
		}
		if stat.IsDir() {
			if err := os.RemoveAll(o.path); err != nil {
				return fmt.Errorf("replace %s: %w; what was written is %s", o.path, cause(err), written)
			}
		}
	}
	if err := os.Rename(written, o.path); err != nil {
		return fmt.Errorf("move %s to %s: %w", written, o.path, cause(err))
	}
	o.keep = false
	return nil
}

// Close removes what was written unless it was moved to its place.
func (o *output) Close() error {
	if o.keep {
		return nil
	}
	return os.RemoveAll(o.part)
}

// cause strips the operation and the path that package os puts into its errors.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}
