package codec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"tapedeck/codec/store"
)

// lfsPointer begins a file that Git keeps in place of a file in its Large File Storage.
const lfsPointer = "version https://git-lfs"

// ErrLFSPointer is wrapped by errors about pointers of Git LFS.
var ErrLFSPointer = errors.New("this is a Git LFS pointer, not the file itself; run 'git lfs pull' first")

// ErrEmpty is wrapped by errors about empty files, which interrupted downloads leave.
var ErrEmpty = errors.New("the file is empty; copy or download it again")

// CheckContents returns an error if the file at path does not exist, is empty, or is a pointer of Git LFS.
func CheckContents(files *store.Files, path string) error {
	file, err := files.Open(path)
	if err != nil {
		return Pathless(err)
	}
	defer file.Close()
	head := make([]byte, len(lfsPointer))
	switch _, err := io.ReadFull(file, head); {
	case errors.Is(err, io.EOF):
		return ErrEmpty
	case err == nil && string(head) == lfsPointer:
		return ErrLFSPointer
	}
	return nil
}

// diagnose returns an error for a file of unknown format, with a hint about its content.
func diagnose(head []byte) error {
	text := string(head)
	switch {
	case head == nil:
		return fmt.Errorf("%w: the folder holds no metadata.yaml and no .mcap file", ErrUnknownFormat)
	case len(head) == 0:
		return fmt.Errorf("%w: %w", ErrUnknownFormat, ErrEmpty)
	case strings.HasPrefix(text, lfsPointer):
		return fmt.Errorf("%w: %w", ErrUnknownFormat, ErrLFSPointer)
	case strings.HasPrefix(text, "\x1f\x8b"), strings.HasPrefix(text, "\x28\xb5\x2f\xfd"),
		strings.HasPrefix(text, "BZh"), strings.HasPrefix(text, "PK\x03\x04"), strings.HasPrefix(text, "\xfd7zXZ"):
		return fmt.Errorf("%w: the file is an archive or a compressed file; unpack it first", ErrUnknownFormat)
	case strings.HasPrefix(text, "\x04\x22\x4d\x18"), len(text) > 262 && text[257:262] == "ustar":
		return fmt.Errorf("%w: the file is an archive or a compressed file; unpack it first", ErrUnknownFormat)
	case strings.HasPrefix(text, "\xa3\x95"):
		return fmt.Errorf("%w: the file is a DataFlash log of ArduPilot; tapedeck reads the telemetry log "+
			"(.tlog) of the flight, or convert it with 'mavlogdump.py' of pymavlink", ErrUnknownFormat)
	case strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "<!doctype html"),
		strings.HasPrefix(strings.ToLower(strings.TrimSpace(text)), "<html"):
		return fmt.Errorf("%w: the file is a web page, such as one that a server sends in place of a file; "+
			"download the file itself", ErrUnknownFormat)
	case strings.Trim(text, "\x00") == "":
		return fmt.Errorf("%w: it begins with zeros, as a copy or a download that was cut off; get it again",
			ErrUnknownFormat)
	}
	return fmt.Errorf("%w: it begins with %q", ErrUnknownFormat, head[:min(len(head), 16)])
}

// Create begins a recording at path, in the format that o names, or else in the format that the name of path tells. It
// refuses an existing path with fs.ErrExist unless o.Overwrite is set.
func (formats Formats) Create(path string, o CreateOptions) (Writer, error) {
	f, err := formats.find(path, o.Format)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	if f.Create == nil {
		return nil, fmt.Errorf("create %s: format %s can be read, not written", path, f.Name)
	}
	disk := o.OnDisk()
	for _, name := range []string{path, path + ActiveSuffix} {
		if _, err := disk.Lstat(name); err == nil && !o.Overwrite {
			return nil, fmt.Errorf("create %s: %w; name another output or use --overwrite", name, fs.ErrExist)
		}
	}
	w, err := f.Create(path, o)
	if err != nil {
		return nil, err
	}
	_ = disk.SyncFolder(filepath.Dir(filepath.Clean(path))) // the writer's Sync returns errors of the disk
	return w, nil
}

// find returns the format with this name or, if name is empty, the format that the name of path tells.
func (formats Formats) find(path, name string) (Format, error) {
	var names []string
	for _, f := range formats {
		if name != "" && f.Name == name || name == "" && f.Named(path) {
			return f, nil
		}
		names = append(names, f.Name)
	}
	known := strings.Join(names, ", ")
	if name != "" {
		return Format{}, fmt.Errorf("%w: %q; known are %s", ErrUnknownFormat, name, known)
	}
	return Format{}, fmt.Errorf("%w: %q says nothing; name a format of %s", ErrUnknownFormat, filepath.Base(path),
		known)
}
