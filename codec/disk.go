package codec

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"tapedeck/codec/store"
)

// Disk is a disk with recordings: the functions of package os for files and folders, and others that writers of
// recordings need. OS is the operating system's disk; package disktest simulates one that fails and forgets.
type Disk interface {
	store.Disk
	// OpenRoot is os.OpenRoot.
	OpenRoot(folder string) (DiskRoot, error)
	// Create creates a file, or with overwrite may empty an existing one. It locks the file until the file is closed.
	// The error is ErrLocked if an existing file is locked.
	Create(path string, overwrite bool) (DiskFile, error)
	// Lock opens a file, and locks it until it is closed. Shared locks exclude only locks that are not shared. The
	// error is ErrLocked if the file is locked. Disks without locks lock nothing.
	Lock(path string, shared bool) (store.File, error)
	Rename(from, to string) error
	Remove(path string) error
	RemoveAll(path string) error
	// Mkdir creates a folder, which must not exist.
	Mkdir(path string) error
	// MkdirAll creates a folder and its parents, unless they exist.
	MkdirAll(path string) error
	// Reserve takes n bytes of the disk that path is on, until the Closer is closed or the process ends.
	Reserve(path string, n int64) (io.Closer, error)
	// SyncFolder puts the entries of a folder on the disk. Otherwise a new file may be gone after a power failure, even
	// if the file was synced. There is no error if the file system cannot do it.
	SyncFolder(path string) error
	// Syncer returns a handle that syncs all writes to the disk that path is on. Its Sync returns errors of writes
	// since Syncer was called, even if another process has synced the disk meanwhile. Each error is returned only once.
	Syncer(path string) (Syncer, error)
	// Space returns the free bytes and all bytes of the disk that path is on.
	Space(path string) (free, total int64, err error)
}

// DiskFile is a file of a Disk, for writing.
type DiskFile interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Syncer syncs a disk.
type Syncer interface {
	Sync() error
	Close() error
}

// DiskRoot is an os.Root on a Disk: no name and no link leads out of its folder.
type DiskRoot interface {
	Open(name string) (store.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Remove(name string) error
	Close() error
}

// Vacant returns an error if a file must not be created at path: a file exists, or even with overwrite a folder.
func Vacant(d Disk, path string, overwrite bool) error {
	stat, err := d.Lstat(path)
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

// BeingWritten reports whether any process writes a recording to the file at path. Such a file is locked; the file of a
// killed writer is not. It reports false on disks without locks.
func BeingWritten(d Disk, path string) bool {
	file, err := d.Lock(path, true)
	if err != nil {
		return errors.Is(err, ErrLocked)
	}
	_ = file.Close()
	return false
}

// ErrLocked is returned for files that another process has locked.
var ErrLocked = errors.New("another process is working on it")

// Lock locks a file until it is closed. It does nothing on disks without locks.
func Lock(file *os.File) error { return lock(file, false) }

// OS is the Disk of the operating system.
type OS struct{ store.OS }

var _ Disk = OS{}

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
	err = lockNew(file)
	if err == nil && overwrite {
		err = empty(file, path)
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

// lockNew locks a new file, for BeingWritten. It retries, because BeingWritten itself locks files for microseconds.
func lockNew(file *os.File) error {
	for range 200 {
		if !errors.Is(Lock(file), ErrLocked) {
			return nil // locked, or a disk without locks
		}
		time.Sleep(time.Millisecond)
	}
	return ErrLocked
}

// empty truncates a file, unless another process has renamed it before it was locked.
func empty(file *os.File, path string) error {
	same, err := isAt(file, path)
	if err == nil && !same {
		err = ErrLocked
	}
	if err == nil {
		err = file.Truncate(0)
	}
	return err
}

// isAt reports whether file, which was opened at path, is still at path.
func isAt(file *os.File, path string) (bool, error) {
	opened, err := file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(opened, now), err
}

// Lock implements Disk. A file that is replaced or removed before it is locked is opened again.
func (OS) Lock(path string, shared bool) (store.File, error) {
	flags := os.O_RDWR // network disks may lock only what can be written
	if shared {
		flags = os.O_RDONLY
	}
	for {
		file, err := os.OpenFile(path, flags, 0)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
			file, err = os.Open(path)
		}
		if err != nil {
			return nil, err
		}
		same := false
		err = lock(file, shared)
		if err == nil {
			same, err = isAt(file, path)
		}
		if same {
			return file, nil
		}
		file.Close()
		if err != nil {
			return nil, err
		}
	}
}

// OpenRoot implements Disk.
func (OS) OpenRoot(folder string) (DiskRoot, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return osRoot{root}, nil
}

type osRoot struct{ *os.Root }

func (r osRoot) Open(name string) (store.File, error) {
	file, err := r.Root.Open(name)
	if err != nil {
		return nil, err
	}
	return file, nil
}

// Reserve implements Disk.
func (OS) Reserve(path string, n int64) (io.Closer, error) {
	file, err := store.Unnamed(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if err := allocate(file, n); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Rename implements Disk.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements Disk.
func (OS) Remove(path string) error { return os.Remove(path) }

// RemoveAll implements Disk.
func (OS) RemoveAll(path string) error { return os.RemoveAll(path) }

// Mkdir implements Disk.
func (OS) Mkdir(path string) error { return os.Mkdir(path, 0o777) }

// MkdirAll implements Disk.
func (OS) MkdirAll(path string) error { return os.MkdirAll(path, 0o777) }

// SyncFile syncs the file at path to the disk. It opens the file for writing, because Windows syncs no others.
func SyncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// SyncAll syncs all writes to the disk that path is on.
func SyncAll(d Disk, path string) error {
	all, err := d.Syncer(path)
	if err != nil {
		return err
	}
	return errors.Join(all.Sync(), all.Close())
}

// syncedOneByOne is the number of files that SyncTree syncs one by one. It syncs the whole disk if there are more.
const syncedOneByOne = 16

// SyncTree syncs the file at path, or the folder at path with everything below. It skips links.
func SyncTree(path string) error {
	var files, folders []string
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			folders = append(folders, path)
		case entry.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(files) > syncedOneByOne {
		return SyncAll(OS{}, path)
	}
	for _, file := range files {
		if err := SyncFile(file); err != nil {
			return err
		}
	}
	for _, folder := range folders {
		if err := (OS{}).SyncFolder(folder); err != nil {
			return err
		}
	}
	return nil
}

// SyncFolder implements Disk.
func (OS) SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err == nil {
		err = folder.Sync()
		folder.Close()
	}
	for _, failure := range []error{syscall.EIO, syscall.EROFS, syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, failure) {
			return err
		}
	}
	return nil
}
