package child

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"tapedeck/codec/format/hdf5/internal/h5type"
)

// Limits of each child. A child reads at most h5type.MaxData at once, and libhdf5 makes up to three copies of the data.
var (
	maxMemory uint64 = 2 << 30 // bytes
	maxTime   uint64 = 60      // s of processor time for a request
)

// File is a file that a child reads while the file has users. Several goroutines may use a File at a time.
type File struct {
	path string
	name string // name of the file in errors

	mu      sync.Mutex  // guards the fields below and the use of process
	stat    os.FileInfo // state of the file when it was first opened
	users   int         // number of calls of Acquire without Release
	closed  bool
	process *process // child that reads the file; nil: none
	err     error    // why the child ended; nil after it is started
}

// idle is the file that was released last. Its child waits for the next user, because the cameras of a file are read
// one after the other.
var idle atomic.Pointer[File]

// New returns the file at path, without users. Errors contain name instead of path.
func New(path, name string) *File { return &File{path: path, name: name} }

// Acquire adds a user. The first user opens the file. Each user must call Release.
func (f *File) Acquire() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 {
		if err := f.open(); err != nil {
			return err
		}
	}
	f.users++
	return nil
}

// open starts a child that opens the file, unless the file's idle child still runs. The caller holds f.mu.
func (f *File) open() error {
	stat, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if f.stat == nil {
		f.stat = stat
	}
	if !os.SameFile(stat, f.stat) || stat.Size() != f.stat.Size() || !stat.ModTime().Equal(f.stat.ModTime()) {
		return fmt.Errorf("open %s: the file changed since it was first opened", f.name)
	}
	if f.process != nil {
		return nil
	}
	p, err := start(modeRead, f.path, fmt.Sprint(maxMemory), fmt.Sprint(maxTime))
	if err != nil {
		return fmt.Errorf("open %s: %w", f.name, err)
	}
	f.err = nil
	if _, err := f.receive(p, "open", nil); err != nil {
		p.end()
		return err
	}
	f.process = p
	return nil
}

// Release removes a user. After the last user, the child ends when another file is released or f is closed.
func (f *File) Release() {
	f.mu.Lock()
	f.users--
	useless := f.closed || f.err != nil
	f.mu.Unlock()
	if useless {
		f.endUnused()
	} else if before := idle.Swap(f); before != nil && before != f {
		before.endUnused()
	}
}

// endUnused ends the child unless the file has users.
func (f *File) endUnused() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 && f.process != nil {
		_ = f.process.command.Process.Kill() // a child has nothing to complete
		f.process.end()
		f.process = nil
	}
}

// Close ends the child, now or after the last Release.
func (f *File) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	idle.CompareAndSwap(f, nil)
	f.endUnused()
}

// Err returns the error that ended the child, or nil. Type and Attribute cannot return this error.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Type returns the type of the object at path, or h5type.NoObject after an error.
func (f *File) Type(path string) h5type.ObjectType {
	a, _ := f.call(&request{Op: opType, Path: path}, nil)
	return a.Type
}

// List returns the names of the members of a group, as package h5 does.
func (f *File) List(path string) ([]string, error) {
	a, err := f.call(&request{Op: opList, Path: path}, nil)
	return a.Names, err
}

// Attribute returns an attribute of the object at path, as package h5 does. After an error, it returns nil.
func (f *File) Attribute(path, name string) any {
	a, _ := f.call(&request{Op: opAttribute, Path: path, Name: name}, nil)
	return a.Value
}

// Dataset is a dataset that the child has opened.
type Dataset struct {
	h5type.Shape
	file  *File
	path  string
	index int // index in the child's server.datasets
}

// Dataset opens the dataset at path.
func (f *File) Dataset(path string) (*Dataset, error) {
	a, err := f.call(&request{Op: opDataset, Path: path}, nil)
	if err != nil {
		return nil, err
	}
	return &Dataset{Shape: a.Shape, file: f, path: path, index: a.Dataset}, nil
}

// Path returns the path of d in its file.
func (d *Dataset) Path() string { return d.path }

// Close closes d.
func (d *Dataset) Close() error {
	_, err := d.call(opClose, 0, nil)
	return err
}

// Row appends row i to buf: the bytes of its elements in native byte order.
func (d *Dataset) Row(i int, buf []byte) ([]byte, error) { return d.call(opRow, i, buf) }

// Sequence appends sequence i to buf.
func (d *Dataset) Sequence(i int, buf []byte) ([]byte, error) { return d.call(opSequence, i, buf) }

// Doubles returns all numbers of d.
func (d *Dataset) Doubles() ([]float64, error) { return numbers[float64](d, opDoubles) }

// Integers returns all integers of d.
func (d *Dataset) Integers() ([]int64, error) { return numbers[int64](d, opIntegers) }

// numbers returns the data of opDoubles or opIntegers.
func numbers[T float64 | int64](d *Dataset, op operation) ([]T, error) {
	data, err := d.call(op, 0, nil)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	values := make([]T, len(data)/8)
	copy(h5type.BytesOf(values), data)
	return values, nil
}

// call calls an operation of d, and returns the data appended to buf.
func (d *Dataset) call(op operation, row int, buf []byte) ([]byte, error) {
	a, err := d.file.call(&request{Op: op, Path: d.path, Dataset: d.index, Row: row}, buf)
	return a.data, err
}

// call sends a request and receives the response. The data of the response is appended to buf.
func (f *File) call(r *request, buf []byte) (response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return response{}, f.err
	}
	if f.users == 0 {
		return response{}, fmt.Errorf("read %s: %w", r.Path, os.ErrClosed)
	}
	if err := f.process.send(r); err != nil {
		return response{}, err
	}
	return f.receive(f.process, "read "+r.Path, buf)
}

// receive receives a response. The data of the response is appended to buf. Errors begin with operation. The caller
// holds f.mu.
func (f *File) receive(p *process, operation string, buf []byte) (response, error) {
	a, err := p.receive(buf)
	var ended *endedError
	switch {
	case errors.As(err, &ended):
		// libhdf5 may crash because the file is damaged, or because memory is short.
		cause := "the file is damaged"
		if !strings.HasPrefix(ended.reason, tookLong) {
			cause += fmt.Sprintf(", or takes more than %d MiB of memory", maxMemory>>20)
		}
		f.err = fmt.Errorf("%s of %s: libhdf5 failed: %w; %s: use another copy of the file, or convert its source "+
			"again", operation, f.name, err, cause)
		return response{}, f.err
	case err != nil:
		return response{}, errors.New(strings.ReplaceAll(err.Error(), f.path, f.name))
	}
	return a, nil
}
