// Package child reads HDF5 files in another process, because a damaged file may crash libhdf5, or make it take too much
// memory or time. The process runs the executable of its parent under a name that Main looks for. It ends with its
// parent.
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

// name is os.Args[0] of the process that reads. The next arguments are the path of the file, mostMemory and mostTime.
const name = "tapedeck: HDF5 reader"

// tookLong begins the message of a process that ends because of mostTime.
const tookLong = "it took more than"

// lifeline is the descriptor of a pipe. It is closed when the parent ends.
const lifeline = 3

// ready reports whether Main was called, so that the executable can be started as a reader.
var ready bool

// Main must be called before anything else in main, or TestMain, of an executable that reads HDF5 files. It does not
// return in a process that was started to read one.
func Main() {
	if len(os.Args) == 0 || os.Args[0] != name {
		ready = true
		return
	}
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// operation is the operation of a request.
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

type request struct {
	Op         operation
	Path, Name string
	Set, Row   int
}

// response is the answer to a request. Size bytes of data follow it.
type response struct {
	Error string
	Type  h5.ObjectType
	Names []string
	Value any
	Set   int
	Shape h5.Shape
	Size  int
	data  []byte // the data; set by the receiver
}

// server is the state of the process that reads.
type server struct {
	file   *h5.File
	sets   []*h5.Dataset
	buffer []byte
}

// serve answers requests on standard input until standard input or the lifeline ends.
func serve(args []string) error {
	// The parent gets these signals, too, and decides when reading ends.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	if len(args) != 3 {
		return errors.New("it is started by other processes only")
	}
	memory, err1 := strconv.ParseUint(args[1], 10, 64)
	cpu, err2 := strconv.ParseUint(args[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for resource, most := range map[int]uint64{unix.RLIMIT_DATA: memory, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0} {
		if err := limit(resource, most, true); err != nil {
			return err
		}
	}
	late := make(chan os.Signal, 1)
	signal.Notify(late, syscall.SIGXCPU)
	go func() {
		<-late
		fmt.Fprintf(os.Stderr, "%s %d s of processor time\n", tookLong, cpu)
		os.Exit(1)
	}()
	go func() {
		_, _ = os.NewFile(lifeline, "").Read(make([]byte, 1))
		os.Exit(0) // even if libhdf5 never returns
	}()
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	answer := &response{}
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

// limitTime makes the system send SIGXCPU after a number of s of processor time from now.
func limitTime(more uint64) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	return limit(unix.RLIMIT_CPU, uint64(used.Utime.Sec+used.Stime.Sec)+1+more, false)
}

// limit sets a resource limit of the process. If final, the limit cannot be raised again.
func limit(resource int, most uint64, final bool) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(resource, &l); err != nil {
		return err
	}
	l.Cur = min(most, l.Max)
	if final {
		l.Max = l.Cur
	}
	return unix.Setrlimit(resource, &l)
}

// mostKept limits the bytes of the buffer that the process keeps when a dataset is closed.
const mostKept = 16 << 20

// answerTo is replaced by tests.
var answerTo = (*server).answer

// answer executes a request. The data of the response is in the buffer.
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
			a.Set, a.Shape = len(s.sets), set.Shape
			s.sets = append(s.sets, set)
		}
	case opClose:
		err = s.sets[r.Set].Close()
		s.sets[r.Set] = nil
		if cap(s.buffer) > mostKept { // the process may be idle from now on
			s.buffer = nil
			debug.FreeOSMemory()
		}
	case opDoubles:
		var values []float64
		values, err = s.sets[r.Set].Doubles()
		s.buffer = bytesOf(values)
		a.Size = len(s.buffer)
	case opIntegers:
		var values []int64
		values, err = s.sets[r.Set].Integers()
		s.buffer = bytesOf(values)
		a.Size = len(s.buffer)
	case opRow:
		s.buffer, err = s.sets[r.Set].Row(r.Row, s.buffer[:0])
		a.Size = len(s.buffer)
	case opSequence:
		s.buffer, err = s.sets[r.Set].Sequence(r.Row, s.buffer[:0])
		a.Size = len(s.buffer)
	}
	if err != nil {
		return &response{Error: err.Error()}
	}
	return a
}

func bytesOf[T float64 | int64](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), 8*len(values))
}
