// Package catalogue keeps Parquet tables about many recordings: recordings, topics, events and signals. Each table is a
// folder, in which each recording has a file of its own: processes add recordings at the same time without locks, and
// one that changed replaces its rows.
package catalogue

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"tapedeck/codec"
)

// The tables, in the order in which files of a recording are replaced. A recording that is in the last one is complete.
const (
	signalsTable    = "signals"
	topicsTable     = "topics"
	eventsTable     = "events"
	recordingsTable = "recordings"
)

// Recording is a row of the table of recordings. Times are ns since the Unix epoch, null without messages.
type Recording struct {
	Recording string            `parquet:"recording"` // its path
	Format    string            `parquet:"format"`
	Size      int64             `parquet:"size"` // bytes
	Modified  int64             `parquet:"modified,timestamp(nanosecond:local)"`
	ETag      string            `parquet:"etag"` // in a store
	Start     int64             `parquet:"start,optional,timestamp(nanosecond:local)"`
	End       int64             `parquet:"end,optional,timestamp(nanosecond:local)"`
	Duration  float64           `parquet:"duration"` // s
	Messages  uint64            `parquet:"messages"`
	Bytes     uint64            `parquet:"bytes"`    // of payloads
	Complete  bool              `parquet:"complete"` // it was completed, and nothing of it is damaged
	Metadata  map[string]string `parquet:"metadata"`
	Fields    string            `parquet:"fields"` // that were asked for
}

// Same reports whether two rows are about the same content of a recording.
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
	Topic     string `parquet:"topic,dict"` // "": all
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
	Second    int64    `parquet:"second,delta,timestamp(nanosecond:local)"` // its beginning
	Count     uint64   `parquet:"count"`                                    // of finite values
	Min       *float64 `parquet:"min,optional"`                             // of them; nil if there are none
	Mean      *float64 `parquet:"mean,optional"`
	Max       *float64 `parquet:"max,optional"`
	NaN       uint64   `parquet:"nan"`      // values that are NaN
	Infinite  uint64   `parquet:"infinite"` // values that are infinite
}

// Catalogue is a folder with tables.
type Catalogue struct{ folder string }

// Create returns the catalogue in a folder, which is created if it does not exist.
func Create(folder string) (*Catalogue, error) {
	for _, table := range []string{signalsTable, topicsTable, eventsTable, recordingsTable} {
		if err := os.MkdirAll(filepath.Join(folder, table), 0o777); err != nil {
			return nil, fmt.Errorf("create the catalogue %s: %w", folder, codec.Pathless(err))
		}
	}
	return &Catalogue{folder}, nil
}

// Open returns the catalogue in a folder.
func Open(folder string) (*Catalogue, error) {
	if stat, err := os.Stat(filepath.Join(folder, recordingsTable)); err != nil || !stat.IsDir() {
		return nil, fmt.Errorf("%s is no catalogue; 'converter index' makes one", folder)
	}
	return &Catalogue{folder}, nil
}

// Recording returns the row of the recording at a path. The error wraps fs.ErrNotExist if there is none.
func (c *Catalogue) Recording(path string) (Recording, error) {
	return first(c.file(recordingsTable, path))
}

// Recordings returns the rows of all recordings, by the names of their files.
func (c *Catalogue) Recordings() (all []Recording, err error) {
	files, err := filepath.Glob(filepath.Join(escape(c.folder), recordingsTable, "*.parquet"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		r, err := first(file)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

var special = regexp.MustCompile(`[*?\[\\]`)

// escape returns a pattern that matches a path.
func escape(path string) string { return special.ReplaceAllString(path, `\$0`) }

func first(file string) (r Recording, err error) {
	found := false
	err = read(file, func(row Recording) { r, found = row, true })
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
	return filepath.Join(c.folder, table, fmt.Sprintf("%.100s-%x.parquet", base, sum[:8]))
}

// read calls do with each row of a file. Rows may have fewer columns than the file.
func read[T any](path string, do func(T)) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", path, codec.Pathless(err))
		}
	}()
	f, err := os.Open(path)
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
	rows := make([]T, 512)
	for {
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			do(row)
		}
		clear(rows[:n]) // the next ones must not share memory with these
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// writer writes a file of a table, which appears when it is committed.
type writer[T any] struct {
	*parquet.GenericWriter[T]
	path string
	file *os.File
}

func create[T any](path string) (*writer[T], error) {
	// The name must not end like those of tables.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".part")
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", path, codec.Pathless(err))
	}
	w := parquet.NewGenericWriter[T](f, parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.CreatedBy("tapedeck", "1", "0"))
	return &writer[T]{w, path, f}, nil
}

// complete puts the file on the disk, still under its temporary name.
func (w *writer[T]) complete() error {
	err := errors.Join(w.GenericWriter.Close(), w.file.Chmod(0o644), w.file.Sync(), w.file.Close())
	if err != nil {
		return fmt.Errorf("write %s: %w", w.path, codec.Pathless(err))
	}
	return nil
}

// commit gives the complete file its name.
func (w *writer[T]) commit() error {
	if err := os.Rename(w.file.Name(), w.path); err != nil {
		return fmt.Errorf("write %s: %w", w.path, codec.Pathless(err))
	}
	codec.SyncFolder(filepath.Dir(w.path))
	return nil
}

// abort removes the file unless it was committed.
func (w *writer[T]) abort() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}
