package table

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"tapedeck/codec"
	"tapedeck/codec/internal/files"
)

var _ codec.Writer = (*writer)(nil)

// writer writes a table for each topic to a file in a folder, or to a single file or stream. A single CSV or Parquet
// file can hold one topic; a single JSON Lines file can hold all topics.
type writer struct {
	codec.NoSplits
	options  Options
	fileType fileType
	create   codec.CreateOptions
	path     string
	stream   io.Writer // nil for files
	folder   bool      // path is a folder of files

	mu         sync.Mutex // guards the fields below
	tables     []*table
	byKey      map[string]*table // tables by topic, type and definition
	channels   map[*codec.Channel]*table
	names      files.Names // names of files in the folder
	files      []*file
	disk       files.Set
	losses     codec.LossCounts
	compressor compressor
	sync       bool // Close syncs files to the disk
	closed     bool
}

// check returns an error for a compression that the format lacks.
func (t fileType) check(c codec.CreateOptions) error {
	if c.Compression == "" || slices.Contains(t.compressions, c.Compression) {
		return nil
	}
	return fmt.Errorf("%s has no compression %q, only %s", t.name, c.Compression, strings.Join(t.compressions, ", "))
}

// newWriter returns a writer of a folder, a file or, if stream is not nil, a stream.
func newWriter(o Options, t fileType, path string, stream io.Writer, c codec.CreateOptions) (codec.Writer, error) {
	if err := t.check(c); err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	w := &writer{options: o, fileType: t, create: c, path: path, stream: stream, byKey: map[string]*table{},
		channels: map[*codec.Channel]*table{}, losses: codec.LossCounts{},
		compressor: compressor{maxWaiting: maxWaiting}}
	w.folder = stream == nil && !strings.EqualFold(filepath.Ext(path), "."+t.name)
	if c.Overwrite && stream == nil {
		if err := w.removeOld(); err != nil {
			return nil, fmt.Errorf("create %s: not overwritten: %w", path, codec.Pathless(err))
		}
	}
	if w.folder {
		if err := os.Mkdir(path, 0o777); err != nil {
			return nil, fmt.Errorf("create %s: %w", path, codec.Pathless(err))
		}
	}
	return w, nil
}

// removeOld removes the file, or the folder unless it contains files of other formats.
func (w *writer) removeOld() error {
	stat, err := os.Lstat(w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !w.folder:
		return os.Remove(w.path)
	case !stat.IsDir():
		return errors.New("not a folder")
	}
	format := codec.Format{Files: []string{"." + w.fileType.name}}
	if err := format.CheckFiles(w.path, nil); err != nil {
		return err
	}
	return os.RemoveAll(w.path)
}

// Declare implements codec.Writer.
func (w *writer) Declare(c *codec.Channel) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.table(c)
	return err
}

// table returns the table of a channel. Channels that differ only in QoS and metadata share a table.
func (w *writer) table(c *codec.Channel) (*table, error) {
	if t := w.channels[c]; t != nil {
		return t, nil
	}
	if c.Encoding != codec.EncodingCDR {
		return nil, fmt.Errorf("messages of %s are encoded as %q, not as %s", c.Topic, c.Encoding, codec.EncodingCDR)
	}
	key := fmt.Sprintf("%q %q %q", c.Topic, c.Type, c.Schema.Data)
	t := w.byKey[key]
	if t == nil {
		var err error
		t, err = w.createTable(c)
		if err != nil {
			return nil, err
		}
		w.byKey[key] = t
		w.tables = append(w.tables, t)
	}
	t.channels = append(t.channels, c)
	w.channels[c] = t
	return t, nil
}

// createTable creates the table of a channel and its file.
func (w *writer) createTable(c *codec.Channel) (*table, error) {
	t, err := w.options.newTable(c)
	if err != nil {
		return nil, err
	}
	t.create, t.losses, t.compressor = w.create, w.losses, &w.compressor
	t.file, err = w.openFile(c.Topic)
	if err != nil {
		return nil, err
	}
	t.rows, err = w.fileType.newRows(t, t.file)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", t.file.info.Path, err)
	}
	return t, nil
}

