package upload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/series"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
)

// spoolSuffix is what the name of a spool has behind that of its recording.
const spoolSuffix = ".upload.json"

// spool is the state of the upload of one recording. It is kept in a file of JSON beside the recording, which is
// replaced as a whole and, until all is sent, locked by the process that uploads, which writes it before it sends
// anything.
type spool struct {
	URL      string  `json:"url"`
	Name     string  `json:"name"`      // of the recording's folder below the URL
	Path     string  `json:"recording"` // beside the spool: a folder, or the name of its files without numbers
	Snapshot bool    `json:"snapshot,omitempty"`
	Ended    bool    `json:"ended"` // nothing is added
	Done     bool    `json:"done"`  // the manifest is in the store
	Files    []*file `json:"files"`
	// Info describes the files that were deleted before the manifest was made.
	Info *codec.Info `json:"info,omitempty"`

	disk     codec.Disk
	folder   string // of the recording
	manifest file   // of which only attempts are noted
	unsaved  bool   // it differs from the file
	begun    bool   // the store was asked for a recording of the same name

	links []string // that found has found, which are not sent

	lock    io.Closer
	locked  string // the path of what lock locks: the spool, or the first file if the spool cannot be written
	failing bool   // it could not be written
}

// file is a file of a recording.
type file struct {
	Name  string    `json:"name"`            // below the folder of the spool
	Split bool      `json:"split,omitempty"` // it is a recording by itself
	Added time.Time `json:"added"`
	Size  int64     `json:"size"`

	s3.TransferState
	s3.Proof           // that it is in the store
	Modified time.Time `json:"modified,omitzero"` // then

	Deleted   bool `json:"deleted,omitempty"`   // after that
	Described bool `json:"described,omitempty"` // in Info
	Lost      bool `json:"lost,omitempty"`      // it was deleted before that

	failures int
	retry    time.Time // when the next attempt is due
	refused  error     // why attempts will probably fail again; nil: they may succeed
	stuck    bool      // it cannot be deleted
}

// waits reports whether the file is to be sent.
func (f *file) waits() bool { return f.CRC32C == "" && !f.Deleted && !f.Lost }

// is reports whether the file is as it was when it was sent.
func (f *file) is(now fs.FileInfo) bool {
	return now.Size() == f.Size && now.ModTime().Equal(f.Modified)
}

// newSpool returns the spool of a recording that has none.
func newSpool(d codec.Disk, url, folder, path string) *spool {
	name := path
	switch extension := filepath.Ext(path); extension {
	case ".record", ".mcap", ".log":
		name = strings.TrimSuffix(path, extension)
	}
	return &spool{disk: d, URL: url, Path: path, Name: name, folder: folder, unsaved: true,
		Snapshot: strings.HasPrefix(filepath.Base(path), "snapshot_")}
}

// waiting returns the files that are to be sent, or the manifest if all are.
func (s *spool) waiting() (list []*file) {
	for _, f := range s.Files {
		if f.waits() {
			list = append(list, f)
		}
	}
	if len(list) == 0 && s.Ended {
		list = append(list, &s.manifest)
	}
	return list
}

// deletable reports whether nothing is known that hinders the deletion of the files.
func (s *spool) deletable() bool {
	return !slices.ContainsFunc(s.Files, func(f *file) bool { return f.stuck })
}

// began returns when the first file was complete.
func (s *spool) began() time.Time {
	if len(s.Files) == 0 {
		return time.Time{}
	}
	return s.Files[0].Added
}

func (s *spool) file() string { return filepath.Join(s.folder, s.Path+spoolSuffix) }

// local returns the path of a file.
func (s *spool) local(f *file) string { return filepath.Join(s.folder, filepath.FromSlash(f.Name)) }

// key returns the key of a file below the URL.
func (s *spool) key(f *file) string { return s.Name + "/" + strings.TrimPrefix(f.Name, s.Path+"/") }

// add adds a file unless it is known.
func (s *spool) add(name string, size int64, split bool) {
	if !slices.ContainsFunc(s.Files, func(f *file) bool { return f.Name == name }) {
		s.Files = append(s.Files, &file{Name: name, Size: size, Split: split, Added: time.Now()})
		s.unsaved = true
	}
}

// openSpool reads and locks a spool.
func openSpool(d codec.Disk, path string) (*spool, error) {
	in, err := d.Lock(path, false)
	if err != nil {
		return nil, fmt.Errorf("open the spool %s: %w", path, codec.Pathless(err))
	}
	s, err := readSpool(d, in, path)
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("open the spool %s: %w", path, err)
	}
	s.lock, s.locked = in, path
	return s, nil
}

