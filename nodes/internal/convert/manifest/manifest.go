// Package manifest remembers which of many conversions are done, so that a set of conversions can be repeated, also by
// several processes at once. Each output has a JSON file in a folder beside the outputs. The process that converts
// locks the file.
package manifest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tapedeck/codec"
	"tapedeck/codec/store"
)

// Folder is the name of the folder of a manifest.
const Folder = ".converted"

// State identifies the content of a file, or of all files in a folder.
type State struct {
	Name     string    `json:"name"` // without folders
	Size     int64     `json:"size"` // bytes
	Modified time.Time `json:"modified"`
	ETag     string    `json:"etag,omitempty"` // in a store; of several objects, a hash of their ETags
}

// Stat returns the state of the file or folder at path. If files of a split recording are given, it returns their
// common state under the name of path.
func Stat(files *store.Files, path string, splits ...string) (State, error) {
	s := State{Name: store.Base(path)}
	if len(splits) == 0 {
		splits = []string{path}
	}
	for _, file := range splits {
		if target, err := filepath.EvalSymlinks(file); err == nil {
			file = target
		}
		if err := files.WalkDir(file, s.add); err != nil {
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
		stat = target // path may be a link
	}
	if e := store.ETag(stat); s.ETag == "" {
		s.ETag = e
	} else if e != "" {
		s.ETag = fmt.Sprintf("%x", sha256.Sum256([]byte(s.ETag+e)))
	}
	s.Size += stat.Size()
	if t := stat.ModTime().UTC(); t.After(s.Modified) {
		s.Modified = t
	}
	return nil
}

// Equal reports whether two states are equal. It compares modification times only if an ETag is missing.
func (s State) Equal(o State) bool {
	same := s.Modified.Equal(o.Modified)
	if s.ETag != "" && o.ETag != "" {
		same = s.ETag == o.ETag
	}
	return s.Name == o.Name && s.Size == o.Size && same
}

// Conversion is an entry of the manifest.
type Conversion struct {
	Input   State             `json:"input"`
	Options map[string]string `json:"options"` // options that differ from the defaults
	Outputs []State           `json:"outputs,omitempty"`
	Done    bool              `json:"done"`
}

// Claim is the right to convert to an output. No other process has it until Finish or Release.
type Claim struct {
	// Done reports that an equal conversion was done before and its output still exists.
	Done bool
	// Ours reports that a file at the output is from an earlier conversion and may be replaced.
	Ours bool

	files  *store.Files
	folder string // of the outputs
	entry  entry
	before []byte
	want   Conversion
}

// entry is the file or the object of an output.
type entry interface {
	read() ([]byte, error)
	replace(content []byte) error
	Close() error
}

// fileEntry is the file of an output.
type fileEntry struct{ *os.File }

func (f fileEntry) read() ([]byte, error) { return io.ReadAll(f) }

func (f fileEntry) replace(content []byte) error {
	// Write before truncating: an empty entry would be no claim.
	if _, err := f.WriteAt(content, 0); err != nil {
		return err
	}
	if err := f.Truncate(int64(len(content))); err != nil {
		return err
	}
	return f.Sync()
}

// objectEntry is an output's entry in a store, which has no locks.
type objectEntry struct {
	files *store.Files
	url   string
}

func (o objectEntry) read() ([]byte, error) {
	content, err := o.files.ReadFile(o.url)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

func (o objectEntry) replace(content []byte) error {
	if len(content) == 0 {
		return o.files.Remove(context.Background(), o.url)
	}
	return o.files.WriteFile(context.Background(), o.url, content)
}

func (objectEntry) Close() error { return nil }

// Take claims the output name in folder, which may be a URL, for a conversion. It returns codec.ErrLocked if another
// process has claimed it. On a file system without locks, only shards without common inputs keep processes apart. If
// again is true, earlier conversions are ignored.
func Take(files *store.Files, folder, name string, want Conversion, again bool) (*Claim, error) {
	path := store.Join(folder, Folder, name+".json")
	c := &Claim{files: files, folder: folder, entry: objectEntry{files, path}, want: want}
	if !store.IsURL(path) {
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		var file *os.File
		if err == nil {
			file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		}
		if err != nil {
			return nil, fmt.Errorf("open the manifest %s: %w", path, codec.Pathless(err))
		}
		c.entry = fileEntry{file}
		if err := codec.Lock(file); err != nil {
			return nil, errors.Join(fmt.Errorf("claim %s: %w", path, err), file.Close())
		}
	}
	if err := c.take(store.Join(folder, name), again); err != nil {
		return nil, errors.Join(err, c.entry.Close())
	}
	return c, nil
}

func (c *Claim) take(output string, again bool) (err error) {
	c.before, err = c.entry.read()
	if err != nil {
		return fmt.Errorf("read the manifest of %s: %w", output, err)
	}
	var was Conversion
	// A truncated entry was being written when the machine failed.
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
		if _, err := c.files.Lstat(path); err == nil && !c.Ours && !again {
			return nil // the file is not from a conversion and must not become ours
		}
	}
	return c.write(Conversion{Input: c.want.Input, Options: c.want.Options})
}

// compare reports whether outputs are missing. It returns the path of an output that has changed.
func (c *Claim) compare(outputs []State) (missing bool, changed string) {
	for _, o := range outputs {
		path := store.Join(c.folder, o.Name)
		now, err := Stat(c.files, path)
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
	return c.entry.replace(append(text, '\n'))
}

// Finish notes that files or folders were written, and ends the claim. The files must be on the disk, because the note
// survives a power failure.
func (c *Claim) Finish(outputs []string) error {
	entry := c.want
	entry.Done = true
	for _, path := range outputs {
		state, err := Stat(c.files, path)
		if store.IsURL(path) {
			state.Name = strings.TrimPrefix(path, store.Clean(c.folder)+"/")
		} else if err == nil {
			state.Name, err = filepath.Rel(c.folder, path)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("note %s: %w", path, err), c.entry.Close())
		}
		entry.Outputs = append(entry.Outputs, state)
	}
	return errors.Join(c.write(entry), c.entry.Close())
}

// Release ends the claim without a conversion. It restores the earlier content of the entry.
func (c *Claim) Release() error {
	if c.Done {
		return c.entry.Close()
	}
	return errors.Join(c.entry.replace(c.before), c.entry.Close())
}
