package child

import (
	"bufio"
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"tapedeck/codec/format/hdf5/internal/h5"
)

// Limits of each process. A process reads at most h5.MostData at once, and libhdf5 makes up to three copies of it.
var (
	mostMemory uint64 = 2 << 30 // bytes
	mostTime   uint64 = 60      // s of processor time for a request
)

// File is a file that a process of its own reads while the file has users. It may be used in several goroutines.
type File struct {
	path string
	name string // name of the file in errors

	mu      sync.Mutex  // guards the fields below and the use of process
	stat    os.FileInfo // of the file when it was first opened
	users   int
	closed  bool
	process *process // nil: none
	err     error    // first error of the process itself
}

// idle is the file that was released last. Its process waits for the next user, because cameras are read one after the
// other.
var idle atomic.Pointer[File]

// New returns the file at path, without users. Errors call it name.
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

func (f *File) open() error {
	stat, err := os.Stat(f.path)
	if err != nil {
		return err
	}
	if f.stat == nil {
		f.stat = stat
	}
	if !os.SameFile(stat, f.stat) || stat.Size() != f.stat.Size() || !stat.ModTime().Equal(f.stat.ModTime()) {
		return fmt.Errorf("open %s: it was changed meanwhile", f.name)
	}
	if f.process != nil {
		return nil
	}
	p, err := start(f.path)
	if err != nil {
		return fmt.Errorf("open %s: start a process that reads it: %w", f.name, err)
	}
	f.err = nil
	if _, err := f.receive(p, "open", nil); err != nil {
		p.end()
		return err
	}
	f.process = p
	return nil
}

// Release removes a user. After the last user, the process ends when another file is released, or with Close.
func (f *File) Release() {
	f.mu.Lock()
	f.users--
	over := f.closed || f.err != nil
	f.mu.Unlock()
	if over {
		f.retire()
	} else if before := idle.Swap(f); before != nil && before != f {
		before.retire()
	}
}

// retire ends the process unless there are users.
func (f *File) retire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.users == 0 && f.process != nil {
		_ = f.process.command.Process.Kill() // it has nothing to complete
		f.process.end()
		f.process = nil
	}
}

// Close ends the process after the last user.
func (f *File) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	idle.CompareAndSwap(f, nil)
	f.retire()
}

// Err returns the error that ended the process, or nil. Type and Attribute do not return this error.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Type returns the type of the object at path.
func (f *File) Type(path string) h5.ObjectType {
	a, _ := f.call(&request{Op: opType, Path: path}, nil)
	return a.Type
}

// List returns h5.File.List of a group.
func (f *File) List(path string) ([]string, error) {
	a, err := f.call(&request{Op: opList, Path: path}, nil)
	return a.Names, err
}

// Attribute returns h5.File.Attribute of the object at path.
func (f *File) Attribute(path, name string) any {
	a, _ := f.call(&request{Op: opAttribute, Path: path, Name: name}, nil)
	return a.Value
}

// Dataset is an open h5.Dataset of the process.
type Dataset struct {
	h5.Shape
	file *File
	path string
	set  int
}

// Dataset opens the dataset at path.
func (f *File) Dataset(path string) (*Dataset, error) {
	a, err := f.call(&request{Op: opDataset, Path: path}, nil)
	if err != nil {
		return nil, err
	}
	return &Dataset{Shape: a.Shape, file: f, path: path, set: a.Set}, nil
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

func numbers[T float64 | int64](d *Dataset, op operation) ([]T, error) {
	data, err := d.call(op, 0, nil)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	values := make([]T, len(data)/8)
	copy(bytesOf(values), data)
	return values, nil
}

func (d *Dataset) call(op operation, row int, buf []byte) ([]byte, error) {
	a, err := d.file.call(&request{Op: op, Path: d.path, Set: d.set, Row: row}, buf)
	return a.data, err
}

// call sends a request and receives the response, with data appended to buf.
func (f *File) call(r *request, buf []byte) (response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return response{}, f.err
	}
	if f.users == 0 {
		return response{}, fmt.Errorf("read %s: %w", r.Path, os.ErrClosed)
	}
	if err := f.process.requests.Encode(r); err != nil && !errors.Is(err, unix.EPIPE) {
		return response{}, err
	}
	return f.receive(f.process, "read "+r.Path, buf)
}

// receive receives a response, with data appended to buf.
func (f *File) receive(p *process, what string, buf []byte) (a response, err error) {
	err = p.responses.Decode(&a)
	a.data = buf
	if err == nil && (a.Size < 0 || a.Size > h5.MostData) {
		err = fmt.Errorf("%d bytes", a.Size)
	}
	if err == nil && a.Size > 0 {
		a.data = slices.Grow(buf, a.Size)[:len(buf)+a.Size]
		_, err = io.ReadFull(p.out, a.data[len(buf):])
	}
	if err != nil {
		// libhdf5 crashes if memory is short, just as it does on damaged files.
		reason, cause := cmp.Or(p.end(), err.Error()), "the file is damaged"
		if !strings.HasPrefix(reason, tookLong) {
			cause += fmt.Sprintf(", or takes more than %d MiB of memory", mostMemory>>20)
		}
		f.err = fmt.Errorf("%s of %s: libhdf5 failed: %s; %s: use another copy of it, or convert its source again",
			what, f.name, reason, cause)
		return response{}, f.err
	}
	if a.Error != "" {
		return response{}, errors.New(strings.ReplaceAll(a.Error, f.path, f.name))
	}
	return a, nil
}

// process is a process that reads a file.
type process struct {
	command   *exec.Cmd
	requests  *gob.Encoder
	out       *bufio.Reader
	responses *gob.Decoder
	output    head
	end       func() string // ends the process, and returns why it ended
}

// head keeps the first 4096 bytes that are written to it. They contain the reason why the process ended.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), 4096-len(*h))]...)
	return len(p), nil
}

func start(path string) (*process, error) {
	if !ready {
		return nil, errors.New("this executable does not call Main of package hdf5")
	}
	p := &process{command: exec.Command("/proc/self/exe")}
	p.command.Args = []string{name, path, strconv.FormatUint(mostMemory, 10), strconv.FormatUint(mostTime, 10)}
	p.command.Env = append(os.Environ(), "GOTRACEBACK=none")
	p.command.Stderr = &p.output
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not end it
	in, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	p.command.ExtraFiles = []*os.File{theirs} // lifeline
	if err := p.command.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	if file, ok := out.(*os.File); ok {
		_, _ = unix.FcntlInt(file.Fd(), unix.F_SETPIPE_SZ, 1<<20) // fewer turns for large images, if allowed
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	p.requests, p.responses = gob.NewEncoder(in), gob.NewDecoder(p.out)
	p.end = sync.OnceValue(func() string {
		ours.Close()
		state := p.command.Wait()
		text, _, _ := strings.Cut(strings.TrimSpace(string(p.output)), "\n")
		if text == "" && state != nil {
			text = state.Error()
		}
		return text
	})
	return p, nil
}