// openFile returns the file for a topic. It creates the file, or returns the single JSON Lines file.
func (w *writer) openFile(topic string) (*file, error) {
	if !w.folder && len(w.files) > 0 {
		if w.fileType.merges {
			return w.files[0], nil
		}
		return nil, fmt.Errorf("%s can hold one topic as %s, but there are %s and %s; select one of them, or write a "+
			"folder", w.path, w.fileType.name, w.tables[0].channel.Topic, topic)
	}
	path := w.path
	if w.folder {
		path = filepath.Join(path, w.names.Of(topic)+"."+w.fileType.name)
	}
	f := &file{info: codec.FileInfo{Path: path}}
	if w.stream != nil {
		f.out = bufio.NewWriter(w.stream)
	} else {
		var err error
		f.disk, err = w.disk.Create(path, false)
		if err != nil {
			return nil, &codec.MissingError{Path: path, Err: codec.Pathless(err)}
		}
		f.out = bufio.NewWriterSize(f.disk, bufferSize(len(w.files)))
	}
	w.files = append(w.files, f)
	return f, nil
}

// bufferSize returns the size in bytes of the buffer of a new file, given the number of other files.
func bufferSize(others int) int {
	if others < 100 {
		return 64 << 10
	}
	return 4 << 10
}

// Write implements codec.Writer.
func (w *writer) Write(m *codec.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, err := w.table(m.Channel)
	if err != nil {
		return err
	}
	if err := t.file.firstError(); err != nil {
		return err
	}
	if err := t.rows.write(m); err != nil {
		return err
	}
	t.file.count(m.LogTime)
	return t.file.firstError()
}

// Sync implements codec.Writer.
func (w *writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sync = true
	for _, t := range w.tables {
		t.rows.flush()
	}
	w.compressor.running.Wait()
	var errs []error
	for _, f := range w.files {
		f.flush(true)
		errs = append(errs, f.firstError())
	}
	return errors.Join(errs...)
}

// Losses implements codec.Writer.
func (w *writer) Losses() []codec.Loss { return w.losses.Losses() }

// Close implements codec.Writer.
func (w *writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	for _, t := range w.tables {
		t.rows.close()
	}
	var errs []error
	for _, f := range w.files {
		f.flush(w.sync)
		if f.disk != nil {
			f.setError(f.disk.Close())
		}
		if w.create.Completed != nil {
			w.create.Completed(f.info, f.firstError())
		}
		errs = append(errs, f.firstError())
	}
	return errors.Join(errs...)
}

// file is a file with tables, or the stream. It keeps the first error.
type file struct {
	info codec.FileInfo
	disk *files.File // nil for a stream
	out  *bufio.Writer

	mu  sync.Mutex
	err error // first error; guarded by mu
}

// Write implements io.Writer.
func (f *file) Write(b []byte) (int, error) {
	n, err := f.out.Write(b)
	f.info.Size += int64(n)
	f.setError(err)
	return n, err
}

// count counts a message with the log time t in ns.
func (f *file) count(t int64) {
	if f.info.MessageCount == 0 {
		f.info.StartTime, f.info.EndTime = t, t
	}
	f.info.MessageCount++
	f.info.StartTime, f.info.EndTime = min(f.info.StartTime, t), max(f.info.EndTime, t)
}

// flush writes buffered bytes. If sync, it also syncs the file to the disk.
func (f *file) flush(sync bool) {
	f.setError(f.out.Flush())
	if sync && f.disk != nil {
		f.setError(f.disk.Sync())
	}
}

// setError keeps err as the error of the file, unless err is nil or the file has an error.
func (f *file) setError(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && err != nil {
		f.err = &codec.MissingError{Path: f.info.Path, Err: codec.Pathless(err)}
	}
}

// firstError returns the first error of the file, or nil.
func (f *file) firstError() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}
