package output

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	"tapedeck/codec"
)

// minReserve is the number of bytes that a file has in reserve from the beginning.
const minReserve = 64 << 10

// writeAtOnce is the number of bytes written with one call. For larger writes ext4 of Linux 6.18 uses large pages, and
// takes two to eight times the processor time for 16 MiB.
const writeAtOnce = 1 << 20

// Series creates the files of one recording. Only one file at a time writes its end.
type Series struct {
	disk codec.Disk

	// A file that uses its reserve locks space until the end of the file is written. Other files lock space for reading
	// while they write, so that they do not take the space that the reserve freed. A FileWriter's locks are locked
	// first.
	space sync.RWMutex
}

// NewSeries returns a series of files on d.
func NewSeries(d codec.Disk) *Series { return &Series{disk: d} }

// File is a file of a recording while it is written. Its name ends with codec.ActiveSuffix until it is complete. It has
// space of the disk in reserve, so that it can be completed when the disk is full. Errors name neither the path nor the
// operation. The methods are not for concurrent use, except that Sync may be called beside all others.
type File struct {
	series   *Series
	path     string // of the complete file
	handle   codec.DiskFile
	size     int64
	reserve  []io.Closer
	reserved int64 // bytes
	ending   bool  // the end of the file is being written and may use the reserve
	holds    bool  // this file has locked series.space, because it uses the reserve

	dirty atomic.Bool // the file may have bytes that are not on the disk

	syncing sync.Mutex // guards the fields below; held while the file is synced or closed
	syncErr error      // first error of Sync: bytes may be lost, though Linux lets the next sync succeed
	placed  bool       // the file's entry in the folder is on the disk
	closed  bool
}

// Create begins the file that is called path once it is complete.
func (s *Series) Create(path string, overwrite bool) (*File, error) {
	f := &File{series: s, path: path}
	err := codec.Vacant(s.disk, path, overwrite)
	if err == nil {
		err = f.Reserve(minReserve)
	}
	if err == nil {
		f.handle, err = s.disk.Create(path+codec.ActiveSuffix, overwrite)
	}
	if err != nil {
		f.free()
		return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
	}
	return f, nil
}

// Path returns the path of the complete file.
func (f *File) Path() string { return f.path }

// Size returns the bytes of the file.
func (f *File) Size() int64 { return f.size }

// Append appends several slices to the file, or none of them if there is an error.
func (f *File) Append(slices ...[]byte) error {
	end := f.size
	for _, b := range slices {
		if err := f.WriteAt(b, end); err != nil {
			return f.cut(err)
		}
		end += int64(len(b))
	}
	f.size = end
	return nil
}

// Write implements io.Writer with Append.
func (f *File) Write(b []byte) (int, error) {
	if err := f.Append(b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// cut removes the bytes behind the end of the file after the error err of writing. It returns err, joined with the
// error of removing.
func (f *File) cut(err error) error {
	if cutErr := f.handle.Truncate(f.size); cutErr != nil {
		err = errors.Join(err, fmt.Errorf("cut off incompletely written bytes: %w", codec.Pathless(cutErr)))
	}
	return err
}

// WriteAt writes b at off.
func (f *File) WriteAt(b []byte, off int64) error {
	var err error
	for err == nil && len(b) > 0 {
		n := min(len(b), writeAtOnce)
		err = f.write(b[:n], off)
		b, off = b[n:], off+int64(n)
	}
	f.dirty.Store(true) // after the write: a Sync before this line may have missed it
	return codec.Pathless(err)
}

func (f *File) write(b []byte, off int64) error {
	err := f.writeShared(b, off)
	if err != nil && f.ending && len(f.reserve) > 0 &&
		(errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) {
		f.series.space.Lock()
		f.holds = true
		f.free()
		err = f.writeShared(b, off)
	}
	return err
}

func (f *File) writeShared(b []byte, off int64) error {
	if !f.holds {
		f.series.space.RLock()
		defer f.series.space.RUnlock()
	}
	_, err := f.handle.WriteAt(b, off)
	return err
}

// Reserve ensures that at least n bytes are in reserve, unless the end of the file is being written.
func (f *File) Reserve(n int64) error {
	if n <= f.reserved || f.ending {
		return nil
	}
	f.series.space.RLock()
	defer f.series.space.RUnlock()
	n = max(n+n/2, minReserve) - f.reserved
	reserve, err := f.series.disk.Reserve(f.path, n)
	if err != nil {
		return codec.Pathless(err)
	}
	f.reserve = append(f.reserve, reserve)
	f.reserved += n
	return nil
}

// End lets all later writes use the reserve if the disk is full. After a write used the reserve, writes to other files
// of the series wait until Settle, Complete or Abandon is called.
func (f *File) End() { f.ending = true }

// Settle frees the reserve and lets other files of the series write. It is called when nothing more is written.
func (f *File) Settle() {
	f.free()
	if f.holds {
		f.holds = false
		f.series.space.Unlock()
	}
}

// free frees the reserve.
func (f *File) free() {
	for _, reserve := range f.reserve {
		_ = reserve.Close()
	}
	f.reserve, f.ending = nil, true
}

// Sync puts all earlier writes on the disk. It does nothing when the file is closed. After an error it always returns
// that error, and Complete does not rename the file.
func (f *File) Sync() error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	if f.closed || f.syncErr != nil || !f.dirty.Swap(false) {
		return f.syncErr
	}
	f.syncErr = codec.Pathless(f.handle.Sync())
	if f.syncErr == nil && !f.placed {
		f.syncErr = codec.Pathless(f.series.disk.SyncFolder(filepath.Dir(f.path)))
		f.placed = true
	}
	return f.syncErr
}

// Complete closes the file and renames it to Path. With durable the file is on the disk when Complete returns. The file
// is also closed after an error.
func (f *File) Complete(durable bool) error {
	f.Settle()
	var err error
	if durable {
		err = f.Sync()
	}
	if closeErr := f.Abandon(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = codec.Pathless(f.series.disk.Rename(f.path+codec.ActiveSuffix, f.path))
	}
	if err == nil && durable {
		err = codec.Pathless(f.series.disk.SyncFolder(filepath.Dir(f.path)))
	}
	return err
}

// Abandon closes the file without renaming it.
func (f *File) Abandon() error {
	f.Settle()
	f.syncing.Lock()
	defer f.syncing.Unlock()
	f.closed = true
	return codec.Pathless(f.handle.Close())
}

// Discard closes and removes the file.
func (f *File) Discard() {
	_ = f.Abandon()
	_ = f.series.disk.Remove(f.path + codec.ActiveSuffix)
}

// Replace replaces the content of the file at path. After a crash the file has the old or the new content, and the new
// content once Replace has returned.
func Replace(d codec.Disk, path string, content []byte) error {
	temporary := path + ".tmp"
	err := WriteFile(d, temporary, content, true)
	if err == nil {
		err = d.Rename(temporary, path)
	}
	if err != nil {
		_ = d.Remove(temporary)
		return codec.Pathless(err)
	}
	return codec.Pathless(d.SyncFolder(filepath.Dir(path)))
}

// WriteFile creates or overwrites a small file. With durable it is on the disk when WriteFile returns.
func WriteFile(d codec.Disk, path string, content []byte, durable bool) error {
	file, err := d.Create(path, true)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(content, 0)
	if err == nil && durable {
		err = file.Sync()
	}
	return cmp.Or(err, file.Close())
}
