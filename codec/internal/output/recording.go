// Package output writes the files of recordings. A file gets its name only when it is complete, and keeps its complete
// part if the disk fails. A recording may consist of several files.
package output

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"tapedeck/codec"
)

// maxUnfinished is the number of closed files that may wait to be completed. Split waits if there are more.
const maxUnfinished = 3

// FileWriter writes one file of a recording.
type FileWriter interface {
	Declare(*codec.Channel) error
	Write(*codec.Message) error
	Sync() error
	// Complete writes the end of the file, and closes and renames the file. With durable the file is on the disk when
	// Complete returns. After a *codec.MissingError the file has everything that was written whole before, and Complete
	// returns the error if no other method has. Sync may be called at the same time.
	Complete(durable bool) error
	// Info describes the file: Path, Files, Size, MessageCount, times and Topics. Info.Complete is true once the file
	// was renamed.
	Info() *codec.Info
}

// Format describes the files of a recording.
type Format struct {
	// Open creates the file that is called path once it is complete. Unless before is nil, its channels are declared in
	// the new file. Another goroutine may use or complete before at the same time.
	Open func(path string, before FileWriter) (FileWriter, error)
	// Name returns the path of the n-th file; the first file has number 0.
	Name func(n int) string
	// Listed is called with the complete files when a file is completed or removed; nil: no calls. Recording returns
	// its error as an error of completing the last file. If the disk is full, the next call or Close lists the files
	// instead.
	Listed func(complete []*codec.Info) error
}

// Recording implements codec.Writer. It keeps all that messages and channels have: Losses returns none.
type Recording struct {
	disk      codec.Disk
	format    Format
	completed func(codec.FileInfo, error)

	// The fields from path to err are changed with mu held, by methods that are not for concurrent use.
	path       string     // of the file that is written, or was written last
	number     int        // number of the file at path
	writer     FileWriter // writer of the file at path; nil: nothing is written because of err
	lastWriter FileWriter // writer, or the previous one if writer is nil
	err        error

	mu         sync.Mutex
	durable    bool  // Sync or Split was called
	syncErr    error // error of Sync that ended the present file
	unfinished []*unfinished
	failures   []error // errors of completing files, for Close
	closed     error   // the result of Close

	listing  sync.Mutex // guards list and unlisted, and is held during calls of Format.Listed
	list     []*codec.Info
	unlisted error // error of the last call of Format.Listed, if the disk was full
}

// unfinished is a file that is being completed.
type unfinished struct {
	writer FileWriter
	done   chan struct{} // closed when the file is complete or cannot be completed
}

// NewRecording begins a recording with the file at path. completed is codec.CreateOptions.Completed.
func NewRecording(s codec.Disk, f Format, path string, completed func(codec.FileInfo, error)) (*Recording, error) {
	writer, err := f.Open(path, nil)
	if err != nil {
		return nil, err
	}
	return &Recording{disk: s, format: f, completed: completed, path: path, writer: writer, lastWriter: writer}, nil
}

// Declare implements codec.Writer.
func (r *Recording) Declare(c *codec.Channel) error {
	if r.writer == nil {
		return r.err
	}
	return r.Check(r.writer.Declare(c))
}

// Write implements codec.Writer.
func (r *Recording) Write(m *codec.Message) error {
	if r.writer == nil {
		return r.err
	}
	if err := r.writer.Write(m); err != nil {
		return r.Check(err)
	}
	return nil
}

// Check returns err, an error of the present file. If no more can be written to the file, it completes the file.
func (r *Recording) Check(err error) error {
	var missing *codec.MissingError
	if errors.As(err, &missing) {
		r.change(nil, r.path, err)
	}
	return err
}

// Sync implements codec.Writer.
func (r *Recording) Sync() error {
	r.mu.Lock()
	r.durable = true
	writer, err := r.writer, r.err
	r.mu.Unlock()
	if writer != nil {
		err = writer.Sync()
		if err != nil {
			r.mu.Lock()
			if r.writer == writer {
				r.syncErr = err
			}
			r.mu.Unlock()
		}
	}
	// Earlier files are on the disk once they are completed; by now, this file may be one of them.
	r.wait(0)
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}

// Losses implements codec.Writer.
func (r *Recording) Losses() []codec.Loss { return nil }

// File implements codec.Writer.
func (r *Recording) File() string { return r.path }

