package codec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tapedeck/codec/store"
)

// Format describes a file format of recordings. The package of a format exports it as Format.
type Format struct {
	Name string // for --to and Info.Format: "record", "mcap", …

	// Sniff reports whether a recording is of this format. head is the beginning of the file, up to 4096 bytes. head is
	// nil for a folder, and if nothing exists at path: then path may be the common beginning of several files' names.
	// Sniff is nil if OpenFrom is nil.
	Sniff func(files *store.Files, path string, head []byte) bool
	// Named reports whether the name of a new recording asks for this format.
	Named func(path string) bool
	// OpenFrom opens a recording that Sniff accepted; nil if the format can only be written. Readers open the files of
	// the recording through files, or local files if that is nil.
	OpenFrom func(files *store.Files, path string) (Reader, error)
	// FilesIn returns the paths of the files in a folder that OpenFrom reads as one recording, also of unreadable
	// files. It is nil for formats that read no folder, or that ignore other files in a folder.
	FilesIn func(files *store.Files, folder string) []string
	// Create begins a recording; nil if the format is read only. The path does not exist, unless o.Overwrite is set.
	Create func(path string, o CreateOptions) (Writer, error)
	// Stream begins a recording that goes to w, such as standard output; nil if recordings need files.
	Stream func(w io.Writer, o CreateOptions) (Writer, error)
	// Check returns an error for options that Create refuses; nil if Create refuses none.
	Check func(CreateOptions) error
	// Accepts returns an error if recordings cannot hold the messages of a channel, whose encoding is one of
	// Keeps.Encodings; nil if they hold all messages.
	Accepts func(*Channel) error
	// Files are the extensions of the files in folders that the format writes, such as ".csv", if Info does not list
	// the files. A folder with other files is not replaced.
	Files []string
	// Episodic reports that recordings hold episodes of a robot, each in a file or folder of its own.
	Episodic bool
	// Splits reports that recordings can continue in another file: Writer.Split.
	Splits bool
	// Extension ends the names of new recordings, ".bag"; "" for folders.
	Extension string
	// Keeps are the properties that recordings can hold.
	Keeps Keeps
}

// Keeps lists the properties that a format can hold beside topics, types, payloads and receive times.
type Keeps struct {
	Encodings   []string // of payloads; nil: any
	PublishTime bool     // of messages
	QoS         bool     // of channels
	Metadata    bool     // CreateOptions.Metadata
	Attachments bool     // CreateOptions.Attachments and CreateOptions.Records

	ChannelMetadata bool // Channel.Metadata
	NoDefinitions   bool // Channel.Schema is not kept
	// Joins reports whether channels with equal topic, type, encoding and schema become one, with the metadata of
	// the first.
	Joins bool
}

// ErrUnknownFormat is wrapped by errors about recordings that no format accepts.
var ErrUnknownFormat = errors.New("not a recording of a known format")

// ErrUnwritten is wrapped by errors about files whose writer ended before it wrote anything.
var ErrUnwritten = errors.New("the file is empty, its writer ended too early")

// Open opens a recording at a local path with OpenFrom.
func (f *Format) Open(path string) (Reader, error) { return f.OpenFrom(nil, path) }

// Formats are the formats that a program knows. The first format whose Sniff accepts a recording opens it.
type Formats []Format

const sniffSize = 4096

// Open opens the recording at a local path with OpenFrom.
func (formats Formats) Open(path string) (Reader, error) {
	r, _, err := formats.OpenFrom(nil, path)
	return r, err
}

