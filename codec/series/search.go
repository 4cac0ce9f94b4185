package series

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
)

// Search returns the recordings in a folder and its subfolders, in the order of their paths. A recording is a file that
// is named as a format names files; the first of several files that are one recording; the common beginning of the
// names of a series of record files; or a folder that is one recording: a bag with a metadata.yaml, a session, a data
// set. Search omits hidden files and files being written (NAME.part, NAME.active). If folder is one recording or a
// file, it is the only result. An error that wraps store.ErrKey is only about keys of a store; all other keys were
// searched.
func Search(files *store.Files, formats codec.Formats, folder string) (paths []string, err error) {
	stat, err := files.Stat(folder)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", folder, codec.Pathless(err))
	}
	if !stat.IsDir() {
		return []string{folder}, nil
	}
	var odd []error
	paths, err = search(files, formats, folder, &odd)
	if err != nil {
		return nil, fmt.Errorf("search %s: %w", folder, err)
	}
	slices.Sort(paths)
	return Firsts(files, formats, slices.Compact(paths)), errors.Join(odd...)
}

// checkFolder returns an error if a folder, which was opened in a format, holds other recordings beside its own files.
func checkFolder(files *store.Files, formats codec.Formats, folder string, format *codec.Format) error {
	if format.FilesIn == nil {
		return nil
	}
	found, err := Search(files, formats, folder)
	if err != nil && !errors.Is(err, store.ErrKey) || slices.Equal(found, []string{folder}) {
		return nil // a file, the beginning of names, or one recording that ignores other files
	}
	own := format.FilesIn(files, folder)
	others := slices.DeleteFunc(found, func(path string) bool {
		return slices.ContainsFunc(own, func(name string) bool {
			n, ok := Parse(store.Base(name))
			return name == path || ok && n.Record() && store.Join(store.Dir(name), n.Base) == path
		})
	})
	if len(others) == 0 {
		return nil
	}
	for i, path := range others {
		others[i] = strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
	}
	return fmt.Errorf("open %s: the folder holds other recordings beside %s: %s; name the ones to read; "+
		"'converter %[1]s --output-folder FOLDER --to FORMAT' converts each by itself",
		folder, store.Base(own[0]), plural.List(others))
}

func search(files *store.Files, formats codec.Formats, folder string, odd *[]error) (paths []string, err error) {
	entries, err := files.ReadDir(folder)
	if errors.Is(err, store.ErrKey) {
		*odd, err = append(*odd, fmt.Errorf("search %s: %w", folder, codec.Pathless(err))), nil
	}
	if err != nil {
		return nil, err
	}
	var folders []string
	names := map[string]bool{}
	for _, e := range entries {
		path := store.Join(folder, e.Name())
		if strings.HasPrefix(e.Name(), ".") || strings.HasSuffix(e.Name(), ".part") {
			continue
		}
		if e.Type()&fs.ModeSymlink != 0 { // a link to a folder may be a loop
			if stat, err := files.Stat(path); err != nil || !stat.Mode().IsRegular() {
				continue
			}
		}
		if e.IsDir() {
			folders = append(folders, path)
		} else {
			names[e.Name()] = true
		}
	}
	if names["metadata.yaml"] || hasEpisodes(files, formats, folder) &&
		!slices.ContainsFunc(folders, func(inner string) bool { return hasEpisodes(files, formats, inner) }) {
		return []string{folder}, nil
	}
	for name := range names {
		n, ok := Parse(name)
		if ok && n.Record() && !names[n.Base] && !strings.HasSuffix(name, codec.ActiveSuffix) {
			paths = append(paths, store.Join(folder, n.Base))
		} else if path := store.Join(folder, name); named(files, formats, path) {
			paths = append(paths, path)
		}
	}
	for _, inner := range folders {
		found, err := search(files, formats, inner, odd)
		if err != nil {
			return nil, err
		}
		paths = append(paths, found...)
	}
	return paths, nil
}

// hasEpisodes reports whether a folder is a recording of a format of episodes.
func hasEpisodes(files *store.Files, formats codec.Formats, folder string) bool {
	return slices.ContainsFunc(formats, func(f codec.Format) bool {
		return f.Episodic && f.OpenFrom != nil && f.Sniff(files, folder, nil)
	})
}

// named reports whether a file is named like a recording. A .log file must also begin like one.
func named(files *store.Files, formats codec.Formats, path string) bool {
	name := strings.TrimSuffix(path, ".zstd")
	switch filepath.Ext(name) {
	case "":
		return false
	case ".db3":
		return true
	}
	return slices.ContainsFunc(formats, func(f codec.Format) bool {
		if f.OpenFrom == nil || !f.Named(name) {
			return false
		}
		return filepath.Ext(name) != ".log" || sniffs(&f, files, path)
	})
}

// sniffs reports whether a file begins like a recording of the format f.
func sniffs(f *codec.Format, files *store.Files, path string) bool {
	file, err := files.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 4096)
	n, _ := file.ReadAt(head, 0) // the file may be short
	return f.Sniff(files, path, head[:n])
}
