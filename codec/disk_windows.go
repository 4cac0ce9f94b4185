package codec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lock locks a file without waiting. On Windows, other processes cannot read and write the locked range of a file.
// Therefore lock locks a byte at an offset that no file reaches.
func lock(file *os.File, shared bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	offset := windows.Overlapped{Offset: 0, OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &offset)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED), errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return nil // the file system has no locks
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// LockFolder returns errors.ErrUnsupported: Windows does not lock folders.
func LockFolder(string) (io.Closer, error) { return nil, errors.ErrUnsupported }

// Exchange returns errors.ErrUnsupported: Windows does not exchange files.
func Exchange(string, string) error { return errors.ErrUnsupported }

// allocate allocates n bytes of the disk for an empty file. NTFS files are not sparse by default.
func allocate(file *os.File, n int64) error { return file.Truncate(n) }

// Syncer implements Disk. Only administrators may sync a whole disk, so Sync syncs each file below path.
func (OS) Syncer(path string) (Syncer, error) { return syncer(path), nil }

type syncer string

// Sync implements Syncer.
func (s syncer) Sync() error {
	return filepath.WalkDir(string(s), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return SyncFile(path)
	})
}

// Close implements Syncer.
func (syncer) Close() error { return nil }

// Space implements Disk.
func (OS) Space(path string) (free, total int64, err error) {
	folder := path // GetDiskFreeSpaceEx fails for files
	if stat, err := os.Stat(path); err == nil && !stat.IsDir() {
		folder = filepath.Dir(path)
	}
	var available, all uint64
	name, err := windows.UTF16PtrFromString(folder)
	if err == nil {
		err = windows.GetDiskFreeSpaceEx(name, &available, &all, nil)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("get the free space on the disk of %s: %w", path, err)
	}
	return int64(available), int64(all), nil
}
