package diskguard

// Splits lists the files of a recording and deletes the oldest when there are too many. The goroutine of the guard owns
// it.
type Splits struct {
	most     int                          // that there may be; 0: any number
	remove   func(path string) error      // deletes a complete file
	trimmed  func(path string, err error) // is called for each file that was one too many
	count    int                          // that were begun and not deleted
	complete []string                     // the oldest first
}

// NewSplits returns the splits of a recording that has one file. It keeps up to most files, 0 is any number; remove
// deletes a complete file, and trimmed is called for each one that was to be deleted because there were too many.
func NewSplits(most int, remove func(path string) error, trimmed func(path string, err error)) *Splits {
	return &Splits{most: most, remove: remove, trimmed: trimmed, count: 1}
}

// Begun notes that another file was begun.
func (f *Splits) Begun() {
	f.count++
	f.trim()
}

// Completed notes that a file is complete and may be deleted.
func (f *Splits) Completed(path string) {
	f.complete = append(f.complete, path)
	f.trim()
}

// RemoveOldest deletes the oldest complete file and returns its path. It returns "" when there is none, and whether one
// will be complete soon.
func (f *Splits) RemoveOldest() (path string, soon bool, err error) {
	if len(f.complete) == 0 {
		return "", f.count > 1, nil
	}
	path, f.complete = f.complete[0], f.complete[1:]
	f.count--
	return path, true, f.remove(path)
}

// trim deletes the oldest complete files while there are too many.
func (f *Splits) trim() {
	for f.most > 0 && f.count > f.most && len(f.complete) > 0 {
		path, _, err := f.RemoveOldest()
		f.trimmed(path, err)
	}
}
