package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
)

// folder is an open folder of objects.
type folder struct{ info fileInfo }

func (f *folder) Stat() (fs.FileInfo, error)              { return &f.info, nil }
func (f *folder) Read([]byte) (int, error)                { return 0, f.unreadable() }
func (f *folder) ReadAt([]byte, int64) (n int, err error) { return 0, f.unreadable() }
func (f *folder) Seek(int64, int) (int64, error)          { return 0, f.unreadable() }
func (f *folder) Close() error                            { return nil }

func (f *folder) unreadable() error { return pathError("read", f.info.path, errors.New("is a folder")) }

// lister is a source in a store that lists keys by prefix. The key of the source does not matter to probe and list.
type lister interface {
	source
	// stat describes the object, but for its path.
	stat(ctx context.Context) (*fileInfo, error)
	// probe reports whether any key begins with prefix.
	probe(ctx context.Context, prefix string) (bool, error)
	// list calls add for what is directly below prefix: objects, and prefixes that end at a slash.
	list(ctx context.Context, prefix string, add func(key string, i *fileInfo)) error
}

// stat describes the object at a URL by one request.
func (f *Files) stat(path string) (*fileInfo, error) {
	src, err := f.source(path)
	if err != nil {
		return nil, err
	}
	s, ok := src.(lister)
	if !ok {
		o, err := f.open(path)
		if err != nil {
			return nil, err
		}
		defer f.cache.release(o)
		return o.info(), nil
	}
	info, err := s.stat(context.Background())
	if err == nil {
		info.path = path
	}
	return info, err
}

// lister returns how to list the folder at a URL, and the beginning of its keys.
func (f *Files) lister(path string) (s lister, prefix string, err error) {
	src, err := f.source(path)
	if err != nil {
		return nil, "", err
	}
	s, ok := src.(lister)
	if !ok {
		return nil, "", fs.ErrNotExist // web servers have no folders
	}
	if prefix = split(path).key; prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return s, prefix, nil
}

// probe returns an error unless anything is in the folder at a URL. missing is why there is no object; nil if that was
// not looked for.
func (f *Files) probe(path string, missing error) error {
	switch {
	case errors.Is(missing, fs.ErrPermission):
		return fmt.Errorf("%w (which stores may also answer if nothing is there)", missing)
	case missing != nil && !errors.Is(missing, fs.ErrNotExist):
		return missing
	}
	s, prefix, err := f.lister(path)
	if err != nil {
		return err
	}
	found, err := s.probe(context.Background(), prefix)
	switch {
	case err == nil && !found && prefix != "":
		return fs.ErrNotExist
	case missing != nil && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("there is no object of this name, and folders may not be listed: %w", err)
	}
	return err
}

// readFolder returns the entries of the folder at a URL, also with an error.
func (f *Files) readFolder(path string) ([]fs.DirEntry, error) {
	s, prefix, err := f.lister(path)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	var bad error
	found := false
	err = s.list(context.Background(), prefix, func(key string, i *fileInfo) {
		found = true
		switch name := strings.TrimSuffix(strings.TrimPrefix(key, prefix), "/"); {
		case key == prefix: // stands for the folder
		case name == "" || name == "." || name == "..":
			bad = fmt.Errorf("%q is in it, which %w", key, ErrKey)
		default:
			i.path = Join(path, name)
			entries = append(entries, i)
		}
	})
	if err == nil {
		err = bad
	}
	if err == nil && !found && prefix != "" {
		err = fs.ErrNotExist
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// clients are the clients of a kind of store by what they depend on, as their credentials are worth keeping.
type clients[C any] struct {
	mu sync.Mutex
	of map[string]C
}

// get returns the client of that name for the settings in the environment, which create makes the first time.
func (c *clients[C]) get(name string, create func() (C, error)) (C, error) {
	settings := name
	environ := os.Environ()
	slices.Sort(environ)
	for _, e := range environ {
		if strings.HasPrefix(e, "AWS_") || strings.HasPrefix(e, "HOME=") {
			settings += "\n" + e
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if client, ok := c.of[settings]; ok {
		return client, nil
	}
	client, err := create()
	if err == nil {
		if c.of == nil {
			c.of = map[string]C{}
		}
		c.of[settings] = client
	}
	return client, err
}

// clear has clients made anew.
func (c *clients[C]) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.of)
}