// readSpool reads a spool, which is replaced as a whole.
func readSpool(d codec.Disk, in io.Reader, path string) (*spool, error) {
	s := &spool{disk: d, folder: filepath.Dir(path)}
	if err := json.NewDecoder(io.LimitReader(in, 1<<28)).Decode(s); err != nil {
		return nil, fmt.Errorf("it is damaged: %w; without it 'recorder upload' sends what is still there", err)
	}
	if s.Path+spoolSuffix != filepath.Base(path) || !isName(s.Path) || !isName(s.Name) {
		return nil, errors.New("it is of another recording")
	}
	if slices.ContainsFunc(s.Files, func(f *file) bool { return f == nil || !filepath.IsLocal(f.Name) }) {
		return nil, errors.New("it names files elsewhere")
	}
	s.URL = store.Clean(s.URL)
	return s, nil
}

// isName reports whether a path leads into a folder: neither out of it nor to itself.
func isName(path string) bool { return filepath.IsLocal(path) && filepath.Clean(path) != "." }

// write replaces the file of the spool, and may keep its lock. It returns codec.ErrLocked if the spool is another
// process's: of several that write it for the first time, the one that holds the lock of the temporary file wins.
func (s *spool) write(text []byte, keep bool) error {
	temporary := s.file() + ".tmp"
	out, err := s.disk.Create(temporary, true)
	if err != nil {
		return codec.Pathless(err)
	}
	if s.locked != s.file() {
		before, lockErr := s.disk.Lock(s.file(), false)
		switch {
		case lockErr == nil:
			defer before.Close()
		case errors.Is(lockErr, codec.ErrLocked):
			err = lockErr
		}
	}
	if err == nil {
		_, err = out.WriteAt(text, 0)
	}
	if err == nil {
		err = out.Sync()
	}
	if err == nil {
		err = s.disk.Rename(temporary, s.file())
	}
	if err != nil {
		_ = s.disk.Remove(temporary)
		out.Close()
		return codec.Pathless(err)
	}
	s.disk.SyncFolder(s.folder)
	s.release()
	s.lock, s.locked = out, s.file()
	if !keep {
		s.release()
	}
	return nil
}

func (s *spool) release() {
	if s.lock != nil {
		s.lock.Close()
		s.lock, s.locked = nil, ""
	}
}

// foundFile is a file of a recording that is there.
type foundFile struct {
	name string // below the folder of the spool
	fs.FileInfo
}

// found returns the files of the recording that are there, the list of a bag at the end. The error is errActive while
// one of them is written; locked is one that this process has locked.
func (s *spool) found(locked string) (found []foundFile, err error) {
	root := filepath.Join(s.folder, s.Path)
	s.links = nil
	if stat, statErr := s.disk.Stat(root); statErr == nil && stat.IsDir() {
		err = store.On(s.disk).WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				s.links = append(s.links, path)
			}
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".tmp") {
				return err
			}
			name, err := filepath.Rel(s.folder, path)
			if info, statErr := d.Info(); statErr == nil {
				found = append(found, foundFile{filepath.ToSlash(name), info})
			}
			return err
		})
	} else {
		var names map[string]fs.FileInfo
		names, err = regularFiles(s.disk, s.folder)
		for name, info := range names {
			if seriesOf(name, names) == s.Path {
				found = append(found, foundFile{name, info})
			}
		}
	}
	last := func(f foundFile) int {
		if filepath.Base(f.name) == listName {
			return 1
		}
		return 0
	}
	for _, f := range found {
		path := filepath.Join(s.folder, filepath.FromSlash(f.name))
		if path != locked && codec.BeingWritten(s.disk, path) {
			return nil, fmt.Errorf("upload %s: %w", filepath.Join(s.folder, s.Path), errActive)
		}
	}
	slices.SortFunc(found, func(a, b foundFile) int {
		return cmp.Or(last(a)-last(b), strings.Compare(a.name, b.name))
	})
	return found, err
}

// listName is the name of the list of files of a bag.
const listName = "metadata.yaml"

// regularFiles returns the files in a folder.
func regularFiles(d codec.Disk, folder string) (map[string]fs.FileInfo, error) {
	entries, err := d.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("find recordings: %w", err)
	}
	files := map[string]fs.FileInfo{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files[e.Name()] = info
		}
	}
	return files, nil
}

// seriesOf returns what the names of the files of a recording have in common, without their numbers. Of names without
// times that have a number, there must be the first file, or its spool: a recording's own name may end with a number.
func seriesOf(name string, others map[string]fs.FileInfo) string {
	name = strings.TrimSuffix(name, codec.ActiveSuffix)
	n, ok := series.Parse(name)
	if !ok || n.Time != "" || n.Record() {
		return n.Base
	}
	_, complete := others[n.Base]
	_, active := others[n.Base+codec.ActiveSuffix]
	_, uploaded := others[n.Base+spoolSuffix] // and perhaps deleted after that
	if complete || active || uploaded {
		return n.Base
	}
	return name
}