// Split implements codec.Writer.
func (r *Recording) Split() error {
	if errors.Is(r.err, fs.ErrClosed) {
		return r.err
	}
	r.wait(maxUnfinished - 1)
	number := r.number + 1
	path := r.format.Name(number)
	for r.taken(path) || r.taken(path+codec.ActiveSuffix) {
		number++
		path = r.format.Name(number)
	}
	writer, err := r.format.Open(path, r.lastWriter)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.durable = true
	r.mu.Unlock()
	r.change(writer, path, nil)
	r.number, r.lastWriter = number, writer
	return nil
}

func (r *Recording) taken(path string) bool {
	return errors.Is(codec.Vacant(r.disk, path, false), fs.ErrExist)
}

// Remove implements codec.Writer.
func (r *Recording) Remove(path string) error {
	r.listing.Lock()
	defer r.listing.Unlock()
	path = filepath.Clean(path)
	i := slices.IndexFunc(r.list, func(info *codec.Info) bool { return filepath.Clean(info.Path) == path })
	if i < 0 {
		return fmt.Errorf("remove %s: not a completed file of this recording", path)
	}
	r.list = slices.Delete(r.list, i, i+1)
	// An unlisted file is better than a listed file that does not exist. But a full disk may
	// have no room for the list: then Format.Listed is called again once the file is deleted.
	if err := r.updateList(); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := r.disk.Remove(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, codec.Pathless(err))
	}
	_ = r.disk.SyncFolder(filepath.Dir(path)) // a file that comes back does no harm
	if r.unlisted != nil {
		return r.updateList()
	}
	return nil
}

// updateList calls Format.Listed with the complete files, or leaves this to a later call if the disk is full.
// r.listing is held.
func (r *Recording) updateList() error {
	if r.format.Listed == nil {
		return nil
	}
	r.unlisted = nil
	err := r.format.Listed(r.list)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		r.unlisted, err = err, nil
	}
	return err
}

// finishList calls Format.Listed once more, if it failed because the disk was full.
func (r *Recording) finishList() error {
	r.listing.Lock()
	defer r.listing.Unlock()
	if r.unlisted == nil {
		return nil
	}
	return cmp.Or(r.updateList(), r.unlisted)
}

// Close implements codec.Writer.
func (r *Recording) Close() error {
	if errors.Is(r.err, fs.ErrClosed) {
		return r.closed
	}
	err := cmp.Or(r.err, r.syncErr)
	r.change(nil, r.path, fmt.Errorf("write %s: %w", r.path, fs.ErrClosed))
	r.wait(0)
	if err != nil {
		r.failures = append([]error{err}, r.failures...)
	}
	if err := r.finishList(); err != nil {
		r.failures = append(r.failures, err)
	}
	r.closed = errors.Join(r.failures...)
	if len(r.failures) == 1 {
		r.closed = r.failures[0]
	}
	return r.closed
}

// change sets the writer for the file at path, or the reason why nothing is written. It starts to complete the previous
// writer's file.
func (r *Recording) change(writer FileWriter, path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.writer != nil {
		u := &unfinished{writer: r.writer, done: make(chan struct{})}
		var before *unfinished
		if n := len(r.unfinished); n > 0 {
			before = r.unfinished[n-1]
		}
		r.unfinished = append(r.unfinished, u)
		go r.complete(u, before)
	}
	r.writer, r.path, r.err, r.syncErr = writer, path, err, nil
}

// wait waits until at most n of the present unfinished files are not complete.
func (r *Recording) wait(n int) {
	r.mu.Lock()
	list := slices.Clone(r.unfinished)
	r.mu.Unlock()
	if len(list) > n {
		<-list[len(list)-1-n].done
	}
}

// complete completes a file. If before is not nil, it waits for before first.
func (r *Recording) complete(u, before *unfinished) {
	defer close(u.done)
	if before != nil {
		<-before.done
	}
	r.mu.Lock()
	durable := r.durable
	r.mu.Unlock()
	err := u.writer.Complete(durable)
	info := u.writer.Info()
	if info.Complete {
		r.listing.Lock()
		r.list = append(r.list, info)
		if listErr := r.updateList(); err == nil {
			err = listErr
		}
		r.listing.Unlock()
	}
	if r.completed != nil {
		r.completed(info.Files[0], err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unfinished = slices.DeleteFunc(r.unfinished, func(o *unfinished) bool { return o == u })
	if err != nil {
		r.failures = append(r.failures, err)
	}
}
