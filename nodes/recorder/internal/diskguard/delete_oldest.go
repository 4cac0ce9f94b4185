package diskguard

// Splits lists the files of a recording and deletes the oldest when there are too many. The goroutine of the guard owns
// it.
type Splits struct {
	most     int                          // maximum number of files; 0: no limit
	remove   func(path string) error      // deletes a complete file
	trimmed  func(path string, err error) // is called after remove for each file beyond most
	count    int                          // files that were begun and not deleted
	complete []string                     // paths of complete files, the oldest first
}

// NewSplits returns the list of a recording that has no file yet. It keeps up to most files; 0 is no limit. To delete a
// complete file it calls remove, and then trimmed with the error if the file was deleted because there were too many.
func NewSplits(most int, remove func(path string) error, trimmed func(path string, err error)) *Splits {
	return &Splits{most: most, remove: remove, trimmed: trimmed}
}

// Begun notes that a file was begun.
func (f *Splits) Begun() {
	f.count++
	f.trim()
}

// Completed notes that a file is complete and may be deleted.
func (f *Splits) Completed(path string) {
	f.complete = append(f.complete, path)
	f.trim()
}

// RemoveOldest deletes the oldest complete file and returns its path. If there is none, it returns "" and reports
// whether a file will be complete soon.
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
