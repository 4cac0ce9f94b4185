//go:build unix

package codec

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lock locks a file without waiting.
func lock(file *os.File, shared bool) error {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	return lockError(syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB))
}

func lockError(err error) error {
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOLCK), errors.Is(err, syscall.ENOSYS):
		return nil
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// Reserve implements Disk. The bytes belong to a file without a name.
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

// Space implements Disk.
func (OS) Space(path string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, fmt.Errorf("get the free space on the disk of %s: %w", path, err)
	}
	size := int64(s.Bsize) //nolint:unconvert // an uint32 on macOS
	return int64(s.Bavail) * size, int64(s.Blocks) * size, nil
}
