package codec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Disk is where recordings are written. OS is the operating system's; package disktest has one for tests, which fails
// and forgets.
type Disk interface {
	// Create creates a file, or with overwrite may empty an existing one, unless another writer has that open.
	Create(path string, overwrite bool) (DiskFile, error)
	// Reserve takes n bytes of the disk that path is on until what it returns is closed, or until the process ends.
	Reserve(path string, n int64) (io.Closer, error)
	// Vacant returns an error if a file must not be put at path: there is one, or even with overwrite a folder.
	Vacant(path string, overwrite bool) error
	Rename(from, to string) error
	Remove(path string) error
	// Mkdir creates a folder, which must not exist.
	Mkdir(path string) error
	// MkdirAll creates a folder and those that it is in, unless they exist.
	MkdirAll(path string) error
	// SyncFolder is the function SyncFolder.
	SyncFolder(path string)
	// Space returns the bytes that may still be written to the disk that path is on, and those of the whole disk.
	Space(path string) (free, total int64, err error)
}

// DiskFile is an open file of a Disk.
type DiskFile interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OS is the Disk of the operating system.
type OS struct{}

// Create implements Disk.
func (OS) Create(path string, overwrite bool) (DiskFile, error) {
	flags := os.O_WRONLY | os.O_CREATE
	if !overwrite {
		flags |= os.O_EXCL
	}
	file, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	if err = lock(file); err == nil && overwrite {
		err = file.Truncate(0) // not before the lock: it may be another writer's
	}
	if err != nil {
		file.Close()
		if !overwrite {
			os.Remove(path)
		}
		return nil, err
	}
	return file, nil
}

// lock locks a file for BeingWritten, whose own lock of the file lasts microseconds.
func lock(file *os.File) error {
	for range 200 {
		if !errors.Is(Lock(file), ErrLocked) {
			return nil // a disk may have no locks
		}
		time.Sleep(time.Millisecond)
	}
	return ErrLocked
}

// Reserve implements Disk. The bytes are those of a file without a name.
func (OS) Reserve(path string, n int64) (io.Closer, error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".reserve-*")
	if err != nil {
		return nil, err
	}
	err = os.Remove(file.Name())
	if err == nil {
		err = allocate(file, n)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// allocate gives an empty file n bytes of the disk.
func allocate(file *os.File, n int64) error {
	for {
		err := syscall.Fallocate(int(file.Fd()), 0, 0, n)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errors.ErrUnsupported):
			return fill(file, n)
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// fill writes n zeros.
func fill(file *os.File, n int64) error {
	zeros := make([]byte, 64<<10)
	for off := int64(0); off < n; off += int64(len(zeros)) {
		if _, err := file.WriteAt(zeros[:min(n-off, int64(len(zeros)))], off); err != nil {
			return err
		}
	}
	return nil
}

// Vacant implements Disk.
func (OS) Vacant(path string, overwrite bool) error {
	stat, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && !overwrite:
		return fs.ErrExist
	case err == nil && stat.IsDir():
		return syscall.EISDIR
	}
	return err
}

// Rename implements Disk.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Disk.
func (OS) Remove(path string) error { return os.Remove(path) }

// Mkdir implements Disk.
func (OS) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

// MkdirAll implements Disk.
func (OS) MkdirAll(path string) error { return os.MkdirAll(path, 0o777) }

// SyncFolder implements Disk.
func (OS) SyncFolder(path string) { SyncFolder(path) }

// Space implements Disk.
func (OS) Space(path string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, fmt.Errorf("get the free space on the disk of %s: %w", path, err)
	}
	return int64(s.Bavail) * s.Bsize, int64(s.Blocks) * s.Bsize, nil
}
