// Package child reads HDF5 files in a child process, because a damaged file may crash libhdf5, or make libhdf5 take too
// much memory or time. The child runs the executable of its parent with a special os.Args[0]. It ends when its parent
// ends.
package child

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"tapedeck/codec/format/hdf5/internal/h5"
)

// processName is os.Args[0] of a child. The other arguments are the path of the file, maxMemory and maxTime.
const processName = "tapedeck: HDF5 reader"

// tookLong is the beginning of the message of a child that ends because of maxTime.
const tookLong = "reading took more than"

// lifeline is the child's descriptor of a pipe. The pipe ends when the parent ends.
const lifeline = 3

// mainCalled reports whether Main was called in this process. Only then can the executable be started as a child.
var mainCalled bool

// Main must be called first in main or TestMain of an executable that reads HDF5 files. In a child, Main reads the file
// and does not return.
func Main() {
	if len(os.Args) == 0 || os.Args[0] != processName {
		mainCalled = true
		return
	}
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// operation is the method of h5.File or h5.Dataset that a request calls.
type operation int

const (
	opType operation = iota
	opList
	opAttribute
	opDataset
	opClose
	opDoubles
	opIntegers
	opRow
	opSequence
)

// request calls an operation with the arguments that the operation needs.
type request struct {
	Op      operation
	Path    string // of the object
	Name    string // of the attribute
	Dataset int    // index in server.datasets
	Row     int    // of the dataset
}

// response is the answer to a request. Size bytes of data follow the response.
type response struct {
	Error   string        // "": the request succeeded
	Type    h5.ObjectType // result of opType
	Names   []string      // result of opList
	Value   any           // result of opAttribute
	Dataset int           // result of opDataset: the index in server.datasets
	Shape   h5.Shape      // result of opDataset: the shape of the dataset
	Size    int           // bytes of the data that follows
	data    []byte        // buffer of the receiver with the data
}

// server is the state of a child.
type server struct {
	file     *h5.File
	datasets []*h5.Dataset // nil: closed
	buffer   []byte        // data of the last response
}

// serve answers requests on standard input until standard input or the lifeline ends.
func serve(args []string) error {
	// The parent also gets these signals, and decides when reading ends.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if len(args) != 3 {
		return errors.New("an HDF5 reader must be started by the package that reads HDF5 files")
	}
	memory, err1 := strconv.ParseUint(args[1], 10, 64)
	cpu, err2 := strconv.ParseUint(args[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for resource, value := range map[int]uint64{unix.RLIMIT_DATA: memory, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0} {
		if err := setLimit(resource, value, true); err != nil {
			return err
		}
	}
	timeUp := make(chan os.Signal, 1)
	signal.Notify(timeUp, syscall.SIGXCPU)
	go func() {
		<-timeUp
		fmt.Fprintf(os.Stderr, "%s %d s of processor time\n", tookLong, cpu)
		os.Exit(1)
	}()
	go func() {
		_, _ = os.NewFile(lifeline, "").Read(make([]byte, 1))
		os.Exit(0) // even if libhdf5 never returns
	}()
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	answer := &response{} // answers that the file is open
	if err := limitTime(cpu); err != nil {
		return err
	}
	file, err := h5.Open(args[0])
	if err != nil {
		answer.Error = err.Error()
	}
	s := &server{file: file}
	for {
		if err := out.Encode(answer); err != nil {
			return err
		}
		if _, err := os.Stdout.Write(s.buffer[:answer.Size]); err != nil {
			return err
		}
		r := new(request)
		if in.Decode(r) != nil {
			return nil
		}
		if err := limitTime(cpu); err != nil {
			return err
		}
		answer = answerTo(s, r)
	}
}

// limitTime makes the system send SIGXCPU to the process after it has used some more s of processor time.
func limitTime(more uint64) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	return setLimit(unix.RLIMIT_CPU, uint64(used.Utime.Sec+used.Stime.Sec)+1+more, false)
}

// setLimit sets a resource limit of the process. If final, the limit cannot be raised again.
func setLimit(resource int, value uint64, final bool) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Cur = min(value, l.Max)
	if final {
		l.Max = l.Cur
	}
	return unix.Setrlimit(resource, &l)
}

// maxIdleBuffer is the maximum size in bytes of a buffer that a child keeps after a dataset is closed.
const maxIdleBuffer = 16 << 20

// answerTo answers a request. Tests replace it.
var answerTo = (*server).answer

// answer executes a request. The data of the response is in s.buffer.
func (s *server) answer(r *request) *response {
	a, err := &response{}, error(nil)
	switch r.Op {
	case opType:
		a.Type = s.file.Type(r.Path)
	case opList:
		a.Names, err = s.file.List(r.Path)
	case opAttribute:
		a.Value = s.file.Attribute(r.Path, r.Name)
	case opDataset:
		var set *h5.Dataset
		set, err = s.file.Dataset(r.Path)
		if err == nil {
			a.Dataset, a.Shape = len(s.datasets), set.Shape
			s.datasets = append(s.datasets, set)
		}
	case opClose:
		err = s.datasets[r.Dataset].Close()
		s.datasets[r.Dataset] = nil
		if cap(s.buffer) > maxIdleBuffer { // the child may be idle from now on
			s.buffer = nil
			debug.FreeOSMemory()
		}
	case opDoubles:
		var values []float64
		values, err = s.datasets[r.Dataset].Doubles()
		s.buffer = bytesOf(values)
		a.Size = len(s.buffer)
	case opIntegers:
		var values []int64
		values, err = s.datasets[r.Dataset].Integers()
		s.buffer = bytesOf(values)
		a.Size = len(s.buffer)
	case opRow:
		s.buffer, err = s.datasets[r.Dataset].Row(r.Row, s.buffer[:0])
		a.Size = len(s.buffer)
	case opSequence:
		s.buffer, err = s.datasets[r.Dataset].Sequence(r.Row, s.buffer[:0])
		a.Size = len(s.buffer)
	}
	if err != nil {
		return &response{Error: err.Error()}
	}
	return a
}

// bytesOf returns the memory of values.
func bytesOf[T float64 | int64](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 8*len(values))
}
