package h5

// #include <stdlib.h>
// #include "complement.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"gonum.org/v1/hdf5"

	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/text/plural"
)

// chunkElements is the approximate number of elements in a compressed chunk.
const chunkElements = 1 << 14

// Put writes a dataset of numbers with the dimensions dims, compressed with gzip.
func Put[T h5type.Number](f *File, path string, values []T, dims ...int) error {
	rows, rowLen, err := countElements(dims)
	if err != nil || len(dims) == 0 || rows*rowLen != len(values) {
		return fmt.Errorf("write %s: %s for a shape of %v", path, plural.Count(len(values), "number"), dims)
	}
	var chunk []int // dimensions of a chunk; nil: the dataset has no chunks and is not compressed
	if len(values) > 0 {
		chunk = append([]int{min(rows, max(1, chunkElements/rowLen))}, dims[1:]...)
	}
	return call("write "+path, func() error {
		set, err := create[T](f, path, dims, chunk, chunk != nil)
		if err != nil {
			return err
		}
		if len(values) > 0 {
			err = set.Write(&values)
		}
		return errors.Join(err, set.Close())
	})
}

// create creates a dataset. chunk has the dimensions of a chunk; nil: the dataset has no chunks.
func create[T h5type.Number](f *File, path string, dims, chunk []int, compressed bool) (*hdf5.Dataset, error) {
	if err := f.writable(); err != nil {
		return nil, err
	}
	var zero T
	dtype, err := hdf5.NewDatatypeFromValue(zero)
	if err != nil {
		return nil, err
	}
	defer dtype.Close()
	space, err := hdf5.CreateSimpleDataspace(toUints(dims), nil)
	if err != nil {
		return nil, err
	}
	defer space.Close()
	properties, err := hdf5.NewPropList(hdf5.P_DATASET_CREATE)
	if err != nil {
		return nil, err
	}
	defer properties.Close()
	if chunk != nil {
		if err := properties.SetChunk(toUints(chunk)); err != nil {
			return nil, err
		}
	}
	if compressed {
		if err := properties.SetDeflate(4); err != nil {
			return nil, err
		}
	}
	return f.writer.CreateDatasetWith(path, dtype, space, properties)
}

func toUints(dims []int) []uint {
	s := make([]uint, len(dims))
	for i, d := range dims {
		s[i] = uint(d)
	}
	return s
}

// countElements returns the number of rows of a dataset, and the number of elements of a row.
func countElements(dims []int) (rows, rowLen int, err error) {
	rowLen = 1
	for i, d := range dims {
		if d < 0 || i > 0 && d > 0 && rowLen > math.MaxInt/d {
			return 0, 0, errors.New("the number of elements is negative or too large")
		}
		if i > 0 {
			rowLen *= d
		}
	}
	if len(dims) == 0 {
		return 1, 1, nil
	}
	if rowLen > 0 && dims[0] > math.MaxInt/rowLen {
		return 0, 0, errors.New("the number of elements is too large")
	}
	return dims[0], rowLen, nil
}

// PutStrings writes a dataset of strings.
func (f *File) PutStrings(path string, values []string) error {
	texts := make([]*C.char, len(values)+1) // one more than values, so that &texts[0] exists
	for i, v := range values {
		texts[i] = C.CString(v)
		defer C.free(unsafe.Pointer(texts[i]))
	}
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	return call("write "+path,
		func() error { return check(C.write_strings(f.handle, p, C.hsize_t(len(values)), &texts[0])) })
}

// Dataset is an open dataset. Closing its file closes it, too.
type Dataset struct {
	h5type.Shape
	file    *File
	path    string
	handle  C.hid_t
	stored  int64 // bytes of the data in the file
	chunked bool
	rowSize int // bytes of a row in memory
}

// CreateSequences creates a dataset of n byte sequences of variable length for WriteSequences.
func (f *File) CreateSequences(path string, n int) (*Dataset, error) {
	if err := f.writable(); err != nil {
		return nil, err
	}
	return f.createEmpty(path, func() (*hdf5.Dataset, error) {
		dtype, err := hdf5.NewVarLenType(hdf5.T_NATIVE_UINT8)
		if err != nil {
			return nil, err
		}
		defer dtype.Close()
		space, err := hdf5.CreateSimpleDataspace([]uint{uint(n)}, nil)
		if err != nil {
			return nil, err
		}
		defer space.Close()
		return f.writer.CreateDataset(path, &dtype.Datatype, space)
	})
}

