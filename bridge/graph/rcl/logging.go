//go:build rcl

package rcl

// #include "native.h"
// #include <rcl/logging.h>
// #include <stdlib.h>
import "C"

import (
	"io"
	"sync"
	"unsafe"

	"github.com/tiiuae/rclgo/pkg/rclgo"

	"tapedeck/bridge"
	"tapedeck/codec/text/printable"
)

// processLog is the lock of rcl's logging, which belongs to the process. rcl's logging allows one call at a time, and
// no call while a node, with its publisher of /rosout, is created or closed.
var processLog struct {
	sync.Mutex
	nodes int // number of open nodes
}

// console is where the log lines of a node are shown.
type console struct {
	mu sync.Mutex
	w  io.Writer
}

// show writes a line that C made, unless memory was out.
func (c *console) show(line *C.char) {
	if line == nil {
		return
	}
	text := printable.Line(takeString(line)) + "\n"
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = io.WriteString(c.w, text) // an error cannot be reported
}

// withNodeLogging calls create, which creates a node, with rcl's logging ready. The first node's args set it up, and
// its console gets the lines of rcl and of the middleware too. A node that was created calls endNodeLogging at its end.
func withNodeLogging(args *rclgo.Args, c *console, create func() error) error {
	processLog.Lock()
	defer processLog.Unlock()
	if processLog.nodes == 0 {
		rclgo.SetLoggingOutputHandler(c.handle)
		if err := try(func() error { return rclgo.InitLogging(args) }); err != nil {
			return err
		}
	}
	processLog.nodes++
	err := create()
	if err != nil {
		_ = endLogging()
	}
	return err
}

// endNodeLogging calls end, which ends a node.
func endNodeLogging(end func() error) error {
	processLog.Lock()
	defer processLog.Unlock()
	if err := end(); err != nil {
		_ = endLogging()
		return err
	}
	return endLogging()
}

// endLogging subtracts one node. With the last node, it closes the log file.
func endLogging() error {
	processLog.nodes--
	if processLog.nodes > 0 {
		return nil
	}
	if rc := C.rcl_logging_fini(); rc != C.RCL_RET_OK {
		return check(C.last_error(rc))
	}
	return nil
}

// handle writes log lines of rcl and of the middleware. It may be called from any thread. rcl does not send such lines
// to /rosout.
func (c *console) handle(location unsafe.Pointer, severity int, name unsafe.Pointer, timestamp int64, format,
	args unsafe.Pointer) {
	c.show(C.format_line(location, C.int(severity), name, C.int64_t(timestamp), format, args))
	if processLog.TryLock() { // else this may be the thread that has locked it
		defer processLog.Unlock()
		rclgo.DefaultLoggingOutputHandler(location, severity, name, timestamp, format, args)
	}
}

// logLine is one line of a node.
type logLine struct {
	logger         string
	level          bridge.LogLevel
	time           int64 // ns since the Unix epoch
	text           string
	function, file string
	number         int // line number in file
}

// write shows a line and sends it to /rosout and to the log file.
func (l *logLine) write(c *console) {
	var p C.struct_place
	strings := []*C.char{C.CString(l.logger), C.CString(l.text), C.CString(l.function), C.CString(l.file)}
	for _, s := range strings {
		defer C.free(unsafe.Pointer(s))
	}
	p.function, p.file, p.line = strings[2], strings[3], C.size_t(l.number)
	processLog.Lock()
	line := C.log_line(p, C.int(l.level), strings[0], C.int64_t(l.time), strings[1], processLog.nodes > 0)
	processLog.Unlock()
	c.show(line)
}
