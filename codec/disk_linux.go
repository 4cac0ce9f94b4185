package codec

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// allocate allocates n bytes of the disk for an empty file.
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

// Exchange exchanges two files or folders. A crash leaves either the old names or the new ones. The error wraps
// errors.ErrUnsupported on disks that cannot do it.
func Exchange(a, b string) error {
	err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EXDEV) { // EXDEV: a folder in the image of a container
		err = errors.ErrUnsupported
	}
	return err
}

// Syncer implements Disk.
func (OS) Syncer(path string) (Syncer, error) {
	file, err := os.Open(path)
	return syncer{file}, err
}

// syncer is a file or a folder of the disk.
type syncer struct{ *os.File }

// Sync implements Syncer.
func (s syncer) Sync() error { return unix.Syncfs(int(s.Fd())) }
