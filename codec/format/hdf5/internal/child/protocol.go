// Package child reads and writes HDF5 files in a child process, the program hdf5_helper. Only the helper needs libhdf5
// and cgo. A damaged file may crash libhdf5, or make libhdf5 take too much memory or time. The child ends when its
// parent ends.
//
// The parent sends requests to the child's standard input and gets a response to each request from the child's standard
// output. Both are values of encoding/gob, each followed by its data.
package child

import (
	"bufio"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"syscall"

	"tapedeck/codec/format/hdf5/internal/h5type"
)

// Modes of a child: the first argument of the helper.
const (
	modeRead  = "read"  // the other arguments are the path of the file, maxMemory and maxTime
	modeWrite = "write" // the other argument is the path of the file
)

// tookLong is the beginning of the message of a child that ends because of maxTime.
const tookLong = "reading took more than"

// operation is the method of a file or dataset that a request calls.
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

	opMakeGroup
	opLinkSoft
	opLinkExternal
	opSetAttribute
	opPut
	opPutStrings
	opCreateRows
	opCreateSequences
	opWriteRow
	opWriteSequences
	opCloseFile
)

// request calls an operation with the arguments that the operation needs. The data follows the request.
type request struct {
	Op         operation
	Path       string         // of the object
	Name       string         // of the attribute
	Value      any            // of the attribute
	Target     string         // of the link
	Other      string         // file of the link's target
	Texts      []string       // strings of a dataset
	Dataset    int            // index in server.datasets
	Row        int            // of the dataset
	Element    h5type.Element // of a new dataset
	Dims       []int          // of a new dataset
	Compressed bool           // of a new dataset
	Sizes      []int          // bytes of each piece of the data
}

// response is the answer to a request. Size bytes of data follow the response.
type response struct {
	Error   string            // "": the request succeeded
	Errno   syscall.Errno     // error of the system behind Error; 0: none
	Type    h5type.ObjectType // result of opType
	Names   []string          // result of opList
	Value   any               // result of opAttribute
	Dataset int               // result of operations that open or create a dataset: the index in server.datasets
	Shape   h5type.Shape      // result of opDataset: the shape of the dataset
	Size    int               // bytes of the data that follows
	data    []byte            // buffer of the receiver with the data
}

// process is a child.
type process struct {
	command   *exec.Cmd
	in        *bufio.Writer // standard input of the child
	requests  *gob.Encoder  // writes to in
	responses *gob.Decoder  // reads out
	out       *bufio.Reader // standard output of the child
	end       func() string // ends the child, waits for it, and returns why it ended
}

// send sends a request with its data. A child that has ended is no error: receive then returns the reason.
func (p *process) send(r *request, data ...[]byte) error {
	for _, piece := range data {
		r.Sizes = append(r.Sizes, len(piece))
	}
	err := p.requests.Encode(r)
	for _, piece := range data {
		if err == nil {
			_, err = p.in.Write(piece)
		}
	}
	if err == nil {
		err = p.in.Flush()
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// receive receives a response. The data of the response is appended to buf. The error is an *endedError if the child
// has ended.
func (p *process) receive(buf []byte) (a response, err error) {
	err = p.responses.Decode(&a)
	a.data = buf
	if err == nil && (a.Size < 0 || a.Size > h5type.MaxData) {
		err = fmt.Errorf("invalid size of data: %d bytes", a.Size)
	}
	if err == nil && a.Size > 0 {
		a.data = slices.Grow(buf, a.Size)[:len(buf)+a.Size]
		_, err = io.ReadFull(p.out, a.data[len(buf):])
	}
	switch {
	case err != nil:
		reason := p.end()
		if reason == "" {
			reason = err.Error()
		}
		return response{}, &endedError{reason}
	case a.Errno != 0:
		return response{}, &systemError{a.Error, a.Errno}
	case a.Error != "":
		return response{}, errors.New(a.Error)
	}
	return a, nil
}

// endedError is returned when the child has ended.
type endedError struct{ reason string }

func (e *endedError) Error() string { return e.reason }

// systemError is an error of the system in the child, such as a full disk.
type systemError struct {
	text  string
	errno syscall.Errno
}

func (e *systemError) Error() string { return e.text }
func (e *systemError) Unwrap() error { return e.errno }