// createEmpty creates a dataset without data by calling create, and opens it.
func (f *File) createEmpty(path string, create func() (*hdf5.Dataset, error)) (*Dataset, error) {
	err := call("create "+path, func() error {
		set, err := create()
		if err != nil {
			return err
		}
		return set.Close()
	})
	if err != nil {
		return nil, err
	}
	return f.Dataset(path)
}

// CreateRows creates a dataset with the dimensions dims for WriteRow. Each row is a chunk.
func CreateRows[T uint8 | uint16](f *File, path string, compressed bool, dims ...int) (*Dataset, error) {
	if _, rowLen, err := countElements(dims); err != nil || rowLen == 0 || len(dims) < 2 {
		return nil, fmt.Errorf("create %s: rows of %v", path, dims)
	}
	return f.createEmpty(path, func() (*hdf5.Dataset, error) {
		return create[T](f, path, dims, append([]int{1}, dims[1:]...), compressed)
	})
}

// Dataset opens the dataset at path.
func (f *File) Dataset(path string) (*Dataset, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	d := &Dataset{file: f, path: path}
	var shape C.struct_shape
	err := call("open "+path, func() error {
		d.handle = C.open_dataset(f.handle, p, &shape)
		if d.handle >= 0 {
			f.datasets[d] = true
		}
		return check(d.handle)
	})
	if err != nil {
		return nil, err
	}
	if shape.missing_filter != 0 {
		d.Close()
		return nil, fmt.Errorf("open %s: the dataset is compressed with %s, which this libhdf5 lacks: install the "+
			"filter's plugin, or decompress the file with 'h5repack -f NONE' on a computer with the plugin", path,
			filterName(int(shape.missing_filter)))
	}
	d.Kind, d.Size, d.Variable = h5type.Kind(shape.kind), int(shape.size), shape.variable != 0
	d.stored, d.chunked = int64(shape.stored), shape.chunked != 0
	for _, dim := range shape.dims[:shape.rank] {
		if dim > math.MaxInt32 {
			d.Close()
			return nil, fmt.Errorf("open %s: a dimension of %d is too large", path, uint64(dim))
		}
		d.Dims = append(d.Dims, int(dim))
	}
	_, rowLen, err := countElements(d.Dims)
	if err == nil && (d.Size <= 0 || rowLen > math.MaxInt32/d.Size) {
		err = fmt.Errorf("rows of %s of %s", plural.Count(rowLen, "element"), plural.Count(d.Size, "byte"))
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	d.rowSize = rowLen * d.Size
	return d, nil
}

// filterName returns the name of a filter, given its number in The HDF Group's registry.
func filterName(id int) string {
	name := map[int]string{4: "szip", 305: "LZO", 307: "bzip2", 32000: "LZF", 32001: "Blosc", 32004: "LZ4",
		32008: "Bitshuffle", 32013: "ZFP", 32015: "Zstandard", 32017: "SZ", 32026: "Blosc2"}[id]
	if name == "" {
		return fmt.Sprintf("filter %d", id)
	}
	return fmt.Sprintf("%s (filter %d)", name, id)
}

// Close closes d.
func (d *Dataset) Close() error {
	return call("close "+d.path, func() error {
		if !d.file.datasets[d] {
			return nil
		}
		delete(d.file.datasets, d)
		return check(C.close_dataset(d.handle))
	})
}

// WriteSequences writes sequences of bytes, the first one at index start.
func (d *Dataset) WriteSequences(start int, items [][]byte) error {
	if d.Kind != h5type.Bytes || len(d.Dims) != 1 || start < 0 || start > d.Len() || len(items) > d.Len()-start {
		return fmt.Errorf("write %s: sequences %d to %d of %d of kind %d", d.path, start, start+len(items), d.Len(),
			d.Kind)
	}
	if len(items) == 0 {
		return nil
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	sequences := make([]C.hvl_t, len(items))
	for i, item := range items {
		if len(item) > 0 {
			pins.Pin(&item[0])
			sequences[i] = C.hvl_t{len: C.size_t(len(item)), p: unsafe.Pointer(&item[0])}
		}
	}
	return call("write "+d.path, func() error {
		return check(C.write_sequences(d.handle, C.hsize_t(start), C.hsize_t(len(items)), &sequences[0]))
	})
}

// WriteRow writes row i: the bytes of its elements in native byte order.
func (d *Dataset) WriteRow(i int, data []byte) error {
	if d.Kind != h5type.Integer || len(d.Dims) < 2 || i < 0 || i >= d.Len() || len(data) != d.rowSize {
		return fmt.Errorf("write %s: row %d of %d, %d bytes of %d", d.path, i, d.Len(), len(data), d.rowSize)
	}
	return call("write "+d.path, func() error {
		return check(C.write_rows(d.handle, C.hsize_t(i), 1, unsafe.Pointer(&data[0])))
	})
}

// maxRatio exceeds the greatest compression ratio of gzip.
const maxRatio = 1100

// checkSize returns an error if the size of a read in bytes exceeds h5type.MaxData.
func (d *Dataset) checkSize(bytes int) error {
	if bytes > h5type.MaxData {
		return fmt.Errorf("read %s: %d MiB at once are more than the %d MiB that this program reads: divide the "+
			"data into smaller episodes or images", d.path, bytes>>20, h5type.MaxData>>20)
	}
	return nil
}

// numElements returns the number of elements, or an error if the file is too small for so many elements.
func (d *Dataset) numElements() (int, error) {
	rows, rowLen, err := countElements(d.Dims)
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", d.path, err)
	}
	n := float64(rows) * float64(rowLen)
	limit := float64(d.stored) // bytes of the decompressed data
	if d.chunked {
		limit *= maxRatio
	}
	if d.stored > d.file.size || n*float64(d.Size) > limit {
		return 0, fmt.Errorf("read %s: %v elements of %s are more than the file has", d.path, d.Dims,
			plural.Count(d.Size, "byte"))
	}
	return rows * rowLen, d.checkSize(8 * rows * rowLen)
}

// Doubles returns all numbers of d.
func (d *Dataset) Doubles() ([]float64, error) {
	n, err := d.numElements()
	if err != nil || n == 0 {
		return nil, err
	}
	if d.Kind != h5type.Integer && d.Kind != h5type.Float {
		return nil, fmt.Errorf("read %s: not numbers", d.path)
	}
	values := make([]float64, n)
	return values, call("read "+d.path, func() error {
		return check(C.read_doubles(d.handle, (*C.double)(&values[0])))
	})
}

// Integers returns all integers of d.
func (d *Dataset) Integers() ([]int64, error) {
	n, err := d.numElements()
	if err != nil || n == 0 {
		return nil, err
	}
	if d.Kind != h5type.Integer {
		return nil, fmt.Errorf("read %s: not integers", d.path)
	}
	values := make([]int64, n)
	return values, call("read "+d.path, func() error {
		return check(C.read_integers(d.handle, (*C.int64_t)(&values[0])))
	})
}

// Row appends row i to buf: the bytes of its elements in native byte order.
func (d *Dataset) Row(i int, buf []byte) ([]byte, error) {
	if d.Kind == h5type.Bytes || d.Kind == h5type.Other || d.Variable || len(d.Dims) == 0 || i < 0 || i >= d.Len() {
		return nil, fmt.Errorf("read %s: no row %d", d.path, i)
	}
	limit := d.stored // bytes of the decompressed data
	if d.chunked {
		limit *= maxRatio
	}
	if d.stored > d.file.size || int64(d.rowSize) > limit {
		return nil, fmt.Errorf("read %s: rows of %s are more than the file has", d.path,
			plural.Count(d.rowSize, "byte"))
	}
	if err := d.checkSize(d.rowSize); err != nil || d.rowSize == 0 {
		return buf, err
	}
	start := len(buf)
	buf = append(buf, make([]byte, d.rowSize)...)
	return buf, call("read "+d.path, func() error {
		return check(C.read_row(d.handle, C.hsize_t(i), unsafe.Pointer(&buf[start])))
	})
}

// Sequence appends sequence i to buf.
func (d *Dataset) Sequence(i int, buf []byte) ([]byte, error) {
	if d.Kind != h5type.Bytes || len(d.Dims) != 1 || i < 0 || i >= d.Len() {
		return nil, fmt.Errorf("read %s: no sequence %d", d.path, i)
	}
	var data unsafe.Pointer
	var size C.size_t
	err := call(fmt.Sprintf("read %s: sequence %d", d.path, i), func() error {
		return check(C.read_sequence(d.handle, C.hsize_t(i), C.size_t(min(d.file.size, h5type.MaxData)), &data, &size))
	})
	if err != nil {
		return nil, err
	}
	defer C.free(data)
	return append(buf, unsafe.Slice((*byte)(data), int(size))...), nil
}

// Description returns the shape of d.
func (d *Dataset) Description() h5type.Shape { return d.Shape }
