package convert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/config"
	"tapedeck/nodes/internal/formats"
)

// destination is the path at which a recording is written, and what it may replace.
type destination struct {
	files     *store.Files
	path      string // a file, a folder or a URL
	format    formats.Format
	overwrite bool
	inputs    []*codec.Info // never replaced
	oldFiles  []string      // further files of the recording that is replaced
}

// isURL reports whether the path is a URL.
func (d *destination) isURL() bool { return store.IsURL(d.path) }

// beside returns the path of name in the recording's folder.
func (d *destination) beside(name string) string { return store.Join(store.Dir(d.path), name) }

// check returns an error unless a recording can be written to the path. It sets oldFiles.
func (d *destination) check(known formats.List) error {
	if d.isURL() {
		if err := store.CanUpload(d.path); err != nil {
			return config.Usagef("%w", err)
		}
		if d.path == store.Dir(d.path) {
			return config.Usagef("%s is a bucket; name what to write in it", d.path)
		}
	}
	if d.isInput(d.path) {
		return fmt.Errorf("%s is an input; name another output", d.path)
	}
	stat, err := d.files.Lstat(d.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("create %s: %w", d.path, codec.Pathless(err))
	case !d.overwrite:
		return fmt.Errorf("%s exists; name another output or use --overwrite", d.path)
	case stat.IsDir() && d.isURL():
		return fmt.Errorf("%s is a folder, which is not replaced in a store; remove it yourself or name another output",
			d.path)
	case stat.IsDir():
		if err := d.checkFolder(known); err != nil {
			return err
		}
	}
	first := d.firstFile()
	switch {
	case first == "" && d.overwrite && len(series.Names(d.files, d.path)) > 1:
		// An unreadable file is replaced, too.
		if files, err := d.filesOf(known); err == nil && len(files) > 1 {
			d.oldFiles = files[1:]
		}
	case first != "" && !d.overwrite:
		return d.checkFile(first)
	case first != "":
		d.oldFiles, err = d.format.Live.Rest(d.files, d.format.Live.BareName(d.path))
		if errors.Is(err, fs.ErrNotExist) { // no object in this folder of the store yet
			err = nil
		}
		for _, path := range d.oldFiles {
			err = cmp.Or(err, d.checkFile(path))
		}
		d.oldFiles = append(d.oldFiles, d.path)
		return err
	}
	return nil
}

// checkFolder returns an error if the folder at the path holds more than a recording.
func (d *destination) checkFolder(known formats.List) error {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return fmt.Errorf("replace %s: %w", d.path, codec.Pathless(err))
	}
	if d.format.Files != nil {
		err = d.format.CheckFiles(d.path, nil)
	} else if len(entries) > 0 {
		var files []string
		files, err = d.filesOf(known)
		for _, entry := range entries {
			if entry.Name() != "metadata.yaml" && !slices.Contains(files, filepath.Join(d.path, entry.Name())) {
				err = cmp.Or(err, fs.ErrExist)
			}
		}
	}
	if err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is a folder that holds more than a recording; remove it yourself or name another output",
			d.path)
	}
	return nil
}

// filesOf returns the files of the recording at the path.
func (d *destination) filesOf(known formats.List) (files []string, err error) {
	r, err := known.Open(d.files, d.path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Info()
	if err != nil {
		return nil, err
	}
	for _, f := range info.Files {
		files = append(files, store.Clean(f.Path))
	}
	return files, nil
}

// isInput reports whether path is an input, a file of an input, or a folder above one.
func (d *destination) isInput(path string) bool {
	var files []string
	for _, info := range d.inputs {
		files = append(files, info.Path)
		for _, f := range info.Files {
			files = append(files, f.Path)
		}
	}
	if store.IsURL(path) {
		return slices.ContainsFunc(files, func(file string) bool { return strings.HasPrefix(file+"/", path+"/") })
	}
	target, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, file := range files {
		file, err := filepath.Abs(file)
		for last := ""; err == nil && file != last; last, file = file, filepath.Dir(file) {
			if stat, err := os.Stat(file); err == nil && os.SameFile(stat, target) {
				return true
			}
		}
	}
	return false
}

// checkFile returns an error if a file of the recording cannot be called path.
func (d *destination) checkFile(path string) error {
	switch {
	case d.isInput(path):
		return fmt.Errorf("%s is an input; name another output", path)
	case codec.BeingWritten(codec.OS{}, path):
		return fmt.Errorf("%s is being written; name another output", path)
	case d.overwrite:
		return nil
	}
	if _, err := d.files.Lstat(path); err != nil {
		return nil
	}
	return fmt.Errorf("%s exists; name another output or use --overwrite", path)
}

// firstFile returns the path of the first file if the recording is split: NAME.record.00000 for NAME.record, which then
// means all files. It is "" for formats whose first file keeps the name.
func (d *destination) firstFile() string {
	if d.format.Live == nil || !strings.HasSuffix(d.path, d.format.Extension) {
		return ""
	}
	if number, ok := strings.CutPrefix(d.format.Live.First, d.format.Extension); ok && number != "" {
		return d.path + number
	}
	return ""
}

// splitName matches the name of a file of a split recording.
var splitName = regexp.MustCompile(`^(.*[._])(\d+)(\.[a-z0-9]+)?$`)

// removeOld removes further files of the recording that was replaced, and files with higher numbers. Otherwise readers
// would take them for files of the new recording.
func (d *destination) removeOld(ctx context.Context, written []string) error {
	if !d.overwrite {
		return nil
	}
	for _, path := range d.oldFiles {
		if _, err := d.remove(ctx, path, written); err != nil {
			return err
		}
	}
	if d.firstFile() != "" { // d.oldFiles has all files
		return nil
	}
	for _, path := range written {
		name := splitName.FindStringSubmatch(store.Base(path))
		if path == d.path || name == nil { // later numbers belong to other recordings
			continue
		}
		number, err := strconv.Atoi(name[2])
		for removed := true; err == nil && removed; {
			number++
			next := fmt.Sprintf("%s%0*d%s", name[1], len(name[2]), number, name[3])
			removed, err = d.remove(ctx, store.Join(store.Dir(path), next), written)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file that was neither written nor read. It reports whether there was one.
func (d *destination) remove(ctx context.Context, path string, written []string) (bool, error) {
	if slices.Contains(written, path) || d.isInput(path) {
		return false, nil
	}
	stat, err := d.files.Lstat(path)
	if err != nil || !stat.Mode().IsRegular() {
		return false, nil
	}
	if err := d.files.Remove(ctx, path); err != nil {
		return false, fmt.Errorf("replace %s: %w", path, codec.Pathless(err))
	}
	return true, nil
}
