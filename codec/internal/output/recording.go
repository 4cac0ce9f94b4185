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

// maxUnfinished is how many closed files may wait to be completed. Split waits if there are more.
const maxUnfinished = 3

// Part writes one file of a recording.
type Part interface {
	Declare(*codec.Channel) error
	Write(*codec.Message) error
	Sync() error
	// Complete writes what is missing of the file, closes it and gives it its name. With durable it is on the disk
	// then. After a *codec.MissingError, which it returns if no other method has, it does so with what was whole
	// before. Sync may be called beside.
	Complete(durable bool) error
	// Info describes the file: Path, Files, Size, MessageCount, times and Topics. Complete reports that the file has
	// its name.
	Info() *codec.Info
}

// Format describes the files of a recording.
type Format struct {
	// Open creates the file that is called path once it is complete. The channels of before, unless that is nil, are
	// declared in it again; before may be in use or be completed meanwhile.
	Open func(path string, before Part) (Part, error)
	// Name returns the path of the n-th file behind the first one.
	Name func(n int) string
	// Listed, unless nil, is called with the complete files whenever there is one more or one less. Its error is one of
	// completing the last of them, unless the disk is full: then the next call lists them, or Close.
	Listed func(complete []*codec.Info) error
}

// Recording implements codec.Writer. It keeps what it is given: Losses returns none.
type Recording struct {
	disk      codec.Disk
	format    Format
	completed func(codec.FileInfo, error)

	// These are changed by the methods that are not for concurrent use, while mu is held.
	path   string // of the file that is written, or was at last
	number int    // of that file
	part   Part   // writes it; nil: nothing is written because of err
	last   Part   // part, or the last one
	err    error

	mu         sync.Mutex
	durable    bool  // Sync or Split was called
	syncErr    error // that ended the file which is written
	unfinished []*unfinished
	failures   []error // of completing, which Close returns
	closed     error   // what Close returned

	listing  sync.Mutex // guards list and unlisted, and is held during calls of Format.Listed
	list     []*codec.Info
	unlisted error // of the last call of Format.Listed, if the disk was full
}

// unfinished is a file that is being completed.
type unfinished struct {
	part Part
	done chan struct{} // closed at the end
}

// NewRecording begins a recording with the file at path. completed is codec.CreateOptions.Completed.
func NewRecording(s codec.Disk, f Format, path string, completed func(codec.FileInfo, error)) (*Recording, error) {
	part, err := f.Open(path, nil)
	if err != nil {
		return nil, err
	}
	return &Recording{disk: s, format: f, completed: completed, path: path, part: part, last: part}, nil
}

// Declare implements codec.Writer.
func (r *Recording) Declare(c *codec.Channel) error {
	if r.part == nil {
		return r.err
	}
	return r.Check(r.part.Declare(c))
}

// Write implements codec.Writer.
func (r *Recording) Write(m *codec.Message) error {
	if r.part == nil {
		return r.err
	}
	if err := r.part.Write(m); err != nil {
		return r.Check(err)
	}
	return nil
}

// Check returns an error of the file that is written, and completes the file if that is its end.
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
	part, err := r.part, r.err
	r.mu.Unlock()
	if part != nil {
		err = part.Sync()
		if err != nil {
			r.mu.Lock()
			if r.part == part {
				r.syncErr = err
			}
			r.mu.Unlock()
		}
	}
	// The files before this one, and by now maybe this one, are on the disk when they are completed.
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
	part, err := r.format.Open(path, r.last)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.durable = true
	r.mu.Unlock()
	r.change(part, path, nil)
	r.number, r.last = number, part
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
		return fmt.Errorf("remove %s: it is no completed file of this recording", path)
	}
	r.list = slices.Delete(r.list, i, i+1)
	// It is better to have a file that is not listed than to list one that is not there. But a full disk may
	// have no room for the list: then Format.Listed is called again once the file is deleted.
	if err := r.updateList(); err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	if err := r.disk.Remove(path); err != nil {
		return fmt.Errorf("remove %s: %w", path, codec.Pathless(err))
	}
	r.disk.SyncFolder(filepath.Dir(path))
	if r.unlisted != nil {
		return r.updateList()
	}
	return nil
}

// updateList calls Format.Listed with the complete files. If the disk is full, a later call does. r.listing is held.
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

// change sets what writes from now on, to path, or the reason why nothing does. The part before completes its file.
func (r *Recording) change(part Part, path string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.part != nil {
		u := &unfinished{part: r.part, done: make(chan struct{})}
		var before *unfinished
		if n := len(r.unfinished); n > 0 {
			before = r.unfinished[n-1]
		}
		r.unfinished = append(r.unfinished, u)
		go r.complete(u, before)
	}
	r.part, r.path, r.err, r.syncErr = part, path, err, nil
}

// wait waits until at most n of the files that are being completed now are not complete.
func (r *Recording) wait(n int) {
	r.mu.Lock()
	list := slices.Clone(r.unfinished)
	r.mu.Unlock()
	if len(list) > n {
		<-list[len(list)-1-n].done
	}
}

// complete completes a file, behind another one unless that is nil.
func (r *Recording) complete(u, before *unfinished) {
	defer close(u.done)
	if before != nil {
		<-before.done
	}
	r.mu.Lock()
	durable := r.durable
	r.mu.Unlock()
	err := u.part.Complete(durable)
	info := u.part.Info()
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
