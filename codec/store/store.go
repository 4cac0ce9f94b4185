// Package store reads files and folders whose path may be a URL of an object store. Files has methods with the names of
// functions of package os. For local paths the methods call these functions. A prefix of keys that ends with a slash is
// a folder.
//
//	s3://bucket/key   S3 and stores with its interface (AWS_ENDPOINT_URL): package s3
//	gs://bucket/key   Google's store, by its S3 interface, with HMAC keys: package s3
//	https://host/path a web server; from a server without ranges, files are fetched to temporary files: package http
//	file:///path      a local path
//
// This package knows no protocol: a program passes the stores that it links to New.
//
// Opening a URL makes one request for the last 256 kB, which also returns the size and the ETag. The rest is read in
// blocks: one request reads adjacent blocks, and blocks are read ahead while the file is read in order. All open Files
// of a URL share its blocks, and all blocks of a Files value are in one bounded cache. Reading an object that was
// replaced after it was opened is an error. Requests that fail and bodies that are cut are repeated.
package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// ErrKey is returned for keys of a store that cannot be paths.
var ErrKey = errors.New("cannot be a path; rename the objects in the store whose keys begin with it")

// errLocal is returned for URLs if Files is nil.
var errLocal = errors.New("only local files are read here; download the file first")

// File is an open file: an *os.File for a local path.
type File interface {
	fs.File
	io.ReaderAt
	io.Seeker
}

// Disk is a disk with local files and folders. Its methods are the functions of package os.
type Disk interface {
	Open(path string) (File, error)
	Stat(path string) (fs.FileInfo, error)
	Lstat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
}

// OS is the Disk of the operating system.
type OS struct{}

// Open implements Disk.
func (OS) Open(path string) (File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err // not a nil *os.File in an interface
	}
	return file, nil
}

// Stat implements Disk.
func (OS) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Lstat implements Disk.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// ReadDir implements Disk.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Files reads files and folders by paths that may be URLs. A nil *Files reads only local files. The methods may be
// called by several goroutines.
type Files struct {
	local  Disk             // nil: OS
	stores map[string]Store // by scheme
	cache  cache
}

// On returns the local files of a disk, without stores.
func On(d Disk) *Files { return &Files{local: d} }

// disk returns the disk of local files.
func (f *Files) disk() Disk {
	if f == nil || f.local == nil {
		return OS{}
	}
	return f.local
}

// New returns local files and the files of stores.
func New(stores ...Store) *Files {
	f := &Files{stores: map[string]Store{},
		cache: cache{objects: map[string]*object{}, limit: cacheSize, pause: firstPause}}
	for _, s := range stores {
		for _, scheme := range s.Schemes() {
			f.stores[scheme] = s
		}
	}
	return f
}

// store returns the store of a URL.
func (f *Files) store(url string) (Store, error) {
	if f != nil {
		scheme, _, _ := strings.Cut(url, "://")
		if s := f.stores[scheme]; s != nil {
			return s, nil
		}
	}
	return nil, errLocal
}

// Open opens the file or folder at path. Errors are *fs.PathError, and wrap fs.ErrNotExist and fs.ErrPermission where
// they apply.
func (f *Files) Open(path string) (File, error) {
	if !IsURL(path) {
		return f.disk().Open(Local(path))
	}
	var missing error
	if !isFolder(path) {
		var o *object
		o, missing = f.open(path)
		if missing == nil {
			return newHandle(o), nil
		}
	}
	if err := f.probe(path, missing); err != nil {
		return nil, pathError("open", path, err)
	}
	return &folder{info: fileInfo{path, &Object{Folder: true}}}, nil
}

// Stat describes the file or folder at path. For a URL it makes a request.
func (f *Files) Stat(path string) (fs.FileInfo, error) {
	if !IsURL(path) {
		return f.disk().Stat(Local(path))
	}
	var missing error
	if !isFolder(path) {
		var info *fileInfo
		info, missing = f.stat(path)
		if missing == nil {
			return info, nil
		}
	}
	if err := f.probe(path, missing); err != nil {
		return nil, pathError("stat", path, err)
	}
	return &fileInfo{path, &Object{Folder: true}}, nil
}

// Lstat is Stat, but describes a local link itself.
func (f *Files) Lstat(path string) (fs.FileInfo, error) {
	if !IsURL(path) {
		return f.disk().Lstat(Local(path))
	}
	return f.Stat(path)
}

// isFolder reports whether a URL can only be a folder: a bucket, or a prefix that ends with a slash.
func isFolder(path string) bool {
	scheme, _, _ := strings.Cut(path, "://")
	p := split(path)
	return !escaped(scheme) && (p.key == "" || strings.HasSuffix(p.key, "/"))
}

