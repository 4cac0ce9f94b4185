package rosbag2

import (
	"io"
	"io/fs"
	"time"
)

// databaseName is what SQLite opens of a sqliteFS.
const databaseName = "bag.db3"

// sqliteFS is a file system with one file in it, for SQLite to read a database that is no file of the system's.
type sqliteFS struct {
	file io.ReaderAt
	size int64
}

// Open implements fs.FS. SQLite may ask for journals, which are not there.
func (f sqliteFS) Open(name string) (fs.File, error) {
	if name != databaseName {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return sqliteFile{io.NewSectionReader(f.file, 0, f.size)}, nil
}

// sqliteFile implements fs.File and io.Seeker.
type sqliteFile struct{ *io.SectionReader }

func (f sqliteFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f sqliteFile) Close() error               { return nil }
func (f sqliteFile) Name() string               { return databaseName }
func (f sqliteFile) Mode() fs.FileMode          { return 0o444 }
func (f sqliteFile) ModTime() time.Time         { return time.Time{} }
func (f sqliteFile) IsDir() bool                { return false }
func (f sqliteFile) Sys() any                   { return nil }
