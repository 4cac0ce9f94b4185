package upload

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec"
)

// URLs returns where the recordings at path, or in folders below it, were begun to be uploaded.
func URLs(path string) (urls []string, err error) {
	add := func(path string) {
		if s, err := openSpool(path); err == nil {
			urls = append(urls, s.URL)
			s.release()
		}
	}
	add(filepath.Clean(path) + spoolSuffix)
	err = filepath.WalkDir(path, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, spoolSuffix) {
			add(path)
		}
		return err
	})
	slices.Sort(urls)
	return slices.Compact(urls), err
}

// Add adds the recording at path, or those in a folder and the folders below it, and returns how many. It goes on with
// what an earlier process began. It is called before Run.
func (q *Queue) Add(path string) (int, error) {
	path = filepath.Clean(path)
	stat, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("upload: %w", err)
	}
	before := len(q.spools)
	switch folder := filepath.Dir(path); {
	case !stat.IsDir():
		var names map[string]int64
		if names, err = regularFiles(folder); err == nil {
			err = q.addOne(folder, seriesOf(filepath.Base(path), names), "")
		}
	case q.isRecording(path):
		err = q.addOne(folder, filepath.Base(path), "")
	default:
		err = q.addAll(path, "")
	}
	if err == nil && len(q.spools) == before {
		err = fmt.Errorf("there is no recording in %s", path)
	}
	return len(q.spools) - before, err
}

// Scan looks for the files of what was added, and returns how many bytes they have. It is called before Run.
func (q *Queue) Scan() (bytes int64) {
	q.prepare()
	for _, s := range q.spools {
		for _, f := range s.Files {
			if !f.Deleted && !f.Lost {
				bytes += f.Size
			}
		}
	}
	return bytes
}

// addAll adds the recordings in a folder, which is at below in the store.
func (q *Queue) addAll(folder, below string) error {
	names, err := regularFiles(folder)
	if err != nil {
		return err
	}
	series := map[string]bool{}
	for name := range names {
		if recording, ok := strings.CutSuffix(name, spoolSuffix); ok {
			series[recording] = true // perhaps nothing is left of it
		}
	}
	for name := range names {
		path := seriesOf(name, names)
		if !series[path] && !strings.HasSuffix(name, spoolSuffix) && q.readable(filepath.Join(folder, name)) {
			series[path] = true
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("find recordings: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		switch {
		case !e.IsDir() || series[e.Name()]:
		case q.isRecording(path):
			series[e.Name()] = true
		default:
			if err := q.addAll(path, below+e.Name()+"/"); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(series)) {
		if err := q.addOne(folder, path, below); err != nil {
			return err
		}
	}
	return nil
}

// readable reports whether the file at path is a recording.
func (q *Queue) readable(path string) bool {
	r, err := q.Open(path)
	if err != nil {
		return false
	}
	r.Close()
	return true
}

// isRecording reports whether a folder is one recording. The files of a bag are named after it; one that was not
// finished has no list of them.
func (q *Queue) isRecording(path string) bool {
	if _, err := os.Stat(filepath.Join(path, listName)); err == nil {
		return true
	}
	info, err := q.info(path)
	if err != nil || q.Episodes(info.Format) {
		return err == nil
	}
	return !slices.ContainsFunc(info.Files, func(f codec.FileInfo) bool {
		return !strings.HasPrefix(filepath.Base(f.Path), filepath.Base(path)+"_")
	})
}

// addOne adds a recording, which has a spool or gets one.
func (q *Queue) addOne(folder, path, below string) error {
	name := filepath.Join(folder, path+spoolSuffix)
	s := &spool{URL: q.URL, Path: path, Name: below + objectName(path), folder: folder, unsaved: true,
		Snapshot: strings.Contains(path, "_snapshot_")}
	if _, err := os.Lstat(name); err == nil {
		if s, err = openSpool(name); err != nil {
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
	s.Ended, s.unscanned = true, true
	for _, other := range q.spools {
		if other.Name == s.Name {
			s.release()
			return fmt.Errorf("%s and %s would both become %s in the store; upload them to different folders",
				filepath.Join(other.folder, other.Path), filepath.Join(folder, path), s.Name)
		}
	}
	q.spools = append(q.spools, s)
	return nil
}