// ReadFile returns the content of the file at path.
func (f *Files) ReadFile(path string) ([]byte, error) {
	file, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(file) // do not allocate the size that a server claims
}

// ReadDir returns the entries of the folder at path, sorted by name. With an error it returns the entries read so far.
// With ErrKey it returns all entries except the keys that cannot be paths. Info of an entry makes no request.
func (f *Files) ReadDir(path string) ([]fs.DirEntry, error) {
	if !IsURL(path) {
		return f.disk().ReadDir(Local(path))
	}
	entries, err := f.readFolder(path)
	if err != nil {
		err = pathError("open", path, err)
	}
	return entries, err
}

// WalkDir is filepath.WalkDir for a path that may be a URL.
func (f *Files) WalkDir(root string, fn fs.WalkDirFunc) error {
	root = Local(root)
	info, err := f.Lstat(root)
	if err != nil {
		err = fn(root, nil, err)
	} else {
		err = f.walk(root, fs.FileInfoToDirEntry(info), fn)
	}
	if errors.Is(err, fs.SkipDir) || errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

// walk calls fn with a file, or with a folder and everything in it.
func (f *Files) walk(path string, d fs.DirEntry, fn fs.WalkDirFunc) error {
	if err := fn(path, d, nil); err != nil || !d.IsDir() {
		if errors.Is(err, fs.SkipDir) && d.IsDir() {
			err = nil
		}
		return err
	}
	entries, err := f.ReadDir(path)
	if err != nil {
		if err := fn(path, d, err); errors.Is(err, fs.SkipDir) {
			return nil
		} else if err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := f.walk(Join(path, e.Name()), e, fn); err != nil {
			if errors.Is(err, fs.SkipDir) {
				break
			}
			return err
		}
	}
	return nil
}

// Glob returns the paths below a folder that match a pattern, in order. Each element of the pattern is a pattern of
// path.Match.
func (f *Files) Glob(folder, pattern string) ([]string, error) {
	first, rest, more := strings.Cut(pattern, "/")
	entries, err := f.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, e := range entries {
		name := Join(folder, e.Name())
		ok, bad := path.Match(first, e.Name())
		switch {
		case bad != nil:
			return nil, bad
		case !ok || more && e.Type().IsRegular():
		case !more:
			found = append(found, name)
		default:
			below, err := f.Glob(name, rest)
			if err != nil {
				return nil, err
			}
			found = append(found, below...)
		}
	}
	return found, err
}

// Fetch returns the path of a local file with the content of the file at path, for libraries and programs that read
// only local files: path itself, or a temporary file if path is a URL. The caller must call remove.
func (f *Files) Fetch(path string) (local string, remove func(), err error) {
	if !IsURL(path) {
		return Local(path), func() {}, nil
	}
	from, err := f.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer from.Close()
	to, err := os.CreateTemp("", "tapedeck-*"+filepath.Ext(Base(path)))
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.Remove(to.Name()) }
	_, err = io.Copy(to, from)
	if err == nil {
		err = to.Close()
	}
	if err != nil {
		to.Close()
		remove()
		return "", nil, err
	}
	return to.Name(), remove, nil
}

// Prefetch starts to read n bytes at off of a File, so that reading them soon takes no further request. It does
// nothing for local files.
func Prefetch(file io.ReaderAt, off, n int64) {
	if h, ok := file.(interface{ Prefetch(off, n int64) }); ok {
		h.Prefetch(off, n)
	}
}

// ETag returns the ETag of the object that info describes, with its quotes; "" for local files and folders.
func ETag(info fs.FileInfo) string {
	if info, ok := info.(*fileInfo); ok {
		return info.object.ETag
	}
	return ""
}

// fileInfo describes an object or a folder of them. It implements fs.FileInfo and fs.DirEntry.
type fileInfo struct {
	path   string
	object *Object
}

func (i *fileInfo) Name() string               { return Base(i.path) }
func (i *fileInfo) Size() int64                { return i.object.Size }
func (i *fileInfo) ModTime() time.Time         { return i.object.Modified }
func (i *fileInfo) IsDir() bool                { return i.object.Folder }
func (i *fileInfo) Sys() any                   { return nil }
func (i *fileInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i *fileInfo) Info() (fs.FileInfo, error) { return i, nil }

func (i *fileInfo) Mode() fs.FileMode {
	if i.object.Folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// pathError returns err with the path. If err already names a path, pathError returns err.
func pathError(op, path string, err error) error {
	var known *fs.PathError
	if errors.As(err, &known) {
		return err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
