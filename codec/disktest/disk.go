// Package disktest simulates a disk for tests. It can fail, and shows what a crash at any moment may leave on it.
package disktest

import (
	"bytes"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"syscall"

	"tapedeck/codec"
)

// Disk is a codec.Disk in memory.
type Disk struct {
	// Fail, unless nil, is asked before n bytes are written to a file, or before it is synced, with n = -1. So many
	// bytes are written before the error that it returns.
	Fail func(path string, n int) (written int, err error)

	mu    sync.Mutex
	log   []operation
	files map[string]*file // by name
	made  map[string]bool  // folders that were created; others exist, too
	next  int
}

// file is a file, whatever it is called.
type file struct {
	number int
	data   []byte
}

// kind says what an operation did.
type kind int

const (
	create kind = iota
	rename
	remove
	syncFolder
	write
	truncate
	syncFile
	mark
)

// operation is something that was done.
type operation struct {
	kind kind
	path string // of create, remove, syncFolder (the folder), rename (from)
	to   string // of rename
	file int    // number, of create, write, truncate, syncFile
	off  int64  // of write; size of truncate
	data []byte // of write
	mark int    // of mark
}

// Mark notes how much is promised to be on the disk from now on.
func (d *Disk) Mark(n int) { d.add(operation{kind: mark, mark: n}) }

func (d *Disk) add(o operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, o)
}

// Create implements codec.Disk.
func (d *Disk) Create(path string, overwrite bool) (codec.DiskFile, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files == nil {
		d.files = map[string]*file{}
	}
	f := d.files[path]
	switch {
	case f == nil:
		f = &file{number: d.next}
		d.next++
		d.files[path] = f
		d.log = append(d.log, operation{kind: create, path: path, file: f.number})
	case !overwrite:
		return nil, fs.ErrExist
	default:
		f.data = nil
		d.log = append(d.log, operation{kind: truncate, file: f.number})
	}
	return &handle{disk: d, file: f, path: path}, nil
}

// Reserve implements codec.Disk. It takes nothing.
func (d *Disk) Reserve(string, int64) (io.Closer, error) { return io.NopCloser(nil), nil }

// Vacant implements codec.Disk.
func (d *Disk) Vacant(path string, overwrite bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[path] != nil && !overwrite {
		return fs.ErrExist
	}
	return nil
}

// Rename implements codec.Disk.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[from] == nil {
		return fs.ErrNotExist
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	d.log = append(d.log, operation{kind: rename, path: from, to: to})
	return nil
}

// Remove implements codec.Disk.
func (d *Disk) Remove(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[path] == nil {
		return fs.ErrNotExist
	}
	delete(d.files, path)
	d.log = append(d.log, operation{kind: remove, path: path})
	return nil
}

// SyncFolder implements codec.Disk.
func (d *Disk) SyncFolder(path string) {
	d.add(operation{kind: syncFolder, path: filepath.Clean(path)})
}

// Mkdir implements codec.Disk.
func (d *Disk) Mkdir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made[filepath.Clean(path)] {
		return fs.ErrExist
	}
	if d.made == nil {
		d.made = map[string]bool{}
	}
	d.made[filepath.Clean(path)] = true
	return nil
}

// MkdirAll implements codec.Disk.
func (d *Disk) MkdirAll(string) error { return nil }

// Space implements codec.Disk. There is always enough.
func (d *Disk) Space(string) (free, total int64, err error) { return 1 << 40, 1 << 41, nil }

// Files returns the contents of all files, by name.
func (d *Disk) Files() map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	contents := map[string][]byte{}
	for path, f := range d.files {
		contents[path] = bytes.Clone(f.data)
	}
	return contents
}

// handle is an open file.
type handle struct {
	disk   *Disk
	file   *file
	path   string
	closed bool
}

func (h *handle) fail(n int) (int, error) {
	if h.closed {
		return 0, fs.ErrClosed
	}
	if h.disk.Fail == nil {
		return max(n, 0), nil
	}
	written, err := h.disk.Fail(h.path, n)
	if err == nil {
		written = max(n, 0)
	}
	return written, err
}

func (h *handle) WriteAt(b []byte, off int64) (int, error) {
	n, err := h.fail(len(b))
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.disk.log = append(h.disk.log, operation{kind: write, file: h.file.number, off: off, data: bytes.Clone(b[:n])})
	h.file.data = put(h.file.data, off, b[:n])
	return n, err
}

// put writes b over data at off.
func put(data []byte, off int64, b []byte) []byte {
	if missing := off + int64(len(b)) - int64(len(data)); missing > 0 {
		data = append(data, make([]byte, missing)...)
	}
	copy(data[off:], b)
	return data
}

func (h *handle) Truncate(size int64) error {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.disk.log = append(h.disk.log, operation{kind: truncate, file: h.file.number, off: size})
	h.file.data = resize(h.file.data, size)
	return nil
}

func resize(data []byte, size int64) []byte {
	return put(data[:min(size, int64(len(data)))], size, nil)
}

func (h *handle) Sync() error {
	if _, err := h.fail(-1); err != nil {
		return err
	}
	h.disk.add(operation{kind: syncFile, file: h.file.number})
	return nil
}

func (h *handle) Close() error {
	if h.closed {
		return syscall.EBADF
	}
	h.closed = true
	return nil
}
