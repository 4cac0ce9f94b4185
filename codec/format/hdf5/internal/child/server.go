//go:build linux

package child

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"tapedeck/codec/format/hdf5/internal/h5type"
)

// file is h5.File.
type file[D dataset] interface {
	Type(path string) h5type.ObjectType
	List(path string) ([]string, error)
	Attribute(path, name string) any
	Dataset(path string) (D, error)
	MakeGroup(path string) error
	LinkSoft(target, path string) error
	LinkExternal(other, target, path string) error
	SetAttribute(path, name string, value any) error
	PutElements(path string, e h5type.Element, data []byte, dims ...int) error
	PutStrings(path string, values []string) error
	CreateRows(path string, e h5type.Element, compressed bool, dims ...int) (D, error)
	CreateSequences(path string, n int) (D, error)
	Close() error
}

// dataset is h5.Dataset.
type dataset interface {
	Description() h5type.Shape
	Close() error
	Doubles() ([]float64, error)
	Integers() ([]int64, error)
	Row(i int, buf []byte) ([]byte, error)
	Sequence(i int, buf []byte) ([]byte, error)
	WriteRow(i int, data []byte) error
	WriteSequences(start int, items [][]byte) error
}

// Main is the main function of the helper: it reads or writes a file as os.Args says until the parent is done. It does
// not return. open and create are functions of package h5.
func Main[D dataset, F file[D]](open, create func(path string) (F, error)) {
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 4 && args[0] == modeRead:
		endWithParent()
		err = read(args[1], args[2], args[3], open)
	case len(args) == 2 && args[0] == modeWrite:
		endWithParent()
		err = serve(args[1], create, func() error { return nil })
	default:
		err = errors.New("this program is started by others of tapedeck to read and write HDF5 files")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// endWithParent ends this process when its parent ends.
func endWithParent() {
	// The parent also gets these signals, and decides when work ends.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		_, _ = os.NewFile(lifeline, "").Read(make([]byte, 1))
		os.Exit(0) // even if libhdf5 never returns
	}()
}

