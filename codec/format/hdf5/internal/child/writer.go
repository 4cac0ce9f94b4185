package child

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"sync"

	"tapedeck/codec/format/hdf5/internal/h5type"
)

// Writer is a file that a child writes. The methods do what those of package h5 do. Several goroutines may use a Writer
// at a time.
//
// WriteRow and WriteSequences return when the child has the data, while it still writes. All later methods return the
// error of such a write.
type Writer struct {
	path string

	mu      sync.Mutex // guards the fields below and the use of process
	process *process   // nil: closed
	pending bool       // the last request, of post, has no response yet
	err     error      // of a request of post
}

// Create creates a file. It replaces an existing file.
func Create(path string) (*Writer, error) {
	p, err := start(modeWrite, path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	w := &Writer{path: path, process: p}
	if _, err := p.receive(nil); err != nil {
		p.end()
		return nil, w.explain(err)
	}
	return w, nil
}

// Path returns the path of the file.
func (w *Writer) Path() string { return w.path }

// Close completes the file. If it returns nil, all written data is in the file.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process == nil {
		return nil
	}
	err := w.settle()
	closeErr := w.process.send(&request{Op: opCloseFile})
	if closeErr == nil {
		_, closeErr = w.receive()
	}
	w.process.end()
	w.process = nil
	return cmp.Or(err, closeErr)
}

// MakeGroup creates a group and its missing parents.
func (w *Writer) MakeGroup(path string) error { return w.do(&request{Op: opMakeGroup, Path: path}) }

// LinkSoft makes path a link to target, which need not exist.
func (w *Writer) LinkSoft(target, path string) error {
	return w.do(&request{Op: opLinkSoft, Path: path, Target: target})
}

// LinkExternal makes path a link to target in another file. The name of the other file is relative to the folder of w.
func (w *Writer) LinkExternal(other, target, path string) error {
	return w.do(&request{Op: opLinkExternal, Path: path, Target: target, Other: other})
}

// Type returns the type of the object at path, or h5type.NoObject after an error.
func (w *Writer) Type(path string) h5type.ObjectType {
	a, _ := w.call(&request{Op: opType, Path: path})
	return a.Type
}

// SetAttribute sets an attribute of the object at path to a string, bool, int64 or float64.
func (w *Writer) SetAttribute(path, name string, value any) error {
	return w.do(&request{Op: opSetAttribute, Path: path, Name: name, Value: value})
}

// Put writes a dataset of numbers with the dimensions dims, compressed with gzip.
func Put[T h5type.Number](w *Writer, path string, values []T, dims ...int) error {
	return w.do(&request{Op: opPut, Path: path, Element: h5type.ElementOf[T](), Dims: dims}, h5type.BytesOf(values))
}

// PutStrings writes a dataset of strings.
func (w *Writer) PutStrings(path string, values []string) error {
	return w.do(&request{Op: opPutStrings, Path: path, Texts: values})
}

// NewDataset is a dataset of a Writer that is written in pieces.
type NewDataset struct {
	writer *Writer
	path   string
	index  int // index in the child's server.datasets
}

// CreateRows creates a dataset with the dimensions dims for WriteRow. Each row is a chunk.
func CreateRows[T uint8 | uint16](w *Writer, path string, compressed bool, dims ...int) (*NewDataset, error) {
	return w.create(&request{Op: opCreateRows, Path: path, Element: h5type.ElementOf[T](), Compressed: compressed,
		Dims: dims})
}

// CreateSequences creates a dataset of n byte sequences of variable length for WriteSequences.
func (w *Writer) CreateSequences(path string, n int) (*NewDataset, error) {
	return w.create(&request{Op: opCreateSequences, Path: path, Dims: []int{n}})
}

func (w *Writer) create(r *request) (*NewDataset, error) {
	a, err := w.call(r)
	if err != nil {
		return nil, err
	}
	return &NewDataset{w, r.Path, a.Dataset}, nil
}

// WriteRow writes row i: the bytes of its elements in native byte order.
func (d *NewDataset) WriteRow(i int, data []byte) error {
	return d.writer.post(&request{Op: opWriteRow, Path: d.path, Dataset: d.index, Row: i}, data)
}

// WriteSequences writes sequences of bytes, the first one at index start.
func (d *NewDataset) WriteSequences(start int, items [][]byte) error {
	return d.writer.post(&request{Op: opWriteSequences, Path: d.path, Dataset: d.index, Row: start}, items...)
}

// Close closes d.
func (d *NewDataset) Close() error {
	return d.writer.do(&request{Op: opClose, Path: d.path, Dataset: d.index})
}

// do calls an operation without a result.
func (w *Writer) do(r *request, data ...[]byte) error {
	_, err := w.call(r, data...)
	return err
}

// call sends a request with its data and receives the response.
func (w *Writer) call(r *request, data ...[]byte) (response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.send(r, data...); err != nil {
		return response{}, err
	}
	return w.receive()
}

// post sends a request with its data, and leaves the response to settle.
func (w *Writer) post(r *request, data ...[]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.send(r, data...)
	w.pending = err == nil
	return err
}

// send sends a request with its data, unless a request of post has failed. The caller holds w.mu.
func (w *Writer) send(r *request, data ...[]byte) error {
	if w.process == nil {
		return fmt.Errorf("write %s: %w", w.path, os.ErrClosed)
	}
	if err := w.settle(); err != nil {
		return err
	}
	return w.process.send(r, data...)
}

// settle receives the response to a request of post. It returns the first error of such requests. The caller holds
// w.mu.
func (w *Writer) settle() error {
	if w.pending {
		w.pending = false
		_, err := w.receive()
		w.err = cmp.Or(w.err, err)
	}
	return w.err
}

// receive receives the response to the last request. The caller holds w.mu.
func (w *Writer) receive() (response, error) {
	a, err := w.process.receive(nil)
	return a, w.explain(err)
}

// explain adds the path to the reason why the child has ended.
func (w *Writer) explain(err error) error {
	var ended *endedError
	if errors.As(err, &ended) {
		return fmt.Errorf("write %s: the process with libhdf5 has ended: %w", w.path, err)
	}
	return err
}
