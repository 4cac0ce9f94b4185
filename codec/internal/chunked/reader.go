package chunked

import (
	"errors"
	"fmt"
	"io/fs"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/text/plural"
)

// Reader implements codec.Reader for a format that describes its files by a Layout. It indexes the file once, when a
// method first needs the index.
type Reader struct {
	File     codec.File
	Path     string // for errors and Info
	Size     int64  // bytes of the file
	Contents Contents
	Layout   Layout

	// Stored makes the Reader return payloads that are compressed one by one unchanged. It is set before the first
	// call.
	Stored bool

	info *codec.Info
	err  error
}

var _ codec.Reader = (*Reader)(nil)

// Layout reads the index of a Reader's file.
type Layout interface {
	// Index sets Contents. The Reader sorts the segments and adds the path to the error.
	Index() error
	// Describe returns the Info of the file.
	Describe() *codec.Info
	// Loader returns a Loader of the segments.
	Loader() Loader
}

// Verifier is implemented by a Layout of files with checksums that its Loader does not compare.
type Verifier interface {
	// Verify reads the file, and returns an error if a checksum is wrong. Read calls it with Query.Verify, for local
	// files without known damage.
	Verify() error
}

// Open opens the file at path and passes it to newReader, which owns it unless it returns an error.
func Open[R any](files *store.Files, path string,
	newReader func(file codec.File, size int64, path string) (R, error)) (R, error) {
	var r R
	file, err := files.Open(path)
	if err != nil {
		return r, err
	}
	stat, err := file.Stat()
	if err == nil {
		r, err = newReader(file, stat.Size(), path)
	}
	if err != nil {
		file.Close()
	}
	return r, err
}

// Load indexes the file, at the first call.
func (r *Reader) Load() error {
	if r.info != nil || r.err != nil {
		return r.err
	}
	if err := r.Layout.Index(); err != nil {
		r.err = fmt.Errorf("read %s: %w", r.Path, err)
		return r.err
	}
	if store.IsURL(r.Path) {
		r.Contents.Remote = r.File
	}
	r.Contents.stored = r.Stored
	r.Contents.Sort()
	r.info = r.Layout.Describe()
	return nil
}

// Info implements codec.Reader.
func (r *Reader) Info() (*codec.Info, error) {
	if err := r.Load(); err != nil {
		return nil, err
	}
	return r.info, nil
}

// Read implements codec.Reader.
func (r *Reader) Read(q codec.Query) (codec.Iterator, error) {
	if err := r.Load(); err != nil {
		return nil, err
	}
	contents := &r.Contents
	if v, ok := r.Layout.(Verifier); ok && q.Verify && len(contents.Damage) == 0 && contents.Remote == nil {
		err := v.Verify()
		if err != nil {
			damaged := r.Contents
			damaged.Damage = []Damage{{Err: fmt.Errorf("read %s: %w", r.Path, err)}}
			contents = &damaged
		}
	}
	return contents.Read(r.Layout.Loader(), q), nil
}

// Close implements codec.Reader.
func (r *Reader) Close() error {
	if err := r.File.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}

// NoIndexError is the reason why a file cannot be read by its index.
type NoIndexError struct {
	Reason  string
	Damaged bool // the index is wrong, not just missing or incomplete
}

func (e *NoIndexError) Error() string { return e.Reason }

// Missing returns a NoIndexError about a missing index, or missing entries.
func Missing(format string, args ...any) error {
	return &NoIndexError{fmt.Sprintf(format, args...), false}
}

// Wrong returns a NoIndexError about a damaged index.
func Wrong(format string, args ...any) error {
	return &NoIndexError{fmt.Sprintf(format, args...), true}
}

// GapError is a range of a file without whole records.
type GapError struct{ From, To int64 }

func (e *GapError) Error() string {
	return fmt.Sprintf("damaged at 0x%x: no whole record in %s", e.From, plural.Count(e.To-e.From, "byte"))
}

// ErrCut ends the records of a file that its writer did not finish.
var ErrCut = errors.New("cut off within a record")
