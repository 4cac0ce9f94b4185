package upload

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
)

// checkTime is the time limit for a store to confirm that it still has a file, if the disk is full.
const checkTime = 5 * time.Second

// RemoveOldest implements diskguard.Guard.RemoveOldest for files that are proven to be in the store.
func (q *Queue) RemoveOldest() (path string, soon bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	for _, snapshot := range []bool{false, true} {
		for _, s := range q.list() {
			if s.Snapshot != snapshot {
				continue
			}
			for f := q.removable(s); f != nil; f = q.removable(s) {
				if path, err := q.remove(ctx, s, f, true); path != "" || err != nil {
					return path, true, err
				}
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

// remove deletes a file that was proven to be in the store, and returns its path, "" if it is kept. If the file or the
// object changed since then, the file is kept and uploaded again. If the store does not answer, remove fails unless it
// may trust the earlier proof. If the recording has no manifest yet, the spool keeps a description of the file.
func (q *Queue) remove(ctx context.Context, s *spool, f *file, trust bool) (string, error) {
	path := s.local(f)
	q.mu.Lock()
	was, uploader, reachable := *f, q.uploader, q.failures == 0
	q.mu.Unlock()
	if was.CRC32C == "" || was.Deleted {
		return "", nil
	}
	changed := false
	if uploader != nil && (reachable || !trust) {
		err := uploader.Holds(ctx, s.key(f), was.Proof)
		changed = errors.Is(err, s3.ErrDiffers) || errors.Is(err, fs.ErrNotExist)
		if err != nil && !changed && !trust {
			return "", err
		}
	}
	q.writing.Lock() // after the store answered, which may take long
	defer q.writing.Unlock()
	name := filepath.FromSlash(f.Name)
	var stat fs.FileInfo
	folder, err := q.Disk.OpenRoot(s.folder) // follows no link that leads elsewhere
	if err == nil {
		defer folder.Close()
		stat, err = folder.Lstat(name)
	}
	q.mu.Lock()
	now, done := *f, s.Done
	q.mu.Unlock()
	switch {
	case now.Proof != was.Proof || now.Deleted: // another goroutine changed it meanwhile
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		q.locked(func() { f.Deleted = true })
		return "", nil
	case err != nil:
		q.stuck(s, f, err)
		return "", nil
	}
	if changed || !now.isUnchanged(stat) {
		q.Log(bridge.Warn, "upload: %s is not what is in the store any more; it is not deleted", path)
		q.locked(func() { f.Proof, s.Done, s.unsaved = s3.Proof{}, false, true })
		return "", nil
	}
	if !done && !now.Described {
		info := q.info(s, path)
		q.locked(func() { s.Info, f.Described = join(s.Info, info), true })
	}
	q.locked(func() { f.Deleted, s.unsaved = true, true })
	_ = q.saveSpool(s)
	if err := folder.Remove(name); err != nil {
		q.stuck(s, f, err)
		return "", nil
	}
	q.Log(bridge.Debug, "deleted %s, which is in the store", path)
	return path, nil
}

// stuck notes that a file cannot be deleted.
func (q *Queue) stuck(s *spool, f *file, err error) {
	q.locked(func() { f.Deleted, f.stuck, s.unsaved = false, true, true })
	q.Log(bridge.Error, "delete %s, which is uploaded: %v", s.local(f), codec.Pathless(err))
}

// forget deletes the spool and the folders of a recording if all its files are deleted.
func (q *Queue) forget(s *spool) {
	q.mu.Lock()
	remains := slices.ContainsFunc(s.Files, func(f *file) bool { return !f.Deleted && !f.Lost })
	q.mu.Unlock()
	if remains {
		return
	}
	var folders []string
	_ = store.On(q.Disk).WalkDir(filepath.Join(s.folder, s.Path), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			folders = append(folders, path)
		}
		return nil
	})
	// No deleted file may come back without the spool, which says that the store has it. Errors are the disk's last.
	_ = q.Disk.SyncFolder(s.folder)
	for _, folder := range slices.Backward(folders) {
		_ = q.Disk.SyncFolder(folder)
		_ = q.Disk.Remove(folder) // fails if the folder has other files
	}
	q.writing.Lock()
	defer q.writing.Unlock()
	_ = q.Disk.Remove(s.file())
	s.release()
	q.locked(func() {
		s.unsaved = false
		q.spools = slices.DeleteFunc(q.spools, func(o *spool) bool { return o == s })
	})
}
