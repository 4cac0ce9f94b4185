// Package confine keeps the paths in service requests inside one folder.
package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
)

// Folder is the folder in which services read and write files.
type Folder struct {
	path       string // cleaned by filepath.Clean
	everywhere bool   // any path is allowed
}

// ServiceRoot returns the folder for a value of the parameter service_root. The value / allows any path.
func ServiceRoot(path string) Folder {
	f := In(path)
	f.everywhere = f.path == "/"
	return f
}

// In returns the folder at a path.
func In(path string) Folder { return Folder{path: filepath.Clean(path)} }

// Everywhere reports whether services may read and write anywhere.
func (f Folder) Everywhere() bool { return f.everywhere }

// Path returns the path of a request, which is relative to the folder, as a path of this process. The path need not
// exist, and may lead through symbolic links that stay in the folder. If it is a folder, the links in it must stay in
// the folder, too, and must not lead to folders. The search for links ends when ctx ends.
func (f Folder) Path(ctx context.Context, path string) (string, error) {
	if f.everywhere {
		return path, nil
	}
	switch {
	case strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", fmt.Errorf("%q has characters that cannot be printed", path)
	case !filepath.IsLocal(path) || strings.Contains(path, "://") || slices.Contains(strings.Split(path, "/"), ".."):
		return "", fmt.Errorf("%q is not below %s: services take relative paths without .., unless service_root is /",
			path, f.path)
	}
	if err := f.check(ctx, path); err != nil {
		return "", err
	}
	if f.path == "." {
		return path, nil
	}
	return strings.TrimRight(f.path, "/") + "/" + path, nil
}

// Holds returns an error if a file of a recording is not in the folder.
func (f Folder) Holds(ctx context.Context, file string) error {
	if f.everywhere {
		return nil
	}
	path, err := filepath.Rel(f.path, file)
	if err != nil || strings.Contains(file, "://") || !filepath.IsLocal(path) {
		return fmt.Errorf("%q is not below %s, which services do not leave (service_root)", file, f.path)
	}
	return f.check(ctx, path)
}

// check returns an error if a relative path leads out of the folder.
func (f Folder) check(ctx context.Context, path string) error {
	root, err := os.OpenRoot(f.path)
	if err == nil {
		err = check(ctx, root, path)
		_ = root.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%q: services do not leave %s (service_root): %w", path, f.path, err)
	}
	return nil
}

// check returns an error if a symbolic link on the way to path, or in the folder at path, leads out of root. Links to
// folders in the folder at path are an error, too, because the search does not follow them.
func check(ctx context.Context, root *os.Root, path string) error {
	stat, err := root.Stat(path)
	for errors.Is(err, fs.ErrNotExist) && path != "." {
		path = filepath.Dir(path)
		_, err = root.Stat(path)
		if err == nil {
			return nil
		}
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR): // using the path fails
		return nil
	case err != nil || !stat.IsDir():
		return err
	}
	return fs.WalkDir(root.FS(), filepath.Clean(path), func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && d.Type()&fs.ModeSymlink != 0 {
			var stat fs.FileInfo
			stat, err = root.Stat(path)
			if err == nil && stat.IsDir() {
				return fmt.Errorf("%q is a link to a folder", path)
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) { // using the link fails
			return nil
		}
		return err
	})
}
