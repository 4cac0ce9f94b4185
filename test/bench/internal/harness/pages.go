package harness

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Pages is a file in a tmpfs that holds memory for files which are measured there. On a virtual machine the first write
// to a page waits until the host provides memory: a file grows by 0.7 GB/s in new pages, and by 4 GB/s in freed pages.
// Measured processes must not wait for the host.
type Pages struct {
	file *os.File
	size int64         // bytes
	stop chan struct{} // closed by Close
	done sync.WaitGroup
}

// HoldPages takes size bytes of memory in the tmpfs of folder, but at most a third of its free space. It returns nil if
// folder is not in a tmpfs.
func HoldPages(folder string, size int64) (*Pages, error) {
	var system unix.Statfs_t
	if err := unix.Statfs(folder, &system); err != nil || system.Type != unix.TMPFS_MAGIC {
		return nil, err
	}
	file, err := os.Create(filepath.Join(folder, "pages"))
	if err != nil {
		return nil, err
	}
	p := &Pages{file: file, stop: make(chan struct{})}
	for zeros := make([]byte, 1<<20); p.size < min(size, int64(system.Bavail)*system.Bsize/3); p.size += 1 << 20 {
		if _, err := file.Write(zeros); err != nil { // fallocate would not touch the memory
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// GiveWay frees memory until Close, always 128 MiB more than other files of the tmpfs have taken since the call.
func (p *Pages) GiveWay() {
	if p == nil {
		return
	}
	free := func() int64 {
		var system unix.Statfs_t
		_ = unix.Fstatfs(int(p.file.Fd()), &system)
		return int64(system.Bfree) * system.Bsize
	}
	const ahead, step = 128 << 20, 5 * time.Millisecond
	left, target := p.size, free()+ahead
	p.done.Go(func() {
		for {
			if missing := target - free(); missing > 0 && left > 0 {
				left = max(left-missing, 0)
				_ = p.file.Truncate(left)
			}
			select {
			case <-p.stop:
				return
			case <-time.After(step):
			}
		}
	})
}

// Close frees the remaining memory.
func (p *Pages) Close() error {
	if p == nil {
		return nil
	}
	close(p.stop)
	p.done.Wait()
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}
