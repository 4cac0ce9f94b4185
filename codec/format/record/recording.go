package record

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/internal/joined"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
)

// listFiles returns the names of the record files in the folder at path. If nothing is at path, it returns the files of
// a split recording with that name: NAME.record.00000 and on, or NAME.record and then NAME.record.00001. Files that
// were not completed are included.
func listFiles(files *store.Files, path string) []string {
	dir, prefix := path, ""
	if _, err := files.Stat(path); err != nil {
		dir, prefix = store.Dir(path), store.Base(path)
	} else if _, err := files.Stat(store.Join(path, "metadata.yaml")); err == nil {
		return nil // it is a bag
	}
	entries, err := files.ReadDir(dir)
	if err != nil {
		return nil
	}
	var paths []string
	split := prefix == "" // else there must be a numbered file
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), codec.ActiveSuffix)
		n, ok := series.Parse(name)
		wanted := ok && (prefix == "" || n.Base == prefix || n.Base == prefix+".record")
		split = split || wanted
		wanted = wanted || strings.HasSuffix(name, ".record") && (prefix == "" || name == prefix+".record")
		if wanted && names.MatchString(name) && entry.Type().IsRegular() {
			paths = append(paths, store.Join(dir, entry.Name()))
		}
	}
	if !split {
		return nil
	}
	slices.Sort(paths)
	// A file that was completed while the folder was read may appear under both names.
	return slices.DeleteFunc(paths, func(p string) bool {
		completed, ok := strings.CutSuffix(p, codec.ActiveSuffix)
		return ok && slices.Contains(paths, completed)
	})
}

// isRecord reports whether the file at path looks like a record file.
func isRecord(files *store.Files, path string) bool {
	file, err := files.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(file, head)
	return (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && sniff(nil, path, head[:n])
}

// openFiles opens the files that listFiles returns as one recording.
// Info has an event for each gap between their numbers.
func openFiles(files *store.Files, path string) (codec.Reader, error) {
	r := &joined.Reader{Format: formatName, Path: path}
	var errs []error
	base, number := "", 0
	for _, name := range listFiles(files, path) {
		if n, ok := series.Parse(store.Base(name)); ok {
			switch {
			case n.Base == base && n.Number == number+2:
				r.Event(codec.EventMissing, fmt.Sprintf("%s.%05d is missing", base, n.Number-1))
			case n.Base == base && n.Number > number+2:
				r.Event(codec.EventMissing, fmt.Sprintf("%s.%05d to %05d are missing", base, number+1, n.Number-1))
			}
			base, number = n.Base, n.Number
		}
		file, err := open(files, name)
		if err == nil && !isRecord(files, name) {
			err = errors.Join(fmt.Errorf("open %s: not a record file", name), file.Close())
		}
		if err != nil {
			r.Event(codec.EventMissing, err.Error())
			errs = append(errs, err)
			continue
		}
		r.Files = append(r.Files, joined.File{Path: name, Size: file.size, Reader: file})
	}
	if len(r.Files) == 0 {
		return nil, errors.Join(errs...)
	}
	return r, nil
}
