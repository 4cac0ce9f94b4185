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

// lock locks a file without waiting. Windows keeps others from reading and writing a locked range, so lock takes a byte
// that no file has.
func lock(file *os.File, shared bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	beyond := windows.Overlapped{Offset: 0, OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &beyond)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION), errors.Is(err, windows.ERROR_IO_PENDING):
		return ErrLocked
	case errors.Is(err, windows.ERROR_NOT_SUPPORTED), errors.Is(err, windows.ERROR_INVALID_FUNCTION):
		return nil // a disk without locks
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// Reserve implements Disk. The bytes belong to a file that Windows removes when it is closed.
func (OS) Reserve(path string, n int64) (io.Closer, error) {
	named, err := os.CreateTemp(filepath.Dir(path), ".reserve-*")
	if err != nil {
		return nil, err
	}
	named.Close()
	file, err := os.OpenFile(named.Name(), os.O_RDWR|windows.O_FILE_FLAG_DELETE_ON_CLOSE, 0)
	if err != nil {
		return nil, errors.Join(err, os.Remove(named.Name()))
	}
	if err := file.Truncate(n); err != nil { // files are not sparse unless they ask for it
		file.Close()
		return nil, err
	}
	return file, nil
}

// SyncAll implements Disk. Only administrators may sync a whole disk, so it syncs each file below path.
func (OS) SyncAll(path string) error {
	return filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		return SyncFile(path)
	})
}

// Space implements Disk.
func (OS) Space(path string) (free, total int64, err error) {
	folder := path // Windows takes no file
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
