package upload

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/codec"
	"tapedeck/codec/blob"
	"tapedeck/nodes/internal/describe"
)

// spoolSuffix is what the name of a spool has behind that of its recording.
const spoolSuffix = ".upload.json"

// errBusy is returned for spools that another process uploads.
var errBusy = errors.New("another process uploads it")

// spool is the state of the upload of one recording. It is kept in a file of JSON beside the recording, which is
// replaced as a whole and locked by the process that uploads.
type spool struct {
	URL      string  `json:"url"`
	Name     string  `json:"name"`      // of the recording's folder below the URL
	Path     string  `json:"recording"` // beside the spool: a folder, or the name of its files without numbers
	Snapshot bool    `json:"snapshot,omitempty"`
	Ended    bool    `json:"ended"` // nothing is added
	Done     bool    `json:"done"`  // the manifest is in the store
	Files    []*file `json:"files"`
	// Info describes the files that were deleted before the manifest was made.
	Info *describe.Recording `json:"info,omitempty"`

	folder    string // of the recording
	lock      *os.File
	unsaved   bool // it differs from the file
	saved     time.Time
	unscanned bool // the files that are there are not all known
}

// file is a file of a recording.
type file struct {
	Name  string    `json:"name"`            // below the folder of the spool
	Split bool      `json:"split,omitempty"` // it is a recording by itself
	Added time.Time `json:"added"`
	Size  int64     `json:"size"`

	blob.TransferState
	// The file that was proven to be in the store.
	CRC32C   string    `json:"crc32c,omitempty"` // "": none yet
	Modified time.Time `json:"modified,omitzero"`

	Deleted bool `json:"deleted,omitempty"` // after that
	Lost    bool `json:"lost,omitempty"`    // it was deleted before that

	failures int
	retry    time.Time // when the next attempt is due
	refused  error     // why attempts will probably fail again; nil: they may succeed
	stuck    bool      // it cannot be deleted
}

// waits reports whether the file is to be sent.
func (f *file) waits() bool { return f.CRC32C == "" && !f.Deleted && !f.Lost }

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
func openSpool(path string) (*spool, error) {
	for {
		in, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return nil, fmt.Errorf("open the spool %s: %w", path, codec.Pathless(err))
		}
		s, err := readSpool(in, path)
		if err != nil {
			in.Close()
			return nil, fmt.Errorf("open the spool %s: %w", path, err)
		}
		if s != nil {
			return s, nil
		}
		in.Close() // it was replaced before it was locked
	}
}

func readSpool(in *os.File, path string) (*spool, error) {
	if err := lock(in); err != nil {
		return nil, err
	}
	opened, err := in.Stat()
	if err != nil {
		return nil, err
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(opened, now) {
		return nil, err
	}
	s := &spool{folder: filepath.Dir(path), lock: in}
	err = json.NewDecoder(io.LimitReader(in, 1<<28)).Decode(s)
	if err == nil && (s.Path+spoolSuffix != filepath.Base(path) || s.Name == "") {
		err = errors.New("it is of another recording")
	}
	for _, f := range s.Files {
		if err == nil && (f == nil || !filepath.IsLocal(f.Name)) {
			err = errors.New("it names files elsewhere")
		}
	}
	return s, err
}

// lock locks a file, unless its disk has no locks.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return errBusy
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		return nil
	}
	return err
}

// write replaces the file of the spool, and keeps the lock.
func (s *spool) write(text []byte) (err error) {
	temporary := s.file() + ".tmp"
	out, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return codec.Pathless(err)
	}
	defer func() {
		if err != nil {
			out.Close()
			_ = os.Remove(temporary)
		}
	}()
	if err := lock(out); err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return codec.Pathless(err)
	}
	if err := out.Sync(); err != nil {
		return codec.Pathless(err)
	}
	if err := os.Rename(temporary, s.file()); err != nil {
		return codec.Pathless(err)
	}
	codec.SyncFolder(s.folder)
	s.release()
	s.lock = out
	return nil
}

func (s *spool) release() {
	if s.lock != nil {
		s.lock.Close()
		s.lock = nil
	}
}

// scan adds the files of the recording that are not known, the list of a bag at the end.
func (s *spool) scan() error {
	var found []string
	sizes := map[string]int64{}
	root := filepath.Join(s.folder, s.Path)
	if stat, err := os.Stat(root); err == nil && stat.IsDir() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || strings.HasSuffix(path, ".tmp") {
				return err
			}
			name, err := filepath.Rel(s.folder, path)
			if err != nil {
				return err
			}
			if info, err := d.Info(); err == nil {
				sizes[name] = info.Size()
				found = append(found, name)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("find the files of %s: %w", root, codec.Pathless(err))
		}
	} else {
		names, err := regularFiles(s.folder)
		if err != nil {
			return err
		}
		for name, size := range names {
			if seriesOf(name, names) == s.Path {
				sizes[name] = size
				found = append(found, name)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int {
		if last := filepath.Base(a) == listName; last != (filepath.Base(b) == listName) {
			if last {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	for _, name := range found {
		s.add(filepath.ToSlash(name), sizes[name], false)
	}
	return nil
}

// listName is the name of the list of files of a bag.
const listName = "metadata.yaml"

// regularFiles returns the sizes of the files in a folder.
func regularFiles(folder string) (map[string]int64, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("find recordings: %w", err)
	}
	files := map[string]int64{}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files[e.Name()] = info.Size()
		}
	}
	return files, nil
}

var (
	recordFile   = regexp.MustCompile(`^(.+\.record)\.\d{5}(\.\d{14})?$`)
	datedFile    = regexp.MustCompile(`^\d+_(.+)_\d{4}_\d\d_\d\d-\d\d_\d\d_\d\d(\.\w+)$`)
	numberedFile = regexp.MustCompile(`^(.+)_\d+(\.mcap|\.log)$`)
)

// seriesOf returns what the names of the files of a recording have in common, without their numbers.
func seriesOf(name string, others map[string]int64) string {
	name = strings.TrimSuffix(name, codec.ActiveSuffix)
	if m := recordFile.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	if m := datedFile.FindStringSubmatch(name); m != nil {
		return m[1] + m[2]
	}
	if m := numberedFile.FindStringSubmatch(name); m != nil {
		first := m[1] + m[2]
		_, complete := others[first]
		_, active := others[first+codec.ActiveSuffix]
		if complete || active {
			return first
		}
	}
	return name
}
