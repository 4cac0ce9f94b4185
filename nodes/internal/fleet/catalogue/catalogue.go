// Package catalogue keeps Parquet tables about many recordings: recordings, topics, events and signals. Each table is a
// folder with one file for each recording. So several processes can add recordings at once without locks, and a
// recording that changed replaces its rows.
package catalogue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tapedeck/codec"
	"tapedeck/codec/store"
	"tapedeck/codec/store/s3"
)

// Names of the tables, in the order in which the files of a recording are replaced. The catalogue has a recording
// completely once it is in the last table.
const (
	signalsTable    = "signals"
	topicsTable     = "topics"
	eventsTable     = "events"
	recordingsTable = "recordings"
)

// ReadAtOnce is how many files of tables are best read at once, because each takes a round trip to a store.
const ReadAtOnce = 32

// Recording is a row of the table of recordings. Times are ns since the Unix epoch, null without messages.
type Recording struct {
	Recording string            `parquet:"recording"` // path
	Format    string            `parquet:"format"`
	Size      int64             `parquet:"size"` // bytes
	Modified  int64             `parquet:"modified,timestamp(nanosecond:local)"`
	ETag      string            `parquet:"etag"` // of the object in a store; "" for local files
	Start     int64             `parquet:"start,optional,timestamp(nanosecond:local)"`
	End       int64             `parquet:"end,optional,timestamp(nanosecond:local)"`
	Duration  float64           `parquet:"duration"` // s
	Messages  uint64            `parquet:"messages"`
	Bytes     uint64            `parquet:"bytes"`    // size of the payloads
	Complete  bool              `parquet:"complete"` // the recording is complete and not damaged
	Metadata  map[string]string `parquet:"metadata"`
	Fields    string            `parquet:"fields"` // requested fields, and folders of definitions
}

// identity has the columns of Recording that tell whether a recording has changed. Each column takes time to read.
type identity struct {
	Recording string `parquet:"recording"`
	Size      int64  `parquet:"size"`
	Modified  int64  `parquet:"modified,timestamp(nanosecond:local)"`
	ETag      string `parquet:"etag"`
}

// Same reports whether two rows describe the same content of a recording.
func (r Recording) Same(o Recording) bool {
	if r.ETag != "" && o.ETag != "" {
		return r.Size == o.Size && r.ETag == o.ETag
	}
	return r.Size == o.Size && r.Modified == o.Modified
}

// Topic is a row of the table of topics: a channel of a recording.
type Topic struct {
	Recording string   `parquet:"recording,dict"`
	Topic     string   `parquet:"topic"`
	Type      string   `parquet:"type"`
	Encoding  string   `parquet:"encoding"`
	TypeHash  string   `parquet:"type_hash"`
	Messages  uint64   `parquet:"messages"`
	Bytes     uint64   `parquet:"bytes"`
	First     int64    `parquet:"first,optional,timestamp(nanosecond:local)"`
	Last      int64    `parquet:"last,optional,timestamp(nanosecond:local)"`
	Frequency float64  `parquet:"frequency"` // messages/s; 0: unknown
	Fields    []string `parquet:"fields,list"`
}

// Event is a row of the table of events.
type Event struct {
	Recording string `parquet:"recording,dict"`
	Kind      string `parquet:"kind,dict"`
	Topic     string `parquet:"topic,dict"` // "": the whole recording
	Time      int64  `parquet:"time,optional,timestamp(nanosecond:local)"`
	Until     int64  `parquet:"until,optional,timestamp(nanosecond:local)"`
	Count     uint64 `parquet:"count"`
	Text      string `parquet:"text"`
}

// Signal is a row of the table of signals: a number in the messages of a topic in one second. There is a row for each
// field of Topic.Fields and each second in which the topic has a message, even if no message has the field.
type Signal struct {
	Recording string   `parquet:"recording,dict"`
	Topic     string   `parquet:"topic,dict"`
	Field     string   `parquet:"field,dict"`
	Second    int64    `parquet:"second,delta,timestamp(nanosecond:local)"` // begin of the second
	Count     uint64   `parquet:"count"`                                    // number of finite values
	Min       *float64 `parquet:"min,optional"`                             // of the finite values; nil without any
	Mean      *float64 `parquet:"mean,optional"`
	Max       *float64 `parquet:"max,optional"`
	NaN       uint64   `parquet:"nan"`      // number of values that are NaN
	Infinite  uint64   `parquet:"infinite"` // number of infinite values
}

// Catalogue is a folder with tables.
type Catalogue struct {
	files    *store.Files
	folder   string       // path or URL
	uploader *s3.Uploader // nil: the folder is local, or the catalogue is only read
}

// Create returns the catalogue in a folder or at a URL of a store. It creates a missing folder.
func Create(ctx context.Context, files *store.Files, bucket *s3.Store, folder string) (*Catalogue, error) {
	if store.IsURL(folder) {
		u, err := bucket.NewUploader(ctx, folder, s3.UploadOptions{Overwrite: true})
		return &Catalogue{files, folder, u}, err
	}
	for _, table := range []string{signalsTable, topicsTable, eventsTable, recordingsTable} {
		if err := os.MkdirAll(filepath.Join(folder, table), 0o777); err != nil {
			return nil, fmt.Errorf("create the catalogue %s: %w", folder, codec.Pathless(err))
		}
	}
	return &Catalogue{files: files, folder: folder}, nil
}