// OpenFrom opens the recording at path, a file or a folder, and returns its format, too. The format is recognised by
// content; the name matters only where the beginning of a file is damaged. If nothing is at path, it opens the file
// with ActiveSuffix, or as one recording the numbered files whose names begin with path. Errors name the path and wrap
// fs.ErrNotExist, fs.ErrPermission or ErrUnknownFormat where they apply.
//
// The path may be a URL of a store in files. The file stays open until the format has opened it too, so that the store
// gets one request.
func (formats Formats) OpenFrom(files *store.Files, path string) (Reader, *Format, error) {
	path = store.Local(path)
	head, file, err := readHead(files, path)
	defer func() { file.Close() }()
	if errors.Is(err, fs.ErrNotExist) {
		active := path + ActiveSuffix
		if activeHead, activeFile, activeErr := readHead(files, active); activeErr == nil {
			path, head, file, err = active, activeHead, activeFile, nil
		} else {
			head, file, err = readHead(files, path) // it may have been completed in the meantime
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	for i := range formats {
		if f := &formats[i]; f.OpenFrom != nil && f.Sniff(files, path, head) {
			r, err := f.OpenFrom(files, path)
			return r, f, err
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", path, err)
	}
	if len(head) == 0 && head != nil && strings.HasSuffix(path, ActiveSuffix) {
		return nil, nil, fmt.Errorf("open %s: %w: %w", path, ErrUnknownFormat, ErrUnwritten)
	}
	if r, f := formats.openDamaged(files, path, head); r != nil {
		return r, f, nil
	}
	if head == nil {
		for _, name := range describing {
			err := CheckContents(files, store.Join(path, name))
			if errors.Is(err, ErrLFSPointer) || errors.Is(err, ErrEmpty) {
				return nil, nil, fmt.Errorf("open %s: %w: %w", store.Join(path, name), ErrUnknownFormat, err)
			}
		}
	}
	for _, f := range formats {
		if f.OpenFrom == nil && f.wrote(path, head) {
			return nil, nil, fmt.Errorf("open %s: %w: it looks like an output of the format %s, which can only be "+
				"written", path, ErrUnknownFormat, f.Name)
		}
	}
	return nil, nil, fmt.Errorf("open %s: %w", path, diagnose(head))
}

// wrote reports whether the names of the file or folder at path look like an output of f.
func (f *Format) wrote(path string, head []byte) bool {
	if head != nil {
		return f.Named(path)
	}
	files := 0
	err := f.CheckFiles(path, func(string) { files++ })
	return err == nil && files > 0
}

// errOtherFile is returned by CheckFiles.
var errOtherFile = errors.New("a file of another format")

// CheckFiles returns an error if the folder at path holds, at any depth, a file without one of the extensions Files.
// The outputs of a format that cannot be read must also look like them: only files, or only folders of files that each
// have an index.csv or a camera_info.yaml. It calls found, unless nil, with each file.
func (f *Format) CheckFiles(path string, found func(path string)) error {
	depth := -1 // of all files below path
	return filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		at := strings.Count(strings.TrimPrefix(name, path), string(filepath.Separator))
		switch {
		case err != nil || name == path:
			return err
		case d.IsDir() && f.OpenFrom != nil:
			return nil
		case d.IsDir():
			for _, table := range []string{"index.csv", "camera_info.yaml"} {
				if _, err := os.Stat(filepath.Join(name, table)); err == nil {
					return nil
				}
			}
			return fmt.Errorf("%s: %w", name, errOtherFile)
		case !slices.Contains(f.Files, filepath.Ext(name)),
			f.OpenFrom == nil && (at > 2 || depth >= 0 && at != depth):
			return fmt.Errorf("%s: %w", name, errOtherFile)
		case found != nil:
			found(name)
		}
		depth = at
		return nil
	})
}

// openDamaged opens a file whose beginning is damaged, in the format that its name tells. It returns nil if no message
// can be read.
func (formats Formats) openDamaged(files *store.Files, path string, head []byte) (Reader, *Format) {
	for i := range formats {
		f := &formats[i]
		if len(head) == 0 || f.OpenFrom == nil || f.Extension == "" ||
			!f.Named(strings.TrimSuffix(path, ActiveSuffix)) {
			continue
		}
		r, err := f.OpenFrom(files, path)
		if err != nil {
			continue
		}
		if anyMessage(r) {
			return r, f
		}
		_ = r.Close()
	}
	return nil, nil
}

// anyMessage reports whether any message can be read.
func anyMessage(r Reader) bool {
	for _, err := range Messages(r, Query{Damaged: func(error) {}}) {
		return err == nil
	}
	return false
}

// readHead returns the beginning of the file at path, nil for a folder, and the file, which can be closed even after an
// error.
func readHead(files *store.Files, path string) ([]byte, io.Closer, error) {
	none := io.NopCloser(nil)
	if !store.IsURL(path) { // opening a pipe would wait for its writer
		stat, err := files.Stat(path)
		if err == nil && !stat.IsDir() && !stat.Mode().IsRegular() {
			err = errors.New("neither a file nor a folder")
		}
		if err != nil {
			return nil, none, Pathless(err)
		}
	}
	file, err := files.Open(path)
	if err != nil {
		return nil, none, Pathless(err)
	}
	stat, err := file.Stat()
	if err != nil || stat.IsDir() {
		return nil, file, Pathless(err)
	}
	head := make([]byte, min(stat.Size(), sniffSize))
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		file.Close()
		return nil, none, Pathless(err)
	}
	return head[:n], file, nil
}

// describing are the files that describe the content of a folder.
var describing = []string{"meta/info.json", "metadata.yaml", "metadata.json"}
