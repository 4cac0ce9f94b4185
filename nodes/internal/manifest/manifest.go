// Package manifest remembers which of many conversions are done, so that they can be run again, and by several
// processes at once. Each output has a file of JSON in a folder beside the outputs. The process that converts locks it.
package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"tapedeck/codec"
	"tapedeck/codec/blob"
)

// Folder is the name of the folder of a manifest.
const Folder = ".converted"

// ErrBusy is returned for outputs that another process is converting.
var ErrBusy = errors.New("another process is converting it")

// State identifies the content of a file, or of all files in a folder.
type State struct {
	Name     string    `json:"name"` // without folders
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
}

// Stat returns the state of the file or folder at path or, if files are given, of these files under the name of path.
func Stat(path string, files ...string) (State, error) {
	s := State{Name: blob.Base(path)}
	if len(files) == 0 {
		files = []string{path}
	}
	for _, file := range files {
		if target, err := filepath.EvalSymlinks(file); err == nil {
			file = target
		}
		if err := blob.WalkDir(file, s.add); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *State) add(path string, d fs.DirEntry, err error) error {
	if err != nil || d.IsDir() {
		return err
	}
	stat, err := d.Info()
	if err != nil {
		return err
	}
	if target, err := os.Stat(path); err == nil && !target.IsDir() {
		stat = target // that of a link
	}
	s.Size += stat.Size()
	if t := stat.ModTime().UTC(); t.After(s.Modified) {
		s.Modified = t
	}
	return nil
}

// Equal reports whether two states are the same.
func (s State) Equal(o State) bool {
	return s.Name == o.Name && s.Size == o.Size && s.Modified.Equal(o.Modified)
}

// Conversion is an entry of the manifest.
type Conversion struct {
	Input   State             `json:"input"`
	Options map[string]string `json:"options"` // those that are not the defaults
	Outputs []State           `json:"outputs,omitempty"`
	Done    bool              `json:"done"`
}

// Claim is the right to convert to an output, which no other process has until Finish or Release.
type Claim struct {
	// Done reports that the same was converted before, and that the output is still there.
	Done bool
	// Ours reports that whatever is at the output is left from an earlier conversion and may be replaced.
	Ours bool

	folder string // of the outputs
	file   *os.File
	before []byte
	want   Conversion
}

// Take claims the output name in folder for a conversion. It returns ErrBusy if another process has claimed it. With
// again, what was done before is not looked at.
func Take(folder, name string, want Conversion, again bool) (*Claim, error) {
	path := filepath.Join(folder, Folder, name+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, fmt.Errorf("create the manifest %s: %w", path, codec.Pathless(err))
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, fmt.Errorf("open the manifest %s: %w", path, codec.Pathless(err))
	}
	c := &Claim{folder: folder, file: file, want: want}
	if err := c.take(filepath.Join(folder, name), again, unix.Flock); err != nil {
		return nil, errors.Join(fmt.Errorf("claim %s: %w", path, err), file.Close())
	}
	return c, nil
}

func (c *Claim) take(output string, again bool, flock func(fd, how int) error) (err error) {
	err = flock(int(c.file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrBusy
	case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.ENOLCK), errors.Is(err, unix.ENOSYS):
		// The file system has no locks: only shards that have nothing in common keep processes apart.
	case err != nil:
		return fmt.Errorf("lock: %w", err)
	}
	if c.before, err = io.ReadAll(io.LimitReader(c.file, 1<<20)); err != nil {
		return err
	}
	var was Conversion
	// What is cut was being written when the machine failed.
	whole := json.Unmarshal(c.before, &was) == nil
	c.Ours = len(c.before) > 0
	if whole && was.Done && !again {
		missing, changed := c.compare(was.Outputs)
		switch {
		case changed != "":
			return fmt.Errorf("%s is not as the conversion left it; remove it or use --overwrite", changed)
		case missing:
		case !maps.Equal(was.Options, c.want.Options):
			return fmt.Errorf("%s was converted with other options; use --overwrite", output)
		default:
			c.Done = was.Input.Equal(c.want.Input)
		}
	}
	if c.Done {
		return nil
	}
	for _, path := range []string{output, output + ".part"} {
		if _, err := os.Lstat(path); err == nil && !c.Ours && !again {
			return nil // it is of others, so that it must not become ours
		}
	}
	return c.write(Conversion{Input: c.want.Input, Options: c.want.Options})
}

// compare reports whether outputs are missing, and names one that has changed.
func (c *Claim) compare(outputs []State) (missing bool, changed string) {
	for _, o := range outputs {
		path := filepath.Join(c.folder, o.Name)
		now, err := Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = true
		case err != nil || now.Size != o.Size:
			return false, path
		}
	}
	return missing, ""
}

func (c *Claim) write(entry Conversion) error {
	text, err := json.MarshalIndent(entry, "", "  ")
	if err != nil {
		return err
	}
	return c.replace(append(text, '\n'))
}

func (c *Claim) replace(content []byte) error {
	if err := c.file.Truncate(0); err != nil {
		return err
	}
	if _, err := c.file.WriteAt(content, 0); err != nil {
		return err
	}
	return c.file.Sync()
}

// Finish notes that files, or folders, were written, and ends the claim. They are on the disk before the note is.
func (c *Claim) Finish(files []string) error {
	entry := c.want
	entry.Done = true
	for _, path := range files {
		state, err := Stat(path)
		if err == nil {
			state.Name, err = filepath.Rel(c.folder, path)
		}
		if err == nil {
			err = filepath.WalkDir(path, syncEntry)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("note %s: %w", path, err), c.file.Close())
		}
		codec.SyncFolder(filepath.Dir(path))
		entry.Outputs = append(entry.Outputs, state)
	}
	return errors.Join(c.write(entry), c.file.Close())
}

// syncEntry puts a file or the entries of a folder on the disk. Links, which training sets are made of, stay.
func syncEntry(path string, d fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case d.IsDir():
		codec.SyncFolder(path)
		return nil
	case !d.Type().IsRegular():
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Release ends the claim without a conversion: the manifest says what it said before.
func (c *Claim) Release() error {
	if c.Done {
		return c.file.Close()
	}
	return errors.Join(c.replace(c.before), c.file.Close())
}
