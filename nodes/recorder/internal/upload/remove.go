package upload

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/nodes/internal/describe"
)

// RemoveOldest deletes the oldest file that is proven to be in the store, and returns its path, "" if there is none. It
// is diskguard.Guard.RemoveOldest.
func (q *Queue) RemoveOldest() (path string, soon bool, err error) {
	for _, snapshot := range []bool{false, true} {
		for _, s := range q.list() {
			if f := q.removable(s); s.Snapshot == snapshot && f != nil {
				path, err := q.remove(s, f)
				return path, true, err
			}
		}
	}
	return "", true, nil
}

// removable returns the first file of a recording that may be deleted, nil if there is none.
func (q *Queue) removable(s *spool) *file {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range s.Files {
		if f.CRC32C != "" && !f.Deleted && !f.stuck && (s.Done || f.Split) {
			return f
		}
	}
	return nil
}

// remove deletes a file that was proven to be in the store. A file that changed since then is not deleted, but
// uploaded again. Of a recording whose manifest is not made yet, the description of the file is kept.
func (q *Queue) remove(s *spool, f *file) (string, error) {
	q.moving.Lock()
	defer q.moving.Unlock()
	path := s.local(f)
	stat, err := os.Lstat(path)
	q.mu.Lock()
	proven, deleted, done := f.CRC32C != "", f.Deleted, s.Done
	unchanged := err == nil && sameFile(stat, f.Size, f.Modified)
	if proven && !deleted && err == nil && !unchanged {
		f.CRC32C, s.Done, s.unsaved = "", false, true
	}
	q.mu.Unlock()
	if !proven || deleted || err != nil || !unchanged {
		return "", nil
	}
	var d *describe.Recording
	if !done {
		d = q.describe(s, path)
	}
	q.mu.Lock()
	if f.Deleted = true; d != nil {
		if s.Info != nil {
			d = describe.Merge(s.Info, d)
		}
		s.Info = d
	}
	q.mu.Unlock()
	q.save(s)
	if err := os.Remove(path); err != nil {
		q.mu.Lock()
		f.Deleted, f.stuck, s.unsaved = false, true, true
		q.mu.Unlock()
		return "", fmt.Errorf("delete %s, which is uploaded: %w", path, codec.Pathless(err))
	}
	q.Log(bridge.Debug, "deleted %s, which is in the store", path)
	return path, nil
}

// removeAll deletes a recording that is in the store with its manifest, and its spool.
func (q *Queue) removeAll(s *spool) {
	for f := q.removable(s); f != nil; f = q.removable(s) {
		if _, err := q.remove(s, f); err != nil {
			q.Log(bridge.Error, "%v", err)
		}
	}
	q.mu.Lock()
	left := slices.ContainsFunc(s.Files, func(f *file) bool { return !f.Deleted && !f.Lost })
	q.mu.Unlock()
	if left {
		return
	}
	var folders []string
	_ = filepath.WalkDir(filepath.Join(s.folder, s.Path), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	for _, folder := range slices.Backward(folders) {
		_ = os.Remove(folder) // unless something else is in it
	}
	q.saving.Lock()
	_ = os.Remove(s.file())
	s.release()
	q.saving.Unlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spools = slices.DeleteFunc(q.spools, func(o *spool) bool { return o == s })
}
