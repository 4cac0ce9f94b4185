package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// WriteFile writes a small file whose path may be a URL of a store. The file appears when it is complete, and replaces
// an existing one.
func (f *Files) WriteFile(ctx context.Context, path string, content []byte) error {
	if !IsURL(path) {
		return os.WriteFile(Local(path), content, 0o666)
	}
	s, err := f.store(path)
	if err == nil {
		err = s.Write(ctx, path, content)
	}
	if err != nil {
		return pathError("write", path, err)
	}
	return nil
}

// Remove removes the file at path, which may be a URL of a store.
func (f *Files) Remove(ctx context.Context, path string) error {
	if !IsURL(path) {
		return os.Remove(Local(path))
	}
	s, err := f.store(path)
	if err == nil {
		err = s.Remove(ctx, path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError("remove", path, err)
	}
	return nil
}
