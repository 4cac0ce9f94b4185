// Package files names files after topics, and writes any number of files at the same time without keeping all of them
// open.
package files

import (
	"errors"
	"os"
	"slices"
	"sync"
)

// maxOpen is the maximum number of open files of a Set. Systems allow a process 1024 or more.
const maxOpen = 128

// Set is a set of files that are written at the same time. The zero value is empty. Several goroutines may use its
// files.
type Set struct {
	mu   sync.Mutex
	open []*File // open files by last use, the latest last
}

// File is a file that only grows. It is open only while it is one of the last maxOpen files that were used.
type File struct {
	set    *Set
	path   string
	handle *os.File // nil if the file is not open
}

// Create creates a file. It is an error if the file exists, unless overwrite is set.
func (s *Set) Create(path string, overwrite bool) (*File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	flags := os.O_CREATE | os.O_EXCL
	if overwrite {
		flags = os.O_CREATE | os.O_TRUNC
	}
	f := &File{set: s, path: path}
	return f, f.use(flags)
}

// use opens f, if it is not open. It may close another file.
func (f *File) use(flags int) error {
	s := f.set
	if f.handle != nil {
		i := slices.Index(s.open, f)
		s.open = append(slices.Delete(s.open, i, i+1), f)
		return nil
	}
	if len(s.open) == maxOpen {
		oldest := s.open[0]
		err := oldest.handle.Close()
		oldest.handle, s.open = nil, s.open[1:]
		if err != nil {
			return err
		}
	}
	var err error
	f.handle, err = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND|flags, 0o666)
	if err == nil {
		s.open = append(s.open, f)
	}
	return err
}

// Name returns the path of the file.
func (f *File) Name() string { return f.path }

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if err := f.use(0); err != nil {
		return 0, err
	}
	return f.handle.Write(b)
}

// Sync puts all writes on the disk.
func (f *File) Sync() error {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if err := f.use(0); err != nil {
		return err
	}
	return f.handle.Sync()
}

// Close closes the file, which must not be written afterwards.
func (f *File) Close() error {
	s := f.set
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.handle == nil {
		return nil
	}
	err := f.handle.Close()
	f.handle = nil
	s.open = slices.DeleteFunc(s.open, func(o *File) bool { return o == f })
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
