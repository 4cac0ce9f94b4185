package h5

// #include <stdlib.h>
// #include "complement.h"
import "C"

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"unsafe"

	"gonum.org/v1/hdf5"

	"tapedeck/codec/format/hdf5/internal/h5type"
	"tapedeck/codec/text/plural"
)

// File is an open file. Close also closes the datasets of the file. Several goroutines may use files and datasets at a
// time.
type File struct {
	path     string
	handle   C.hid_t
	writer   *hdf5.File // has the same handle; nil for reading
	size     int64      // bytes of the file, for reading
	open     bool
	datasets map[*Dataset]bool // open datasets
}

// Create creates a file for writing. It replaces an existing file.
func Create(path string) (*File, error) {
	f, err := open("create", path, true)
	if err != nil {
		return nil, err
	}
	// hdf5.CreateFile cannot select the driver in guard.c. A hdf5.File consists only of its handle.
	f.writer = new(hdf5.File)
	*(*C.hid_t)(unsafe.Pointer(f.writer)) = f.handle
	return f, nil
}

// Open opens a file for reading.
func Open(path string) (*File, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f, err := open("open", path, false)
	if err != nil {
		return nil, err
	}
	f.size = stat.Size()
	return f, nil
}

// open opens or creates a file. The errors of open begin with operation.
func open(operation, path string, create bool) (*File, error) {
	f := &File{path: path, open: true, datasets: map[*Dataset]bool{}}
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	err := call(operation+" "+path, func() error {
		f.handle = C.open_guarded(p, C.bool(create))
		return check(f.handle)
	})
	return f, err
}

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Close closes the file and its datasets. If it returns nil, all written data is in the file.
func (f *File) Close() error {
	if !f.open {
		return nil
	}
	f.open = false
	var errs []error
	for d := range maps.Clone(f.datasets) {
		errs = append(errs, d.Close())
	}
	errs = append(errs, call("close "+f.path, func() error {
		// libhdf5 closes a file with open objects incompletely, and without an error. The file counts as an object.
		if n := C.count_open_objects(f.handle); n != 1 {
			errs = append(errs, fmt.Errorf("close %s: %d objects are still open", f.path, n-1))
		}
		var err error
		if f.writer != nil {
			err = f.writer.Flush(hdf5.F_SCOPE_GLOBAL)
		}
		return errors.Join(err, check(C.H5Fclose(f.handle)))
	}))
	return errors.Join(errs...)
}

// writable returns an error unless f was opened by Create.
func (f *File) writable() error {
	if f.writer == nil {
		return fmt.Errorf("%s is open for reading", f.path)
	}
	return nil
}

// MakeGroup creates a group and its missing parents.
func (f *File) MakeGroup(path string) error {
	if err := f.writable(); err != nil {
		return err
	}
	return call("make group "+path, func() error {
		group := ""
		for _, name := range strings.Split(strings.Trim(path, "/"), "/") {
			group += "/" + name
			if f.writer.LinkExists(group) {
				continue
			}
			g, err := f.writer.CreateGroup(group)
			if err != nil {
				return err
			}
			if err := g.Close(); err != nil {
				return err
			}
		}
		return nil
	})
}

// LinkSoft makes path a link to target, which need not exist.
func (f *File) LinkSoft(target, path string) error {
	t, p := C.CString(target), C.CString(path)
	defer C.free(unsafe.Pointer(t))
	defer C.free(unsafe.Pointer(p))
	return call("link "+path, func() error { return check(C.link_soft(f.handle, t, p)) })
}

// LinkExternal makes path a link to target in another file. The name of the other file is relative to the folder of f.
func (f *File) LinkExternal(other, target, path string) error {
	o, t, p := C.CString(other), C.CString(target), C.CString(path)
	defer C.free(unsafe.Pointer(o))
	defer C.free(unsafe.Pointer(t))
	defer C.free(unsafe.Pointer(p))
	return call("link "+path, func() error { return check(C.link_external(f.handle, o, t, p)) })
}

// Type returns the type of the object at path.
func (f *File) Type(path string) h5type.ObjectType {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	found := h5type.NoObject
	call(path, func() error { //nolint:errcheck // a missing object has the type NoObject
		switch C.object_type(f.handle, p) {
		case C.H5I_GROUP:
			found = h5type.GroupObject
		case C.H5I_DATASET:
			found = h5type.DatasetObject
		}
		return nil
	})
	return found
}

// List returns the names of the members of a group, sorted by bytes. It omits soft links if there are other members.
func (f *File) List(path string) ([]string, error) {
	names, err := f.list(path, false)
	if err == nil && len(names) == 0 {
		names, err = f.list(path, true)
	}
	return names, err
}

func (f *File) list(path string, withSoft bool) ([]string, error) {
	p := C.CString(path)
	defer C.free(unsafe.Pointer(p))
	var names *C.char
	var size C.size_t
	err := call("list "+path, func() error { return check(C.list_names(f.handle, p, C.bool(withSoft), &names, &size)) })
	defer C.free(unsafe.Pointer(names))
	if err != nil || size == 0 {
		return nil, err
	}
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("list %s: %s of names", path, plural.Count(uint64(size), "byte"))
	}
	return strings.Split(strings.TrimSuffix(string(C.GoBytes(unsafe.Pointer(names), C.int(size))), "\x00"), "\x00"), nil
}

// SetAttribute sets an attribute of the object at path to a string, bool, int64 or float64. A bool is stored as a
// one-byte integer.
func (f *File) SetAttribute(path, name string, value any) error {
	p, n := C.CString(path), C.CString(name)
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(n))
	var kind C.enum_kind = C.KIND_INTEGER
	var size C.size_t = 8
	var at unsafe.Pointer
	switch v := value.(type) {
	case string:
		kind = C.KIND_STRING
		at = unsafe.Pointer(C.CString(strings.ReplaceAll(v, "\x00", "")))
		defer C.free(at)
	case bool:
		b := C.uint8_t(0)
		if v {
			b = 1
		}
		at, size = unsafe.Pointer(&b), 1
	case int64:
		at = unsafe.Pointer(&v)
	case float64:
		kind, at = C.KIND_FLOAT, unsafe.Pointer(&v)
	default:
		return fmt.Errorf("set attribute %s of %s: unsupported type %T", name, path, value)
	}
	return call("set attribute "+name+" of "+path,
		func() error { return check(C.write_attribute(f.handle, p, n, kind, size, at)) })
}

// Attribute returns an attribute of one element: a string, int64 or float64. It returns nil if the attribute is missing
// or of another type.
func (f *File) Attribute(path, name string) any {
	p, n := C.CString(path), C.CString(name)
	defer C.free(unsafe.Pointer(p))
	defer C.free(unsafe.Pointer(n))
	var kind C.enum_kind
	var integer C.int64_t
	var real C.double
	var text *C.char
	err := call("attribute "+name, func() error {
		return check(C.read_attribute(f.handle, p, n, C.size_t(f.size), &kind, &integer, &real, &text))
	})
	defer C.free(unsafe.Pointer(text))
	if err != nil {
		return nil
	}
	switch kind {
	case C.KIND_INTEGER:
		return int64(integer)
	case C.KIND_FLOAT:
		return float64(real)
	case C.KIND_STRING:
		return C.GoString(text) // NULL becomes ""
	}
	return nil
}
