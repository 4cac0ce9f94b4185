package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// folder is an open folder of objects.
type folder struct{ info fileInfo }

func (f *folder) Stat() (fs.FileInfo, error)              { return &f.info, nil }
func (f *folder) Read([]byte) (int, error)                { return 0, f.unreadable() }
func (f *folder) ReadAt([]byte, int64) (n int, err error) { return 0, f.unreadable() }
func (f *folder) Seek(int64, int) (int64, error)          { return 0, f.unreadable() }
func (f *folder) Close() error                            { return nil }

func (f *folder) unreadable() error { return pathError("read", f.info.path, errors.New("is a folder")) }

// stat describes the object at a URL by one request.
func (f *Files) stat(path string) (*fileInfo, error) {
	s, err := f.store(path)
	if err != nil {
		return nil, err
	}
	found, err := s.Stat(context.Background(), path)
	if err == nil {
		return &fileInfo{path, found}, nil
	}
	if !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	o, err := f.open(path)
	if err != nil {
		return nil, err
	}
	defer f.cache.release(o)
	return o.info(), nil
}

// folder returns the store of the folder at path, and the URL of the folder with a slash at the end.
func (f *Files) folder(path string) (s Store, url string, err error) {
	s, err = f.store(path)
	p := split(path)
	if p.key != "" && !strings.HasSuffix(p.key, "/") {
		p.key += "/"
	}
	return s, p.String(), err
}

// probe returns an error if the folder at a URL is empty. missing is the error of requesting an object at the URL, nil
// if no object was requested.
func (f *Files) probe(path string, missing error) error {
	switch {
	case errors.Is(missing, fs.ErrPermission):
		return fmt.Errorf("%w (a store may also answer this if the object does not exist)", missing)
	case missing != nil && !errors.Is(missing, fs.ErrNotExist):
		return missing
	}
	s, url, err := f.folder(path)
	if err != nil {
		return err
	}
	found, err := s.Any(context.Background(), url)
	switch {
	case err == nil && !found && split(url).key != "":
		return fs.ErrNotExist
	case missing != nil && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("there is no object of this name, and folders may not be listed: %w", err)
	}
	return err
}

// readFolder returns the entries of the folder at a URL. With an error it returns the entries read so far.
func (f *Files) readFolder(path string) ([]fs.DirEntry, error) {
	s, url, err := f.folder(path)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	var bad error
	found := false
	err = s.List(context.Background(), url, func(name string, o *Object) {
		found = true
		switch plain := strings.TrimSuffix(name, "/"); {
		case name == "": // an object that stands for the folder
		case plain == "" || plain == "." || plain == "..":
			bad = fmt.Errorf("the key %q %w", split(url).key+name, ErrKey)
		default:
			entries = append(entries, &fileInfo{Join(path, plain), o})
		}
	})
	if err == nil {
		err = bad
	}
	if err == nil && !found && split(url).key != "" {
		err = fs.ErrNotExist
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