// read serves the file at path with limits of memory in bytes, and of processor time for a request in s.
func read[D dataset, F file[D]](path, memory, cpu string, open func(path string) (F, error)) error {
	bytes, err1 := strconv.ParseUint(memory, 10, 64)
	seconds, err2 := strconv.ParseUint(cpu, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	for resource, value := range map[int]uint64{unix.RLIMIT_DATA: bytes, unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0} {
		if err := setLimit(resource, value, true); err != nil {
			return err
		}
	}
	timeUp := make(chan os.Signal, 1)
	signal.Notify(timeUp, syscall.SIGXCPU)
	go func() {
		<-timeUp
		fmt.Fprintf(os.Stderr, "%s %d s of processor time\n", tookLong, seconds)
		os.Exit(1)
	}()
	return serve(path, open, func() error { return limitTime(seconds) })
}

// server is the state of a child.
type server[D dataset, F file[D]] struct {
	file     F
	datasets []D    // zero: closed
	buffer   []byte // data of the last response
	received []byte // data of the last request
}

// serve opens a file and answers requests on standard input until standard input ends. It calls limit before each
// request.
func serve[D dataset, F file[D]](path string, open func(path string) (F, error), limit func() error) error {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	requests, out := gob.NewDecoder(in), gob.NewEncoder(os.Stdout)
	if err := limit(); err != nil {
		return err
	}
	file, err := open(path)
	s := &server[D, F]{file: file}
	answer := failed(err) // answers that the file is open
	for {
		if err := out.Encode(answer); err != nil {
			return err
		}
		if _, err := os.Stdout.Write(s.buffer[:answer.Size]); err != nil {
			return err
		}
		r := new(request)
		if requests.Decode(r) != nil {
			return nil
		}
		data, err := s.receive(in, r.Sizes)
		if err != nil {
			return err
		}
		if err := limit(); err != nil {
			return err
		}
		before(r)
		answer = s.answer(r, data)
	}
}

// receive receives data in pieces of the given sizes, which are valid until the next call.
func (s *server[D, F]) receive(in io.Reader, sizes []int) (data [][]byte, err error) {
	total := 0
	for _, n := range sizes {
		total += n
	}
	s.received = slices.Grow(s.received[:0], total)[:total]
	_, err = io.ReadFull(in, s.received)
	rest := s.received
	for _, n := range sizes {
		data = append(data, rest[:n:n])
		rest = rest[n:]
	}
	return data, err
}

// before is called before each request is answered. Tests replace it.
var before = func(*request) {}

// failed returns the response for an error, or an empty response for nil.
func failed(err error) *response {
	a := &response{}
	if err != nil {
		a.Error = err.Error()
		_ = errors.As(err, &a.Errno)
	}
	return a
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

// answer executes a request. The data of the response is in s.buffer.
func (s *server[D, F]) answer(r *request, data [][]byte) *response {
	a, err := &response{}, error(nil)
	switch r.Op {
	case opType:
		a.Type = s.file.Type(r.Path)
	case opList:
		a.Names, err = s.file.List(r.Path)
	case opAttribute:
		a.Value = s.file.Attribute(r.Path, r.Name)
	case opDataset:
		var set D
		set, err = s.file.Dataset(r.Path)
		if err == nil {
			a.Shape = set.Description()
			a.Dataset = s.add(set)
		}
	case opClose:
		err = s.datasets[r.Dataset].Close()
		s.datasets[r.Dataset] = *new(D)
		if cap(s.buffer) > maxIdleBuffer { // the child may be idle from now on
			s.buffer = nil
			debug.FreeOSMemory()
		}
	case opDoubles:
		var values []float64
		values, err = s.datasets[r.Dataset].Doubles()
		s.buffer = h5type.BytesOf(values)
		a.Size = len(s.buffer)
	case opIntegers:
		var values []int64
		values, err = s.datasets[r.Dataset].Integers()
		s.buffer = h5type.BytesOf(values)
		a.Size = len(s.buffer)
	case opRow:
		s.buffer, err = s.datasets[r.Dataset].Row(r.Row, s.buffer[:0])
		a.Size = len(s.buffer)
	case opSequence:
		s.buffer, err = s.datasets[r.Dataset].Sequence(r.Row, s.buffer[:0])
		a.Size = len(s.buffer)
	case opMakeGroup:
		err = s.file.MakeGroup(r.Path)
	case opLinkSoft:
		err = s.file.LinkSoft(r.Target, r.Path)
	case opLinkExternal:
		err = s.file.LinkExternal(r.Other, r.Target, r.Path)
	case opSetAttribute:
		err = s.file.SetAttribute(r.Path, r.Name, r.Value)
	case opPut:
		err = s.file.PutElements(r.Path, r.Element, slices.Concat(data...), r.Dims...)
	case opPutStrings:
		err = s.file.PutStrings(r.Path, r.Texts)
	case opCreateRows:
		var set D
		set, err = s.file.CreateRows(r.Path, r.Element, r.Compressed, r.Dims...)
		if err == nil {
			a.Dataset = s.add(set)
		}
	case opCreateSequences:
		var set D
		set, err = s.file.CreateSequences(r.Path, r.Dims[0])
		if err == nil {
			a.Dataset = s.add(set)
		}
	case opWriteRow:
		err = s.datasets[r.Dataset].WriteRow(r.Row, data[0])
	case opWriteSequences:
		err = s.datasets[r.Dataset].WriteSequences(r.Row, data)
	case opCloseFile:
		err = s.file.Close()
	}
	if err != nil {
		return failed(err)
	}
	return a
}

// add adds an open dataset and returns its index.
func (s *server[D, F]) add(set D) int {
	s.datasets = append(s.datasets, set)
	return len(s.datasets) - 1
}
