// Package output writes the files of recordings. A file gets its name only when it is complete, and keeps its complete
// part if the disk fails. A recording may consist of several files.
package output

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tapedeck/codec"
)

// System is where files are. There is one besides OS, for tests: a disk that fails and forgets.
type System interface {
	// Create creates a file, or with overwrite may empty an existing one, unless another writer has that open.
	Create(path string, overwrite bool) (Handle, error)
	// Reserve takes n bytes of the disk that path is on until what it returns is closed, or until the process ends.
	Reserve(path string, n int64) (io.Closer, error)
	// Vacant returns an error if a file must not be put at path: there is one, or even with overwrite a folder.
	Vacant(path string, overwrite bool) error
	Rename(from, to string) error
	Remove(path string) error
	// SyncFolder is codec.SyncFolder.
	SyncFolder(path string)
}

// Handle is an open file.
type Handle interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// OS is the operating system.
type OS struct{}

// Create implements System.
func (OS) Create(path string, overwrite bool) (Handle, error) {
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

// lock locks a file for codec.BeingWritten, whose own lock of the file lasts microseconds.
func lock(file *os.File) error {
	for range 200 {
		if !errors.Is(codec.Lock(file), codec.ErrLocked) {
			return nil // a disk may have no locks
		}
		time.Sleep(time.Millisecond)
	}
	return codec.ErrLocked
}

// Reserve implements System. The bytes are those of a file without a name.
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

// Vacant implements System.
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

// Rename implements System.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements System.
func (OS) Remove(path string) error { return os.Remove(path) }

// SyncFolder implements System.
func (OS) SyncFolder(path string) { codec.SyncFolder(path) }

// Replace writes the file at path anew. After a crash there is the old one or the new one, and in any case the new one
// once it has returned.
func Replace(s System, path string, content []byte) error {
	temporary := path + ".tmp"
	err := write(s, temporary, content)
	if err == nil {
		err = s.Rename(temporary, path)
	}
	if err != nil {
		_ = s.Remove(temporary)
		return codec.Pathless(err)
	}
	s.SyncFolder(filepath.Dir(path))
	return nil
}

// write writes a file and puts it on the disk.
func write(s System, path string, content []byte) error {
	file, err := s.Create(path, true)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	if err == nil {
		err = file.Sync()
	}
	return cmp.Or(err, file.Close())
}
