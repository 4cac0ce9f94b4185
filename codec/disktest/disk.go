// Package disktest simulates a disk for tests. It can fail, and shows what a crash at any moment may leave on it.
package disktest

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing/fstest"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// Disk is a codec.Disk in memory. It has no links. Files can be created in folders that do not exist.
type Disk struct {
	// Fail, unless nil, is called before n bytes are written to a file, or with n = -1 before it is synced. It returns
	// an error, and the number of bytes that are written before the error.
	Fail func(path string, n int) (written int, err error)

	Size int64 // bytes; 0: there is always enough space

	mu    sync.Mutex
	log   []operation
	files map[string]*file // contents by name
	made  map[string]bool  // folders that were created
	next  int
	taken int64 // bytes that others use

	// The disk as it was before log, for PowerCut.
	filesBefore map[string]*file
	madeBefore  map[string]bool
}

var _ codec.Disk = (*Disk)(nil)

// file is a file, which may have several names or none.
type file struct {
	number   int
	data     []byte
	modified time.Time
	locked   bool // by a single handle; shared locks are not recorded
}

// kind is the kind of an operation.
type kind int

const (
	create kind = iota
	rename
	remove
	syncFolder
	write
	truncate
	syncFile
	syncAll
	mark
	mkdir
	rmdir
)

// syncs reports whether an operation syncs earlier operations.
func (k kind) syncs() bool { return k == syncFile || k == syncFolder || k == syncAll }

// operation is an entry of the log of operations.
type operation struct {
	kind kind
	path string // of create, remove, mkdir, rmdir, syncFolder (the folder), rename (from)
	to   string // of rename
	file int    // number, of create, write, truncate, syncFile
	off  int64  // of write; size of truncate
	data []byte // of write
	mark int    // of mark
	at   time.Time
}

// Mark records n, a count of the test: that much must be on the disk after any later crash.
func (d *Disk) Mark(n int) { d.add(operation{kind: mark, mark: n}) }

func (d *Disk) add(o operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note(o)
}

// note appends an operation to the log. d.mu is held.
func (d *Disk) note(o operation) {
	o.at = time.Now()
	d.log = append(d.log, o)
}

// here is the name that stands for the working directory.
const here = "here"

// name returns the name of a path in a view.
func name(path string) string {
	path = filepath.Clean(path)
	if rooted, ok := strings.CutPrefix(path, "/"); ok {
		return filepath.Clean(rooted)
	}
	return filepath.Join(here, path)
}

// view returns the files and folders with their names. d.mu is held.
func (d *Disk) view() fstest.MapFS {
	view := fstest.MapFS{here: {Mode: fs.ModeDir | 0o777}}
	for path, f := range d.files {
		view[name(path)] = &fstest.MapFile{Data: f.data, ModTime: f.modified, Mode: 0o666}
	}
	for path := range d.made {
		view[name(path)] = &fstest.MapFile{Mode: fs.ModeDir | 0o777}
	}
	return view
}

// at adds a path to an error.
func at(op, path string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: path, Err: codec.Pathless(err)}
}

// Open implements codec.Disk.
func (d *Disk) Open(path string) (store.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open(path)
}

func (d *Disk) open(path string) (store.File, error) {
	view := d.view()
	if f := view[name(path)]; f != nil {
		f.Data = bytes.Clone(f.Data) // the open file does not see later writes
	}
	file, err := view.Open(name(path))
	if err != nil {
		return nil, at("open", path, err)
	}
	if opened, ok := file.(store.File); ok {
		return opened, nil
	}
	return folder{file}, nil
}

// folder is an open folder.
type folder struct{ fs.File }

func (folder) ReadAt([]byte, int64) (int, error) { return 0, syscall.EISDIR }
func (folder) Seek(int64, int) (int64, error)    { return 0, syscall.EISDIR }

// Stat implements codec.Disk.
func (d *Disk) Stat(path string) (fs.FileInfo, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	stat, err := d.view().Stat(name(path))
	return stat, at("stat", path, err)
}

// Lstat implements codec.Disk.
func (d *Disk) Lstat(path string) (fs.FileInfo, error) { return d.Stat(path) }

// ReadDir implements codec.Disk.
func (d *Disk) ReadDir(path string) ([]fs.DirEntry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, err := d.view().ReadDir(name(path))
	return entries, at("open", path, err)
}

// OpenRoot implements codec.Disk.
func (d *Disk) OpenRoot(folder string) (codec.DiskRoot, error) {
	_, err := d.Stat(folder)
	return &root{d, folder}, err
}

// root is a folder without links.
type root struct {
	disk   *Disk
	folder string
}

// path returns the path of a name. For a name that leads out of the folder it is a path where nothing exists.
func (r *root) path(name string) string {
	if !filepath.IsLocal(name) {
		return "\x00"
	}
	return filepath.Join(r.folder, name)
}

func (r *root) Open(name string) (store.File, error)   { return r.disk.Open(r.path(name)) }
func (r *root) Lstat(name string) (fs.FileInfo, error) { return r.disk.Lstat(r.path(name)) }
func (r *root) Remove(name string) error               { return r.disk.Remove(r.path(name)) }
func (r *root) Close() error                           { return nil }

