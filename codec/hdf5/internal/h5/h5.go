// Package h5 is libhdf5 as package hdf5 needs it: gonum.org/v1/hdf5 and what that lacks, without the traps of either.
// There are paths, and values with their types; of the many things that libhdf5 has one close in time only File and
// Dataset are left. Lengths and types are checked before anything is written or read. All functions may be called from
// several goroutines.
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

// lock is for builds of libhdf5 that have none.
var lock sync.Mutex

var errLibrary = errors.New("libhdf5 says no more")

// call has f call libhdf5, on one thread: whether and which errors there are libhdf5 keeps for each thread.
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

// check makes an error of what functions of the complement return.
func check[T ~int32 | ~int64](rc T) error {
	if rc < 0 {
		return errLibrary
	}
	return nil
}
