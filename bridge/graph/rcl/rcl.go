//go:build rcl

package rcl

// #cgo CFLAGS: -std=gnu11 -O2 -Wall
// #cgo LDFLAGS: -lrcl -lrmw -lrmw_implementation -lrcutils -lrosidl_runtime_c -lrosidl_typesupport_introspection_c -ldl
// #include "native.h"
// #include <stdlib.h>
import "C"

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"unsafe"

	"tapedeck/bridge/graph/internal/endpoints"
)

var errClosed = endpoints.ErrClosed

// Middleware returns the name of the middleware and the release of ROS 2: "rcl (ROS 2 humble, rmw_cyclonedds_cpp)".
func Middleware() string {
	rmw := "no middleware"
	if id := C.rmw_get_implementation_identifier(); id != nil {
		rmw = C.GoString(id)
	}
	C.rcutils_reset_error()
	distro := os.Getenv("ROS_DISTRO")
	if distro == "" {
		distro = "of unknown distribution"
	}
	return fmt.Sprintf("rcl (ROS 2 %s, %s)", distro, rmw)
}

// check returns the error of a function of native.h.
func check(text *C.char) error {
	if text == nil {
		return nil
	}
	return errors.New(takeString(text))
}

// takeString copies a C string and frees it.
func takeString(text *C.char) string {
	defer C.free(unsafe.Pointer(text))
	return C.GoString(text)
}

// where matches the place in rcl's sources that rcl adds to the text of an error.
var where = regexp.MustCompile(`, at \S+:\d+`)

// try calls f, which calls rclgo.
func try(f func() error) error {
	runtime.LockOSThread() // rcl keeps the text of an error for each thread
	defer runtime.UnlockOSThread()
	err := f()
	if err != nil {
		C.rcutils_reset_error()
		err = plainError(err)
	}
	return err
}

// plainError returns the text of rcl in an error of rclgo, without rclgo's stack trace.
func plainError(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\ngoroutine ")
	if kind, message, ok := strings.Cut(text, "] "); ok && strings.HasPrefix(kind, "[*rclgo.") {
		text = strings.TrimSpace(where.ReplaceAllString(message, ""))
		if text == "error not set" {
			text = strings.TrimPrefix(kind, "[*rclgo.")
		}
	}
	return errors.New(text)
}