// Open returns the catalogue in a folder or at a URL for reading.
func Open(files *store.Files, folder string) (*Catalogue, error) {
	stat, err := files.Stat(store.Join(folder, recordingsTable))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the catalogue %s: %w", folder, codec.Pathless(err))
	}
	if err != nil || !stat.IsDir() {
		return nil, fmt.Errorf("%s is no catalogue; 'converter index' makes one", folder)
	}
	return &Catalogue{files: files, folder: folder}, nil
}

// Recording returns the row of the recording at a path. The error wraps fs.ErrNotExist if the catalogue lacks it.
func (c *Catalogue) Recording(path string) (Recording, error) {
	return first[Recording](c.files, c.file(recordingsTable, path))
}

// Recordings returns the rows of all recordings, sorted by the names of their files. Only the path and the columns that
// Same compares are set.
func (c *Catalogue) Recordings() ([]Recording, error) {
	files, err := c.files.Glob(store.Join(c.folder, recordingsTable), "*.parquet")
	if err != nil {
		return nil, fmt.Errorf("read the catalogue %s: %w", c.folder, codec.Pathless(err))
	}
	rows, failed := make([]Recording, len(files)), make([]error, len(files))
	var running sync.WaitGroup
	free := make(chan struct{}, ReadAtOnce)
	for i, file := range files {
		free <- struct{}{}
		running.Go(func() {
			var row identity
			row, failed[i] = first[identity](c.files, file)
			rows[i] = Recording{Recording: row.Recording, Size: row.Size, Modified: row.Modified, ETag: row.ETag}
			<-free
		})
	}
	running.Wait()
	if err := cmp.Or(failed...); err != nil {
		return nil, err
	}
	return rows, nil
}

// first returns the first row of a file.
func first[T any](files *store.Files, file string) (r T, err error) {
	found := false
	err = read(files, file, func(row T) { r, found = row, true })
	if err == nil && !found {
		err = fmt.Errorf("read %s: there is no row", file)
	}
	return r, err
}

var unusual = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// file returns the file of a recording in a table.
func (c *Catalogue) file(table, recording string) string {
	base := unusual.ReplaceAllString(filepath.Base(recording), "_")
	sum := sha256.Sum256([]byte(recording))
	return store.Join(c.folder, table, fmt.Sprintf("%.100s-%x.parquet", base, sum[:8]))
}

// read calls do with each row of a file. Rows may have fewer columns than the file.
func read[T any](files *store.Files, path string, do func(T)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", path, codec.Pathless(err))
		}
	}()
	f, err := files.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return err
	}
	file, err := parquet.OpenFile(f, stat.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	r := parquet.NewGenericReader[T](file)
	defer r.Close()
	rows := make([]T, min(max(file.NumRows(), 1), 512))
	for {
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			do(row)
		}
		clear(rows[:n]) // the next rows must not share memory with the last ones
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// table is a file of a table that is being written. The file appears under its name with commit.
type table struct {
	io.Closer // closes the writer of rows
	path      string
	file      *os.File     // has a temporary name
	send      *s3.Transfer // sends the file to the store; nil: the file is renamed
}

// create creates the file of a recording in the table called name, and returns the writer of its rows.
func create[T any](c *Catalogue, name, recording string) (*parquet.GenericWriter[T], *table, error) {
	t := &table{path: c.file(name, recording)}
	folder := ""
	if c.uploader == nil {
		folder = filepath.Dir(t.path)
	}
	var err error
	// The name must not end with .parquet, as the names of complete files do.
	t.file, err = os.CreateTemp(folder, "."+store.Base(t.path)+".part")
	if err != nil {
		return nil, nil, t.addPath(err)
	}
	w := parquet.NewGenericWriter[T](t.file, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.CreatedBy("tapedeck", "1", "0"))
	t.Closer = w
	if c.uploader != nil {
		t.send = &s3.Transfer{Uploader: c.uploader, Key: name + "/" + store.Base(t.path), File: t.file,
			State: &s3.TransferState{}}
	}
	return w, t, nil
}

// write writes the file of a recording in the table called name. The table may not be nil on errors.
func write[T any](c *Catalogue, name, recording string, rows []T) (*table, error) {
	w, t, err := create[T](c, name, recording)
	if err == nil {
		_, err = w.Write(rows)
	}
	return t, err
}

// addPath adds the path to an error, which may be nil.
func (t *table) addPath(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", t.path, codec.Pathless(err))
}

// complete writes the whole file to the disk or the store, under a temporary name.
func (t *table) complete(ctx context.Context) error {
	err := t.Close()
	switch {
	case err != nil:
	case t.send != nil:
		t.send.Size, err = t.file.Seek(0, io.SeekEnd)
		if err == nil {
			err = t.send.Send(ctx)
		}
	default:
		err = errors.Join(t.file.Chmod(0o644), t.file.Sync(), t.file.Close())
	}
	return t.addPath(err)
}

// commit gives the complete file its name.
func (t *table) commit(ctx context.Context) error {
	if t.send != nil {
		return t.send.Complete(ctx)
	}
	err := os.Rename(t.file.Name(), t.path)
	return t.addPath(errors.Join(err, codec.OS{}.SyncFolder(filepath.Dir(t.path))))
}

// abort removes the temporary file, if it was not renamed.
func (t *table) abort(ctx context.Context) {
	if t.send != nil {
		t.send.Abort(ctx)
	}
	_ = t.file.Close()
	_ = os.Remove(t.file.Name())
}
