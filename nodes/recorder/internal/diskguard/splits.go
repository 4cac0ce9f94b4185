package diskguard

import "sync"

// Splits lists the files of a recording and deletes the oldest when there are too many.
type Splits struct {
	most    int                     // that there may be; 0: any number
	remove  func(path string) error // deletes a complete file
	Changed chan struct{}           // has a value after a file was completed

	mu       sync.Mutex
	count    int      // that were begun and not deleted
	complete []string // the oldest first
	several  bool     // another one was begun
}

// NewSplits returns the splits of a recording that has one file. It keeps up to most files, 0 is any number; remove
// deletes a complete file.
func NewSplits(most int, remove func(path string) error) *Splits {
	return &Splits{most: most, remove: remove, Changed: make(chan struct{}, 1), count: 1}
}

// Begun notes that another file was begun.
func (f *Splits) Begun() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.several = true
}

// Several reports whether there were several files.
func (f *Splits) Several() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.several
}

// Completed notes that a file is complete and may be deleted.
func (f *Splits) Completed(path string) {
	f.mu.Lock()
	f.complete = append(f.complete, path)
	f.mu.Unlock()
	select {
	case f.Changed <- struct{}{}:
	default:
	}
}

// RemoveOldest deletes the oldest complete file and returns its path. It returns "" when there is none, and whether one
// will be complete soon.
func (f *Splits) RemoveOldest() (path string, soon bool, err error) {
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

// tooMany reports whether a file is to be deleted, and whether one can be.
func (f *Splits) tooMany() (many, ready bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most > 0 && f.count > f.most, len(f.complete) > 0
}

// Trim deletes the oldest complete files while there are too many.
func (f *Splits) Trim(deleted func(path string, err error)) {
	for {
		if many, ready := f.tooMany(); !many || !ready {
			return
		}
		path, _, err := f.RemoveOldest()
		deleted(path, err)
	}
}

// Settle deletes the oldest files while there are too many, and waits for those that are not complete yet. No file may
// be begun after it is called.
func (f *Splits) Settle(deleted func(path string, err error)) {
	for {
		f.Trim(deleted)
		f.mu.Lock()
		waiting := f.most > 0 && f.count > f.most && f.count > 1
		f.mu.Unlock()
		if !waiting {
			return
		}
		<-f.Changed
	}
}
