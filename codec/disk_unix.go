//go:build unix

package codec

import (
	"errors"
	"fmt"
	"io"
	"os"
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

// LockFolder locks a folder until the Closer is closed. The error is ErrLocked if another process has locked it, and
// errors.ErrUnsupported if the system or the disk cannot lock folders.
func LockFolder(path string) (io.Closer, error) {
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	same := false
	if err == nil {
		same, err = isAt(folder, path)
	} else if !errors.Is(err, syscall.EWOULDBLOCK) {
		err = errors.ErrUnsupported
	}
	if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && !same {
		err = ErrLocked
	}
	if err != nil {
		folder.Close()
		return nil, err
	}
	return folder, nil
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

// Space implements Disk.
func (OS) Space(path string) (free, total int64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, 0, fmt.Errorf("get the free space on the disk of %s: %w", path, err)
	}
	size := uint64(s.Bsize) // an int64 on Linux, an uint32 on macOS
	return int64(s.Bavail * size), int64(s.Blocks * size), nil
}
