// Package h5 wraps libhdf5 for package hdf5, with gonum.org/v1/hdf5 and with functions that gonum.org/v1/hdf5 lacks.
// Objects are named by paths; only File and Dataset must be closed. The package checks lengths and types before it
// writes or reads. All functions may be called from several goroutines.
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

// errLibrary is the error of a failed call of libhdf5 without a text.
var errLibrary = errors.New("unknown error of libhdf5")

// call runs f on one thread, because libhdf5 keeps errors per thread. The errors of call begin with operation.
func call(operation string, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	lock.Lock()
	defer lock.Unlock()
	C.reset_errors()
	C.take_write_errno() // forgets an error of an earlier call
	err := f()
	if errno := C.take_write_errno(); errno != 0 {
		return fmt.Errorf("%s: %w", operation, syscall.Errno(errno))
	}
	if err == nil {
		return nil
	}
	if s := C.GoString(C.error_text()); s != "" {
		err = errors.New(s)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// check returns an error if rc, the result of a function in complement.c, is less than 0.
func check[T ~int32 | ~int64](rc T) error {
	if rc < 0 {
		return errLibrary
	}
	return nil
}
