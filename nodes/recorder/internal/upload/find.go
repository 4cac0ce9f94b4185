package upload

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/bridge"
	"tapedeck/codec"
	"tapedeck/codec/store"
)

const linkText = "upload: %s is a link, which is not followed"

// URLs returns the URLs of begun uploads of the recording at path, or of recordings in the folder at path and below.
func URLs(d codec.Disk, path string) (urls []string, err error) {
	add := func(path string) {
		in, err := d.Open(path)
		if err != nil {
			return
		}
		defer in.Close()
		if s, err := readSpool(d, in, path); err == nil {
			urls = append(urls, s.URL)
		}
	}
	add(filepath.Clean(path) + spoolSuffix)
	err = store.On(d).WalkDir(path, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, spoolSuffix) {
			add(path)
		}
		return err
	})
	slices.Sort(urls)
	return slices.Compact(urls), err
}

// Add adds the recording at path, or the recordings in the folder at path and below, and returns how many it added. It
// continues uploads that an earlier process began. An error tells which recordings are omitted. Add is called before
// Run.
func (q *Queue) Add(path string) (int, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = q.Disk.Stat(path)
	}
	if err != nil {
		return 0, fmt.Errorf("upload: %w", err)
	}
	q.settle(path)
	before := len(q.spools)
	switch folder, name := filepath.Split(path); {
	case q.isRecording(path):
		err = q.addOne(folder, name, "")
	case q.isFolder(path):
		err = q.addAll(path, "")
	default:
		var names map[string]fs.FileInfo
		names, err = regularFiles(q.Disk, folder)
		if err == nil {
			err = q.addOne(folder, seriesOf(name, names), "")
		}
	}
	if err == nil && len(q.spools) == before {
		err = fmt.Errorf("there is no recording in %s", path)
	}
	return len(q.spools) - before, err
}

// Scan finds the files of the recordings that were added, and returns their size in bytes. It is called before Run.
func (q *Queue) Scan() (bytes int64) {
	for _, s := range q.spools {
		_ = q.scan(s) // the first attempt reports errors
		for _, f := range s.Files {
			if !f.Deleted && !f.Lost {
				bytes += f.Size
			}
		}
	}
	return bytes
}

// addAll adds the recordings in a folder and below. In the store, the folder has the path below.
func (q *Queue) addAll(folder, below string) error {
	names, err := regularFiles(q.Disk, folder)
	if err != nil {
		return err
	}
	entries, err := q.Disk.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("find recordings: %w", err)
	}
	found := map[string]bool{}
	for name := range names {
		if recording, ok := strings.CutSuffix(name, spoolSuffix); ok {
			found[recording] = true // its files may be deleted
		}
	}
	for name := range names {
		series := seriesOf(name, names)
		if !found[series] && !strings.HasSuffix(name, spoolSuffix) {
			if r, err := q.open(filepath.Join(folder, name)); err == nil {
				r.Close()
				found[series] = true
			}
		}
	}
	var failed []error
	for _, e := range entries {
		switch path := filepath.Join(folder, e.Name()); {
		case e.Type()&fs.ModeSymlink != 0:
			q.Log(bridge.Warn, linkText, path)
		case !e.IsDir() || found[e.Name()]:
		case q.isRecording(path):
			found[e.Name()] = true
		default:
			failed = append(failed, q.addAll(path, below+e.Name()+"/"))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		failed = append(failed, q.addOne(folder, path, below))
	}
	return errors.Join(failed...)
}

func (q *Queue) isFolder(path string) bool {
	stat, err := q.Disk.Stat(path)
	return err == nil && stat.IsDir()
}

// isRecording reports whether a folder is one recording. The files of a bag are named after its folder; a bag that was
// not finished has no list of files.
func (q *Queue) isRecording(path string) bool {
	if _, err := q.Disk.Stat(filepath.Join(path, listName)); err == nil || !q.isFolder(path) {
		return err == nil
	}
	info, err := q.read(path)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(q.Formats, func(f codec.Format) bool { return f.Name == info.Format && f.Episodic }) {
		return true
	}
	return !slices.ContainsFunc(info.Files, func(f codec.FileInfo) bool {
		return !strings.HasPrefix(filepath.Base(f.Path), filepath.Base(path)+"_")
	})
}

// addOne adds a recording, with its present spool or a new one.
func (q *Queue) addOne(folder, path, below string) (err error) {
	s := newSpool(q.Disk, q.URL, filepath.Clean(folder), path)
	s.Name = below + s.Name
	if _, err := q.Disk.Lstat(s.file()); err == nil {
		s, err = openSpool(q.Disk, s.file())
		if err != nil {
			return err
		}
	}
	if s.URL != q.URL {
		if slices.ContainsFunc(s.Files, func(f *file) bool { return f.Deleted }) {
			s.release()
			return fmt.Errorf("files of %s were deleted after they were uploaded to %s; upload the rest there, too",
				filepath.Join(folder, path), s.URL)
		}
		s.URL, s.Done, s.Files = q.URL, false, nil
	}
	if _, err := s.findFiles(s.locked); errors.Is(err, errActive) {
		s.release()
		return err
	}
	s.Ended = true
	for _, other := range q.spools {
		if other.Name == s.Name {
			s.release()
			return fmt.Errorf("%s and %s would both become %s in the store; upload them to different folders",
				filepath.Join(other.folder, other.Path), filepath.Join(folder, path), s.Name)
		}
	}
	if s.lock == nil {
		if err := q.save(s); errors.Is(err, codec.ErrLocked) {
			return fmt.Errorf("upload %s: %w", filepath.Join(folder, path), err)
		}
	}
	q.spools = append(q.spools, s)
	return nil
}
