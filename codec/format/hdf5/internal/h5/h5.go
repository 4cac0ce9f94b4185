// Package h5 wraps libhdf5 for package hdf5: gonum.org/v1/hdf5 and functions that it lacks. Objects are named by paths;
// only File and Dataset must be closed. Lengths and types are checked before anything is written or read. All functions
// may be called from several goroutines.
package h5

// #cgo LDFLAGS: -lhdf5
// #cgo linux,amd64 CFLAGS: -I/usr/include/hdf5/serial
// #cgo linux,amd64 LDFLAGS: -L/usr/lib/x86_64-linux-gnu/hdf5/serial
// #cgo linux,arm64 CFLAGS: -I/usr/include/hdf5/serial
// #cgo linux,arm64 LDFLAGS: -L/usr/lib/aarch64-linux-gnu/hdf5/serial
// #include "complement.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
)

// lock serialises calls, because some builds of libhdf5 are not thread-safe.
var lock sync.Mutex

var errLibrary = errors.New("unknown error of libhdf5")

// call runs f on one thread, because libhdf5 keeps errors per thread.
func call(what string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lock.Lock()
	defer lock.Unlock()
	C.quiet()
	C.write_error()
	err := f()
	if errno := C.write_error(); errno != 0 {
		return fmt.Errorf("%s: %w", what, syscall.Errno(errno))
	}
	if err == nil {
		return nil
	}
	if s := C.GoString(C.cause()); s != "" {
		err = errors.New(s)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// check returns an error if rc, the result of a function in complement.c, is less than 0.
func check[T ~int32 | ~int64](rc T) error {
	if rc < 0 {
		return errLibrary
	}
	return nil
}
