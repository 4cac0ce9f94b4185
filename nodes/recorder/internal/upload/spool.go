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

// spoolSuffix follows the name of a recording in the name of its spool.
const spoolSuffix = ".upload.json"

// spool is the state of the upload of one recording. It is kept in a JSON file beside the recording. The process that
// uploads writes the file before it sends anything, replaces it as a whole, and locks it until everything is sent.
type spool struct {
	URL      string  `json:"url"`
	Name     string  `json:"name"`      // path of the recording's folder below the URL
	Path     string  `json:"recording"` // beside the spool: a folder, or the name of its files without numbers
	Snapshot bool    `json:"snapshot,omitempty"`
	Ended    bool    `json:"ended"` // the recording is complete
	Done     bool    `json:"done"`  // the manifest is in the store
	Files    []*file `json:"files"`
	// Info describes the files that were deleted before the manifest was made.
	Info *codec.Info `json:"info,omitempty"`

	disk     codec.Disk
	folder   string // folder of the recording
	manifest file   // only its attempts are noted
	unsaved  bool   // the spool differs from its file
	begun    bool   // the store was asked for a recording with the same name

	links []string // paths of links that findFiles found, which are not sent

	lock    io.Closer
	locked  string // path of the locked file: the spool, or the first file if the spool cannot be written
	failing bool   // the file of the spool could not be written
}

// file is a file of a recording.
type file struct {
	Name  string    `json:"name"`            // path below the folder of the spool
	Split bool      `json:"split,omitempty"` // the file is a recording by itself
	Added time.Time `json:"added"`
	Size  int64     `json:"size"` // bytes

	s3.TransferState
	s3.Proof           // proof that the file is in the store
	Modified time.Time `json:"modified,omitzero"` // modification time of the file when it was proven

	Deleted   bool `json:"deleted,omitempty"`   // the file was deleted after the proof
	Described bool `json:"described,omitempty"` // spool.Info describes the file
	Lost      bool `json:"lost,omitempty"`      // the file was deleted before it was uploaded

	failures int       // number of attempts that were refused
	retry    time.Time // when the next attempt is due
	refused  error     // why attempts will probably fail again; nil: they may succeed
	stuck    bool      // the file cannot be deleted
}

// waits reports whether the file must still be sent.
func (f *file) waits() bool { return f.CRC32C == "" && !f.Deleted && !f.Lost }

// isUnchanged reports whether the file has the size and time that it had when it was sent.
func (f *file) isUnchanged(now fs.FileInfo) bool {
	return now.Size() == f.Size && now.ModTime().Equal(f.Modified)
}

// newSpool returns a new spool of a recording.
func newSpool(d codec.Disk, url, folder, path string) *spool {
	name := path
	switch extension := filepath.Ext(path); extension {
	case ".record", ".mcap", ".log":
		name = strings.TrimSuffix(path, extension)
	}
	return &spool{disk: d, URL: url, Path: path, Name: name, folder: folder, unsaved: true,
		Snapshot: strings.HasPrefix(filepath.Base(path), "snapshot_")}
}

// waitingFiles returns the files that must still be sent, or the manifest of a complete recording if there are none.
func (s *spool) waitingFiles() (list []*file) {
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

// deletable reports whether no file is stuck.
func (s *spool) deletable() bool {
	return !slices.ContainsFunc(s.Files, func(f *file) bool { return f.stuck })
}

// began returns the time at which the first file was added.
func (s *spool) began() time.Time {
	if len(s.Files) == 0 {
		return time.Time{}
	}
	return s.Files[0].Added
}

// file returns the path of the spool's file.
func (s *spool) file() string { return filepath.Join(s.folder, s.Path+spoolSuffix) }

// local returns the path of a file.
func (s *spool) local(f *file) string { return filepath.Join(s.folder, filepath.FromSlash(f.Name)) }

// key returns the key of a file in the store, below the URL.
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

// readSpool reads a spool from in, the file at path.
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

// isName reports whether a relative path leads below its folder.
func isName(path string) bool { return filepath.IsLocal(path) && filepath.Clean(path) != "." }

// write replaces the file of the spool, and keeps it locked if keep. It returns codec.ErrLocked if another process has
// locked the file. If several processes write it for the first time, one of them locks the temporary file and wins.
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
	if err == nil {
		err = s.disk.SyncFolder(s.folder)
	}
	if err != nil {
		_ = s.disk.Remove(temporary)
		out.Close()
		return codec.Pathless(err)
	}
	s.release()
	s.lock, s.locked = out, s.file()
	if !keep {
		s.release()
	}
	return nil
}

// release gives up the lock.
func (s *spool) release() {
	if s.lock != nil {
		s.lock.Close()
		s.lock, s.locked = nil, ""
	}
}

// foundFile is a file of a recording on the disk.
type foundFile struct {
	name string // path below the folder of the spool
	fs.FileInfo
}

// findFiles returns the files of the recording on the disk, with the list of a bag at the end. It returns errActive
// while a file is being written. locked is the path of a file that this process has locked.
func (s *spool) findFiles(locked string) (found []foundFile, err error) {
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

// seriesOf returns the name of the recording that a file belongs to, without number and time. The number in a name
// without a time is taken for the number of a split only if others has the first file of the recording, or its spool:
// the name of a recording may end with a number.
func seriesOf(name string, others map[string]fs.FileInfo) string {
	name = strings.TrimSuffix(name, codec.ActiveSuffix)
	n, ok := series.Parse(name)
	if !ok || n.Time != "" || n.Record() {
		return n.Base
	}
	_, complete := others[n.Base]
	_, active := others[n.Base+codec.ActiveSuffix]
	_, uploaded := others[n.Base+spoolSuffix] // the first file may be deleted
	if complete || active || uploaded {
		return n.Base
	}
	return name
}