// Create implements codec.Disk.
func (d *Disk) Create(path string, overwrite bool) (codec.DiskFile, error) {
	path = filepath.Clean(path)
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
		d.note(operation{kind: create, path: path, file: f.number})
	case !overwrite:
		return nil, at("open", path, fs.ErrExist)
	case f.locked:
		return nil, codec.ErrLocked
	default:
		f.data = nil
		d.note(operation{kind: truncate, file: f.number})
	}
	f.modified, f.locked = time.Now(), true
	return &handle{disk: d, file: f, path: path}, nil
}

// Lock implements codec.Disk.
func (d *Disk) Lock(path string, shared bool) (store.File, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	opened, err := d.open(path)
	f := d.files[filepath.Clean(path)]
	switch {
	case err != nil || f == nil:
		return opened, err
	case f.locked:
		return nil, codec.ErrLocked
	case shared:
		return opened, nil
	}
	f.locked = true
	return &lockedFile{opened, d, f}, nil
}

// lockedFile is a file that Lock has locked.
type lockedFile struct {
	store.File
	disk *Disk
	file *file
}

func (f *lockedFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.file.locked = false
	return f.File.Close()
}

// Reserve implements codec.Disk.
func (d *Disk) Reserve(path string, n int64) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n > d.free() {
		return nil, at("reserve", path, syscall.ENOSPC)
	}
	d.taken += n
	return &reserve{disk: d, bytes: n}, nil
}

// reserve is space that Reserve has taken.
type reserve struct {
	disk  *Disk
	bytes int64
}

func (r *reserve) Close() error {
	r.disk.Fill(-r.bytes)
	r.bytes = 0
	return nil
}

// Fill takes n bytes of the disk, as another program does; it frees them if n is negative.
func (d *Disk) Fill(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.taken += n
}

// free returns the free bytes. d.mu is held.
func (d *Disk) free() int64 {
	if d.Size == 0 {
		return 1 << 40
	}
	used := d.taken
	for _, f := range d.files {
		used += int64(len(f.data))
	}
	return max(d.Size-used, 0)
}

// Rename implements codec.Disk, for files only.
func (d *Disk) Rename(from, to string) error {
	from, to = filepath.Clean(from), filepath.Clean(to)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[from] == nil {
		return at("rename", from, fs.ErrNotExist)
	}
	d.files[to] = d.files[from]
	delete(d.files, from)
	d.note(operation{kind: rename, path: from, to: to})
	return nil
}

// Remove implements codec.Disk.
func (d *Disk) Remove(path string) error {
	path = filepath.Clean(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[path] != nil {
		d.remove(path)
		return nil
	}
	entries, err := d.view().ReadDir(name(path))
	if len(entries) > 0 {
		err = syscall.ENOTEMPTY
	}
	if err == nil {
		delete(d.made, path)
		d.note(operation{kind: rmdir, path: path})
	}
	return at("remove", path, err)
}

func (d *Disk) remove(path string) {
	delete(d.files, path)
	d.note(operation{kind: remove, path: path})
}

// RemoveAll implements codec.Disk.
func (d *Disk) RemoveAll(path string) error {
	path = filepath.Clean(path)
	d.mu.Lock()
	defer d.mu.Unlock()
	below := func(other string) bool { return other == path || strings.HasPrefix(other, path+"/") }
	for other := range d.files {
		if below(other) {
			d.remove(other)
		}
	}
	maps.DeleteFunc(d.made, func(other string, _ bool) bool { return below(other) })
	return nil
}

// Mkdir implements codec.Disk.
func (d *Disk) Mkdir(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, err := d.view().Stat(name(path)); err == nil {
		return at("mkdir", path, fs.ErrExist)
	}
	d.mkdir(path)
	return nil
}

func (d *Disk) mkdir(path string) {
	if d.made == nil {
		d.made = map[string]bool{}
	}
	path = filepath.Clean(path)
	d.made[path] = true
	d.note(operation{kind: mkdir, path: path})
}

// MkdirAll implements codec.Disk.
func (d *Disk) MkdirAll(path string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if stat, err := d.view().Stat(name(path)); err != nil {
		d.mkdir(path)
	} else if !stat.IsDir() {
		return at("mkdir", path, syscall.ENOTDIR)
	}
	return nil
}

// SyncFolder implements codec.Disk.
func (d *Disk) SyncFolder(path string) error {
	d.add(operation{kind: syncFolder, path: filepath.Clean(path)})
	return nil
}

// Syncer implements codec.Disk.
func (d *Disk) Syncer(path string) (codec.Syncer, error) { return &syncer{d, path}, nil }

type syncer struct {
	disk *Disk
	path string
}

// Sync implements codec.Syncer.
func (s *syncer) Sync() error {
	if s.disk.Fail != nil {
		if _, err := s.disk.Fail(s.path, -1); err != nil {
			return err
		}
	}
	s.disk.add(operation{kind: syncAll})
	return nil
}

// Close implements codec.Syncer.
func (*syncer) Close() error { return nil }

// Space implements codec.Disk.
func (d *Disk) Space(string) (free, total int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free(), cmp.Or(d.Size, 1<<41), nil
}

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
	if room := h.disk.free() + int64(len(h.file.data)) - off; err == nil && int64(n) > room {
		n, err = int(max(room, 0)), at("write", h.path, syscall.ENOSPC)
	}
	h.disk.note(operation{kind: write, file: h.file.number, off: off, data: bytes.Clone(b[:n])})
	h.file.data, h.file.modified = put(h.file.data, off, b[:n]), time.Now()
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
	h.disk.note(operation{kind: truncate, file: h.file.number, off: size})
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
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	h.file.locked = false
	return nil
}
