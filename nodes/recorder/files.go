package main

import "sync"

// files are those that a recording consists of. It is told of each, and deletes the oldest when there are too many.
type files struct {
	most    int                     // that there may be; 0: any number
	remove  func(path string) error // deletes a complete file
	changed chan struct{}           // has a value after a file was completed

	mu       sync.Mutex
	count    int      // that were begun and not deleted
	complete []string // the oldest first
	several  bool     // another one was begun
}

func newFiles(most int, remove func(path string) error) *files {
	return &files{most: most, remove: remove, changed: make(chan struct{}, 1), count: 1}
}

// begun says that there is another file.
func (f *files) begun() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.several = true
}

// split says whether there were several files.
func (f *files) split() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.several
}

// completed says that a file may be deleted.
func (f *files) completed(path string) {
	f.mu.Lock()
	f.complete = append(f.complete, path)
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// removeOldest implements remover.
func (f *files) removeOldest() (path string, soon bool, err error) {
	f.mu.Lock()
	if len(f.complete) == 0 {
		defer f.mu.Unlock()
		return "", f.count > 1, nil
	}
	path, f.complete = f.complete[0], f.complete[1:]
	f.count--
	f.mu.Unlock()
	return path, true, f.remove(path)
}

// tooMany says whether a file is to be deleted, and whether one can be.
func (f *files) tooMany() (many, ready bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most > 0 && f.count > f.most, len(f.complete) > 0
}

// trim deletes what is too much, as far as it is complete.
func (f *files) trim(deleted func(path string, err error)) {
	for {
		if many, ready := f.tooMany(); !many || !ready {
			return
		}
		path, _, err := f.removeOldest()
		deleted(path, err)
	}
}

// settle waits until what is too much is complete, and deletes it. No file is begun any more.
func (f *files) settle(deleted func(path string, err error)) {
	for {
		f.trim(deleted)
		f.mu.Lock()
		waiting := f.most > 0 && f.count > f.most && f.count > 1
		f.mu.Unlock()
		if !waiting {
			return
		}
		<-f.changed
	}
}
